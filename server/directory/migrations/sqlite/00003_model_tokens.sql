-- +goose Up
-- What each tenant used of language models on a day (UTC, such as 2026-08-01), in tokens.
CREATE TABLE model_tokens (
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    day       TEXT NOT NULL,
    tokens    INTEGER NOT NULL CHECK (tokens >= 0),
    PRIMARY KEY (tenant_id, day)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE model_tokens;
