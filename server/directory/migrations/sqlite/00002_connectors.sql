-- +goose Up
CREATE TABLE connectors (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    source     TEXT NOT NULL, -- a value of DocumentSource
    created_at INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
) STRICT;

-- What names a credential. Its secret is not kept: this server fetches nothing with it.
CREATE TABLE credentials (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id  TEXT NOT NULL REFERENCES tenants (id),
    name       TEXT NOT NULL,
    source     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

-- A connector with a credential: what documents are posted for, and what decides who sees them.
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

-- A set that adding files made goes with its last document; one that somebody arranged stays.
ALTER TABLE document_sets ADD COLUMN is_automatic INTEGER NOT NULL DEFAULT 0 CHECK (is_automatic IN (0, 1));
UPDATE document_sets SET is_automatic = 1 WHERE description = '' AND is_public;

-- Agents of different people may share a name: whether a name is free must not tell of agents that one may not see.
CREATE TABLE new_agents (
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
) STRICT;
INSERT INTO new_agents (id, tenant_id, name, description, starter_messages, search_start_date, is_public, is_listed,
    owner_id, created_at)
SELECT id, tenant_id, name, description, starter_messages, search_start_date, is_public, is_listed, owner_id, created_at
FROM agents;

CREATE TABLE new_agent_document_sets (
    agent_id        INTEGER NOT NULL REFERENCES new_agents (id) ON DELETE CASCADE,
    document_set_id INTEGER NOT NULL REFERENCES document_sets (id) ON DELETE CASCADE,
    PRIMARY KEY (agent_id, document_set_id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_agent_document_sets (agent_id, document_set_id)
SELECT agent_id, document_set_id FROM agent_document_sets;

CREATE TABLE new_agent_documents (
    agent_id    INTEGER NOT NULL REFERENCES new_agents (id) ON DELETE CASCADE,
    document_id TEXT NOT NULL,
    PRIMARY KEY (agent_id, document_id)
) STRICT, WITHOUT ROWID;
INSERT INTO new_agent_documents (agent_id, document_id) SELECT agent_id, document_id FROM agent_documents;

DROP TABLE agent_document_sets;
DROP TABLE agent_documents;
DROP TABLE agents;
ALTER TABLE new_agents RENAME TO agents; -- the tables that name it follow
ALTER TABLE new_agent_document_sets RENAME TO agent_document_sets;
ALTER TABLE new_agent_documents RENAME TO agent_documents;
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

-- +goose Down
ALTER TABLE agents DROP COLUMN model;
ALTER TABLE agents DROP COLUMN model_provider;
ALTER TABLE agents DROP COLUMN task_prompt;
ALTER TABLE agents DROP COLUMN system_prompt;
DROP TABLE agent_groups;
DROP TABLE agent_users;
ALTER TABLE document_sets DROP COLUMN is_automatic;
DROP TABLE document_set_groups;
DROP TABLE document_set_users;
DROP TABLE document_set_cc_pairs;
DROP TABLE cc_pair_groups;
DROP TABLE cc_pairs;
DROP TABLE credentials;
DROP TABLE connectors;
