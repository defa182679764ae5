-- Written by a test from the migrations: what they make of an empty file.
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE sessions (
    id         TEXT PRIMARY KEY,
    user_id    TEXT NOT NULL,
    persona_id INTEGER NOT NULL,
    name       TEXT NOT NULL DEFAULT '', -- empty: none yet
    created_at INTEGER NOT NULL,         -- microseconds since 1970, as every time in this file
    updated_at INTEGER NOT NULL
, stopped_at INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, tenant_id TEXT NOT NULL DEFAULT '') STRICT;
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
, files TEXT NOT NULL DEFAULT '[]') STRICT;
CREATE INDEX messages_of_sessions ON messages (session_id, id);
CREATE INDEX messages_of_parents ON messages (parent_id);
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
, tenant_id TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX files_of_users ON files (user_id, used_at);
CREATE INDEX sessions_by_bytes ON sessions (user_id, bytes);
INSERT INTO goose_db_version VALUES (1, 0, 1, datetime());
INSERT INTO goose_db_version VALUES (2, 1, 1, datetime());
INSERT INTO goose_db_version VALUES (3, 2, 1, datetime());
INSERT INTO goose_db_version VALUES (4, 3, 1, datetime());
INSERT INTO goose_db_version VALUES (5, 4, 1, datetime());
INSERT INTO goose_db_version VALUES (6, 5, 1, datetime());
-- goose_db_version 6
-- version 5
