-- +goose Up
-- One row: which store this is, and the number of its last change.
CREATE TABLE library (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    store     TEXT    NOT NULL, -- random; two stores never share a version
    sequence  INTEGER NOT NULL, -- the number of the last change of a document
    documents INTEGER NOT NULL,
    chunks    INTEGER NOT NULL,
    model     TEXT    NOT NULL  -- the embedding model that was used last; empty: none
) STRICT;

INSERT INTO library VALUES (1, lower(hex(randomblob(16))), 0, 0, 0, '');

-- Documents are also the log of changes: changed is the number of the last one.
CREATE TABLE documents (
    row        INTEGER PRIMARY KEY, -- the number of its first change
    id         TEXT    NOT NULL UNIQUE,
    changed    INTEGER NOT NULL UNIQUE,
    texted     INTEGER NOT NULL, -- the last change of more than access, sets and visibility
    added_at   INTEGER NOT NULL, -- microseconds since 1970
    hash       BLOB    NOT NULL, -- 16 bytes of everything but the chunks, 16 bytes of the chunks; empty: damaged
    source     TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    link       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at INTEGER,          -- microseconds since 1970, NULL: unknown
    updated_at INTEGER,          -- likewise
    hidden     INTEGER NOT NULL,
    chunks     INTEGER NOT NULL,
    detail     BLOB    NOT NULL  -- packed: path, sets, access, authors, metadata, outline, positions
) STRICT;

CREATE INDEX documents_by_origin ON documents (origin);
CREATE INDEX documents_by_source ON documents (source);
CREATE INDEX documents_by_addition ON documents (added_at);

-- Documents that were removed, until they are stored again.
CREATE TABLE removals (
    id      TEXT    PRIMARY KEY,
    changed INTEGER NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;

CREATE TABLE document_sets (
    document INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    PRIMARY KEY (document, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_sets_by_name ON document_sets (name, document);

CREATE TABLE chunks (
    document INTEGER NOT NULL, -- documents.row
    first    INTEGER NOT NULL, -- the number of the first chunk of a group
    amount   INTEGER NOT NULL, -- of chunks
    body     BLOB    NOT NULL, -- packed: each chunk's headings, link and text
    PRIMARY KEY (document, first)
) STRICT;

CREATE TABLE cursors (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Vectors by what they stand for, so that no text is embedded twice; an empty one is that of a text that the model refuses.
CREATE TABLE embeddings (
    model  TEXT NOT NULL,
    hash   BLOB NOT NULL, -- 16 bytes of the text
    vector BLOB NOT NULL, -- float32, little endian
    PRIMARY KEY (model, hash)
) STRICT;
