-- +goose Up
-- The sandbox token of each user, encrypted: unlike other tokens it is given out again while it is valid.
CREATE TABLE sandbox_tokens (
    user_id  TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    token_id INTEGER NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    sealed   BLOB NOT NULL -- AES-256-GCM
) STRICT, WITHOUT ROWID;
CREATE INDEX sandbox_tokens_by_token ON sandbox_tokens (token_id);

-- +goose Down
DELETE FROM tokens WHERE kind = 'sandbox';
DROP TABLE sandbox_tokens;
