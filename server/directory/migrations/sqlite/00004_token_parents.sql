-- +goose Up
-- Which token a token was made with: it ends no later, and is revoked together with it. A token made on the library's
-- files has no row.
CREATE TABLE token_parents (
    token_id  INTEGER PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
    parent_id INTEGER NOT NULL REFERENCES tokens (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX token_parents_by_parent ON token_parents (parent_id);

-- +goose Down
DROP TABLE token_parents;
