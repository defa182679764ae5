-- Written by a test from the migrations: what they make of an empty file.
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE tenants (
    id         TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL -- microseconds since 1970, as every time in this file
) STRICT;
CREATE TABLE users (
    id         TEXT PRIMARY KEY,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    email      TEXT NOT NULL, -- lower case
    name       TEXT NOT NULL DEFAULT '',
    role       TEXT NOT NULL CHECK (role IN ('basic', 'admin')),
    is_active  INTEGER NOT NULL DEFAULT 1 CHECK (is_active IN (0, 1)),
    created_at INTEGER NOT NULL,
    UNIQUE (tenant_id, email)
) STRICT;
CREATE TABLE user_groups (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;
CREATE TABLE user_group_members (
    group_id INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX user_group_members_by_user ON user_group_members (user_id);
CREATE TABLE external_group_members (
    user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    source      TEXT NOT NULL,
    external_id TEXT NOT NULL, -- lower case
    PRIMARY KEY (user_id, source, external_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    kind         TEXT NOT NULL DEFAULT 'user',
    hash         TEXT NOT NULL UNIQUE, -- SHA-256 of the whole token, hexadecimal
    display      TEXT NOT NULL,
    scopes       TEXT, -- JSON list; null: all that the user may do
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    last_used_at INTEGER,
    is_revoked   INTEGER NOT NULL DEFAULT 0 CHECK (is_revoked IN (0, 1))
) STRICT;
CREATE INDEX tokens_by_user ON tokens (user_id);
CREATE TABLE document_sets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id   TEXT NOT NULL REFERENCES tenants (id),
    name        TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    is_public   INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    created_at  INTEGER NOT NULL, is_automatic INTEGER NOT NULL DEFAULT 0 CHECK (is_automatic IN (0, 1)),
    UNIQUE (tenant_id, name)
) STRICT;
CREATE TABLE connectors (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    source     TEXT NOT NULL, -- a value of DocumentSource
    created_at INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE cc_pairs (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id     TEXT NOT NULL REFERENCES tenants (id),
    connector_id  INTEGER NOT NULL REFERENCES connectors (id) ON DELETE CASCADE,
    credential_id INTEGER NOT NULL REFERENCES credentials (id),
    name          TEXT NOT NULL,
    access_type   TEXT NOT NULL CHECK (access_type IN ('public', 'private', 'sync')),
    creator_email TEXT NOT NULL, -- lower case
    is_deleting   INTEGER NOT NULL DEFAULT 0 CHECK (is_deleting IN (0, 1)),
    revision      INTEGER NOT NULL DEFAULT 1, -- rises with every change of who sees its documents and of their sets
    settled       INTEGER NOT NULL DEFAULT 0, -- the revision that the stored documents follow
    created_at    INTEGER NOT NULL,
    UNIQUE (connector_id, credential_id),
    UNIQUE (tenant_id, name)
) STRICT;
CREATE TABLE cc_pair_groups (
    cc_pair_id INTEGER NOT NULL REFERENCES cc_pairs (id) ON DELETE CASCADE,
    group_id   INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (cc_pair_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX cc_pair_groups_by_group ON cc_pair_groups (group_id);
CREATE TABLE document_set_cc_pairs (
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    cc_pair_id      INTEGER NOT NULL REFERENCES cc_pairs (id) ON DELETE CASCADE,
    PRIMARY KEY (document_set_id, cc_pair_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_set_cc_pairs_by_pair ON document_set_cc_pairs (cc_pair_id);
CREATE TABLE document_set_users (
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (document_set_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE document_set_groups (
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    group_id        INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (document_set_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE "agents" (
    id                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    tenant_id         TEXT NOT NULL REFERENCES tenants (id),
    name              TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    starter_messages  TEXT NOT NULL DEFAULT '[]', -- JSON
    search_start_date INTEGER,
    is_public         INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    is_listed         INTEGER NOT NULL CHECK (is_listed IN (0, 1)),
    owner_id          TEXT REFERENCES users (id) ON DELETE SET NULL,
    system_prompt     TEXT NOT NULL DEFAULT '',
    task_prompt       TEXT NOT NULL DEFAULT '',
    model_provider    TEXT NOT NULL DEFAULT '', -- with model: its own; empty: the default one
    model             TEXT NOT NULL DEFAULT '',
    created_at        INTEGER NOT NULL
, display_priority INTEGER, is_datetime_aware INTEGER NOT NULL DEFAULT 1 CHECK (is_datetime_aware IN (0, 1)), revision INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE "agent_document_sets" (
    agent_id        INTEGER NOT NULL REFERENCES "agents" (id) ON DELETE CASCADE,
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, document_set_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE "agent_documents" (
    agent_id    INTEGER NOT NULL REFERENCES "agents" (id) ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, document_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX agents_by_name ON agents (tenant_id, name);
CREATE TABLE agent_users (
    agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE agent_groups (
    agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    group_id INTEGER NOT NULL REFERENCES user_groups (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE model_tokens (
    tenant_id TEXT NOT NULL REFERENCES tenants (id) ON DELETE CASCADE,
    day       TEXT NOT NULL,
    tokens    INTEGER NOT NULL CHECK (tokens >= 0),
    PRIMARY KEY (tenant_id, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE token_parents (
    token_id  INTEGER PRIMARY KEY REFERENCES tokens (id) ON DELETE CASCADE,
    parent_id INTEGER NOT NULL REFERENCES tokens (id) ON DELETE CASCADE
) STRICT;
CREATE INDEX token_parents_by_parent ON token_parents (parent_id);
CREATE TABLE sandbox_tokens (
    user_id  TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    token_id INTEGER NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    sealed   BLOB NOT NULL -- AES-256-GCM
) STRICT, WITHOUT ROWID;
CREATE INDEX sandbox_tokens_by_token ON sandbox_tokens (token_id);
CREATE TABLE agent_files (
    agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    file_id  TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    PRIMARY KEY (agent_id, file_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE removed_libraries (
    name TEXT PRIMARY KEY -- of the library in the engine
) STRICT, WITHOUT ROWID;
INSERT INTO goose_db_version VALUES (1, 0, 1, datetime());
INSERT INTO goose_db_version VALUES (2, 1, 1, datetime());
INSERT INTO goose_db_version VALUES (3, 2, 1, datetime());
INSERT INTO goose_db_version VALUES (4, 3, 1, datetime());
INSERT INTO goose_db_version VALUES (5, 4, 1, datetime());
INSERT INTO goose_db_version VALUES (6, 5, 1, datetime());
INSERT INTO goose_db_version VALUES (7, 6, 1, datetime());
INSERT INTO goose_db_version VALUES (8, 7, 1, datetime());
INSERT INTO tenants VALUES ('default', unixepoch() * 1000000);
INSERT INTO users VALUES ('b74b3836-9241-5e96-9564-55100a38a205', 'default', 'owner@localhost', 'Owner', 'admin', 1, unixepoch() * 1000000);
-- goose_db_version 8
-- version 7
