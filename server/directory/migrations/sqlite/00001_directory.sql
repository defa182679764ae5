-- +goose Up
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

-- Membership in the groups of the systems that documents come from.
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
    created_at  INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

-- Agent 0 is built in and has no row.
CREATE TABLE agents (
    id                INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id > 0),
    tenant_id         TEXT NOT NULL REFERENCES tenants (id),
    name              TEXT NOT NULL,
    description       TEXT NOT NULL DEFAULT '',
    starter_messages  TEXT NOT NULL DEFAULT '[]', -- JSON
    search_start_date INTEGER,
    is_public         INTEGER NOT NULL CHECK (is_public IN (0, 1)),
    is_listed         INTEGER NOT NULL CHECK (is_listed IN (0, 1)),
    owner_id          TEXT REFERENCES users (id) ON DELETE SET NULL,
    created_at        INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

CREATE TABLE agent_document_sets (
    agent_id        INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, document_set_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_documents (
    agent_id    INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, document_id)
) STRICT, WITHOUT ROWID;

-- The owner's id is derived from the tenant (see OwnerID), so that the owner can be named without reading this file.
INSERT INTO tenants (id, created_at) VALUES ('default', unixepoch() * 1000000);
INSERT INTO users (id, tenant_id, email, name, role, created_at)
VALUES ('b74b3836-9241-5e96-9564-55100a38a205', 'default', 'owner@localhost', 'Owner', 'admin', unixepoch() * 1000000);

-- +goose Down
DROP TABLE agent_documents;
DROP TABLE agent_document_sets;
DROP TABLE agents;
DROP TABLE document_sets;
DROP TABLE tokens;
DROP TABLE external_group_members;
DROP TABLE user_group_members;
DROP TABLE user_groups;
DROP TABLE users;
DROP TABLE tenants;
