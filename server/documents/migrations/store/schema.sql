-- Written by a test from the migrations: what they make of an empty file.
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE "meta" (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    store     TEXT    NOT NULL, -- random; two stores never share a version
    generation  INTEGER NOT NULL, -- the number of the last change of a document
    documents INTEGER NOT NULL,
    chunks    INTEGER NOT NULL, manifest INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE cursors (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE statistics (
    analyser           INTEGER NOT NULL, -- the version that the words are by
    body_tokens        INTEGER NOT NULL,
    heading_tokens     INTEGER NOT NULL,
    title_tokens       INTEGER NOT NULL,
    chunk_title_tokens INTEGER NOT NULL,
    hidden             INTEGER NOT NULL  -- documents
) STRICT;
CREATE TABLE terms (
    term      TEXT    PRIMARY KEY,
    chunks    INTEGER NOT NULL, -- that contain it, likewise
    documents INTEGER NOT NULL,
    titles    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE surfaces (
    surface   TEXT    PRIMARY KEY,
    term      TEXT    NOT NULL,
    documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE followers (
    name     TEXT    PRIMARY KEY,
    position INTEGER NOT NULL, -- documents.changed
    holder   TEXT    NOT NULL, -- the process that applies changes now
    until    INTEGER NOT NULL  -- when its lease ends, in microseconds since 1970
) STRICT, WITHOUT ROWID;
CREATE TABLE refusals (
    follower TEXT NOT NULL,
    document TEXT NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (follower, document)
) STRICT, WITHOUT ROWID;
CREATE TABLE analysed (
    document INTEGER PRIMARY KEY, -- documents.row
    changed  INTEGER NOT NULL, -- documents.changed
    body     BLOB NOT NULL -- packed: a segment
) STRICT;
CREATE TABLE "chunks" (
    key  INTEGER PRIMARY KEY, -- row of the document << 20 | number of the first chunk of a group
    body BLOB NOT NULL        -- packed: each chunk's headings, link and text
) STRICT;
CREATE TABLE dictionaries (
    id   INTEGER PRIMARY KEY, -- the frames of zstd name it
    body BLOB    NOT NULL     -- packed
) STRICT;
CREATE TABLE dictionary_copies (
    id   INTEGER PRIMARY KEY,
    body BLOB    NOT NULL
) STRICT;
CREATE TABLE replaced (
    changed  INTEGER PRIMARY KEY, -- the number of the change
    id       TEXT    NOT NULL,
    since    INTEGER NOT NULL, -- documents.texted, as it was before
    analyser INTEGER NOT NULL, -- the version that the words are by
    words    BLOB    NOT NULL  -- packed and sealed: statistics of the document
) STRICT;
CREATE TABLE hashes (
    hash     INTEGER NOT NULL, -- see index.Batch.Hash
    document INTEGER NOT NULL, -- documents.row, which need not exist
    PRIMARY KEY (hash, document)
) STRICT, WITHOUT ROWID;
CREATE TABLE embedding_models (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    current    INTEGER NOT NULL -- 1: the model that was used last
) STRICT;
CREATE TABLE refused_texts (
    model TEXT NOT NULL, -- its name: it may have no vector yet, and so no row
    hash  BLOB NOT NULL, -- 16 bytes of the text
    PRIMARY KEY (model, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE "embeddings" (
    row    INTEGER PRIMARY KEY,
    model  INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    hash   BLOB    NOT NULL, -- 16 bytes of the text
    vector BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX embeddings_by_text ON embeddings (model, hash);
CREATE TABLE changes (
    number   INTEGER PRIMARY KEY,
    document INTEGER UNIQUE, -- documents.row, which is the number of its first change; NULL: removed
    texted   INTEGER NOT NULL, -- the last change of more than access, sets and visibility
    vectors  TEXT    NOT NULL, -- the embedding model whose vectors the document has been given; empty: none
    id       TEXT              -- of a document that was removed
) STRICT;
CREATE UNIQUE INDEX changes_of_removed ON changes (id) WHERE id IS NOT NULL;
CREATE TABLE additions (
    document INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL -- microseconds since 1970
) STRICT;
CREATE TABLE "documents" (
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
    detail     BLOB    NOT NULL  -- packed: path, sets, access, authors, metadata, outline, …
) STRICT;
CREATE TABLE "document_sets" (
    name     TEXT    NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (name, document)
) STRICT, WITHOUT ROWID;
CREATE INDEX document_sets_by_document ON document_sets (document);
INSERT INTO goose_db_version VALUES (1, 0, 1, datetime());
INSERT INTO goose_db_version VALUES (2, 1, 1, datetime());
INSERT INTO goose_db_version VALUES (3, 2, 1, datetime());
INSERT INTO goose_db_version VALUES (4, 3, 1, datetime());
INSERT INTO goose_db_version VALUES (5, 4, 1, datetime());
INSERT INTO goose_db_version VALUES (6, 5, 1, datetime());
INSERT INTO goose_db_version VALUES (7, 6, 1, datetime());
INSERT INTO goose_db_version VALUES (8, 7, 1, datetime());
INSERT INTO goose_db_version VALUES (9, 8, 1, datetime());
INSERT INTO goose_db_version VALUES (10, 9, 1, datetime());
INSERT INTO goose_db_version VALUES (11, 10, 1, datetime());
INSERT INTO meta VALUES (1, lower(hex(randomblob(16))), 0, 0, 0, 0);
-- goose_db_version 11
-- version 10
