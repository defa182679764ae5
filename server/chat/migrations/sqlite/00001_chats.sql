-- +goose Up
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    persona_id INTEGER NOT NULL,
    name       TEXT NOT NULL DEFAULT '', -- empty: none yet
    created_at INTEGER NOT NULL,         -- microseconds since 1970, as every time in this file
    updated_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sessions_of_users ON sessions (user_id, updated_at);

CREATE TABLE messages (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent_id  INTEGER REFERENCES messages (id) ON DELETE CASCADE,
    type       TEXT NOT NULL CHECK (type IN ('user', 'assistant')),
    text       TEXT NOT NULL DEFAULT '',
    documents  TEXT NOT NULL DEFAULT '[]', -- JSON, as the API tells them
    citations  TEXT NOT NULL DEFAULT '{}', -- JSON: number → document id
    error      TEXT NOT NULL DEFAULT '',
    model      TEXT NOT NULL DEFAULT '',
    sent_at    INTEGER NOT NULL,
    took       INTEGER NOT NULL DEFAULT 0  -- microseconds
) STRICT;

CREATE INDEX messages_of_sessions ON messages (session_id, id);

-- +goose Down
DROP TABLE messages;
DROP TABLE sessions;
