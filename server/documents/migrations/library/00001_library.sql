-- +goose Up
-- One row: who this store is, and how often it changed.
CREATE TABLE meta (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    store      TEXT    NOT NULL, -- random; two stores never share a version
    generation INTEGER NOT NULL, -- counts changes of what is stored
    manifest   INTEGER NOT NULL, -- counts changes of the tables segments and deletes
    documents  INTEGER NOT NULL,
    chunks     INTEGER NOT NULL
) STRICT;

INSERT INTO meta VALUES (1, lower(hex(randomblob(16))), 0, 0, 0, 0);

CREATE TABLE documents (
    row        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE,
    hash       BLOB    NOT NULL, -- 16 bytes of everything but the chunks, 16 bytes of the chunks
    source     TEXT    NOT NULL,
    origin     TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    link       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    created_at INTEGER,          -- microseconds since 1970, NULL: unknown
    updated_at INTEGER,          -- likewise
    hidden     INTEGER NOT NULL,
    chunks     INTEGER NOT NULL,
    detail     BLOB    NOT NULL  -- packed: path, sets, access, authors, metadata, outline
) STRICT;

CREATE INDEX documents_by_origin ON documents (origin) WHERE origin <> '';
CREATE INDEX documents_by_source ON documents (source);

CREATE TABLE document_sets (
    name     TEXT    NOT NULL,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    PRIMARY KEY (name, document)
) STRICT, WITHOUT ROWID;

CREATE INDEX document_sets_by_document ON document_sets (document);

CREATE TABLE chunks (
    key  INTEGER PRIMARY KEY, -- row of the document << 20 | number of the first chunk of a group
    body BLOB NOT NULL        -- packed: each chunk's headings, link and text
) STRICT;

CREATE TABLE cursors (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The manifest: the segment files that make up the index.
CREATE TABLE segments (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    documents INTEGER NOT NULL, -- when it was written
    bytes     INTEGER NOT NULL,
    deletes   INTEGER NOT NULL  -- the number of the newest row of deletes, 0: none
) STRICT;

-- What was deleted from a segment since it was written, one row per write; number covers (since, number].
CREATE TABLE deletes (
    segment INTEGER NOT NULL REFERENCES segments (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    bitmap  BLOB    NOT NULL, -- ordinals of documents
    delta   BLOB    NOT NULL, -- their statistics
    PRIMARY KEY (segment, number)
) STRICT, WITHOUT ROWID;
