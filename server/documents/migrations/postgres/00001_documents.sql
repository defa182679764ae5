-- +goose Up
-- One row: which store this is, and the number of its last change.
CREATE TABLE library (
    id        BIGINT PRIMARY KEY CHECK (id = 1),
    store     TEXT COLLATE "C"    NOT NULL, -- random; two stores never share a version
    sequence  BIGINT NOT NULL, -- the number of the last change of a document
    documents BIGINT NOT NULL,
    chunks    BIGINT NOT NULL,
    model     TEXT COLLATE "C"    NOT NULL  -- the embedding model that was used last; empty: none
);

INSERT INTO library VALUES (1, md5(random()::text || clock_timestamp()::text), 0, 0, 0, '');

-- Documents are also the log of changes: changed is the number of the last one.
CREATE TABLE documents (
    row        BIGINT PRIMARY KEY, -- the number of its first change
    id         TEXT COLLATE "C"    NOT NULL UNIQUE,
    changed    BIGINT NOT NULL UNIQUE,
    texted     BIGINT NOT NULL, -- the last change of more than access, sets and visibility
    added_at   BIGINT NOT NULL, -- microseconds since 1970
    hash       BYTEA    NOT NULL, -- 16 bytes of everything but the chunks, 16 bytes of the chunks; empty: damaged
    source     TEXT COLLATE "C"    NOT NULL,
    origin     TEXT COLLATE "C"    NOT NULL,
    title      TEXT COLLATE "C"    NOT NULL,
    link       TEXT COLLATE "C"    NOT NULL,
    type       TEXT COLLATE "C"    NOT NULL,
    created_at BIGINT,          -- microseconds since 1970, NULL: unknown
    updated_at BIGINT,          -- likewise
    hidden     BIGINT NOT NULL,
    chunks     BIGINT NOT NULL,
    detail     BYTEA    NOT NULL  -- packed: path, sets, access, authors, metadata, outline, positions
);

CREATE INDEX documents_by_origin ON documents (origin);
CREATE INDEX documents_by_source ON documents (source);
CREATE INDEX documents_by_addition ON documents (added_at);

-- Documents that were removed, until they are stored again.
CREATE TABLE removals (
    id      TEXT COLLATE "C"    PRIMARY KEY,
    changed BIGINT NOT NULL UNIQUE
);

CREATE TABLE document_sets (
    document BIGINT NOT NULL,
    name     TEXT COLLATE "C"    NOT NULL,
    PRIMARY KEY (document, name)
);

CREATE INDEX document_sets_by_name ON document_sets (name, document);

CREATE TABLE chunks (
    document BIGINT NOT NULL, -- documents.row
    first    BIGINT NOT NULL, -- the number of the first chunk of a group
    amount   BIGINT NOT NULL, -- of chunks
    body     BYTEA    NOT NULL, -- packed: each chunk's headings, link and text
    PRIMARY KEY (document, first)
);

CREATE TABLE cursors (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT COLLATE "C" NOT NULL
);

-- Vectors by what they stand for, so that no text is embedded twice; an empty one is that of a text that the model refuses.
CREATE TABLE embeddings (
    model  TEXT COLLATE "C" NOT NULL,
    hash   BYTEA NOT NULL, -- 16 bytes of the text
    vector BYTEA NOT NULL, -- float32, little endian
    PRIMARY KEY (model, hash)
);
