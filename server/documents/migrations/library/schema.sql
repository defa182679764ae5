-- Written by a test from the migrations: what they make of an empty file.
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE meta (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    store      TEXT    NOT NULL, -- random; two stores never share a version
    generation INTEGER NOT NULL, -- counts changes of what is stored
    manifest   INTEGER NOT NULL, -- counts changes of the tables segments and deletes
    documents  INTEGER NOT NULL,
    chunks     INTEGER NOT NULL
) STRICT;
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
CREATE TABLE segments (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    name      TEXT    NOT NULL UNIQUE,
    documents INTEGER NOT NULL, -- when it was written
    bytes     INTEGER NOT NULL,
    deletes   INTEGER NOT NULL  -- the number of the newest row of deletes, 0: none
) STRICT;
CREATE TABLE deletes (
    segment INTEGER NOT NULL REFERENCES segments (id) ON DELETE CASCADE,
    number  INTEGER NOT NULL,
    since   INTEGER NOT NULL,
    bitmap  BLOB    NOT NULL, -- ordinals of documents
    delta   BLOB    NOT NULL, -- their statistics
    PRIMARY KEY (segment, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE embedding_models (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    current    INTEGER NOT NULL -- 1: the model that was used last, whose vectors new segments get
) STRICT;
CREATE TABLE embeddings (
    row    INTEGER PRIMARY KEY,
    model  INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    hash   BLOB    NOT NULL, -- 16 bytes of the text
    vector BLOB    NOT NULL  -- float32, little endian
) STRICT;
CREATE UNIQUE INDEX embeddings_by_text ON embeddings (model, hash);
CREATE TABLE vector_files (
    segment INTEGER PRIMARY KEY REFERENCES segments (id) ON DELETE CASCADE,
    name    TEXT    NOT NULL UNIQUE,
    model   INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    bytes   INTEGER NOT NULL
) STRICT;
CREATE TABLE refused_texts (
    model TEXT NOT NULL, -- its name: it may have no vector yet, and so no row
    hash  BLOB NOT NULL, -- 16 bytes of the text
    PRIMARY KEY (model, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE checks (
    part TEXT    PRIMARY KEY, -- the table that is checked in parts
    next INTEGER NOT NULL     -- the row to go on with
) STRICT, WITHOUT ROWID;
CREATE TABLE additions (
    document INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL -- microseconds since 1970
) STRICT;
CREATE TABLE dictionaries (
    id   INTEGER PRIMARY KEY, -- the frames of zstd name it
    body BLOB    NOT NULL     -- packed
) STRICT;
CREATE TABLE dictionary_copies (
    id   INTEGER PRIMARY KEY,
    body BLOB    NOT NULL
) STRICT;
CREATE TABLE hashes (
    hash     INTEGER NOT NULL, -- see index.Batch.Hash
    document INTEGER NOT NULL, -- documents.row, which need not exist
    PRIMARY KEY (hash, document)
) STRICT, WITHOUT ROWID;
INSERT INTO goose_db_version VALUES (1, 0, 1, datetime());
INSERT INTO goose_db_version VALUES (2, 1, 1, datetime());
INSERT INTO goose_db_version VALUES (3, 2, 1, datetime());
INSERT INTO goose_db_version VALUES (4, 3, 1, datetime());
INSERT INTO goose_db_version VALUES (5, 4, 1, datetime());
INSERT INTO goose_db_version VALUES (6, 5, 1, datetime());
INSERT INTO goose_db_version VALUES (7, 6, 1, datetime());
INSERT INTO goose_db_version VALUES (8, 7, 1, datetime());
INSERT INTO goose_db_version VALUES (9, 8, 1, datetime());
INSERT INTO meta VALUES (1, lower(hex(randomblob(16))), 0, 0, 0, 0);
-- goose_db_version 9
-- version 8
