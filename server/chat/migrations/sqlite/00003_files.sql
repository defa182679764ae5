-- +goose Up
CREATE TABLE files (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    name       TEXT NOT NULL,
    media      TEXT NOT NULL,    -- media type
    type       TEXT NOT NULL,    -- as the API tells it
    data       BLOB NOT NULL,    -- as it was uploaded
    text       TEXT NOT NULL,
    tokens     INTEGER NOT NULL, -- of the text
    created_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL
) STRICT;

CREATE INDEX files_of_users ON files (user_id, used_at);

ALTER TABLE messages ADD COLUMN files TEXT NOT NULL DEFAULT '[]'; -- JSON, as the API tells them

-- +goose Down
ALTER TABLE messages DROP COLUMN files;
DROP TABLE files;
