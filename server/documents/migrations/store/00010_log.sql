-- +goose Up
-- The log is beside the documents, whose tables are those of a library on one machine from now on.
ALTER TABLE library RENAME TO meta;

ALTER TABLE meta RENAME COLUMN sequence TO generation;

ALTER TABLE meta ADD COLUMN manifest INTEGER NOT NULL DEFAULT 0; -- counts changes of segments in the same database

-- The last change of each document, and of those that were removed until they are stored again.
CREATE TABLE changes (
    number   INTEGER PRIMARY KEY,
    document INTEGER UNIQUE, -- documents.row, which is the number of its first change; NULL: removed
    texted   INTEGER NOT NULL, -- the last change of more than access, sets and visibility
    vectors  TEXT    NOT NULL, -- the embedding model whose vectors the document has been given; empty: none
    id       TEXT              -- of a document that was removed
) STRICT;

INSERT INTO changes (number, document, texted, vectors) SELECT changed, row, texted, vectors FROM documents ORDER BY changed;

INSERT INTO changes (number, texted, vectors, id) SELECT changed, changed, '', id FROM removals ORDER BY changed;

CREATE UNIQUE INDEX changes_of_removed ON changes (id) WHERE id IS NOT NULL;

DROP TABLE removals;

-- When documents were first stored: a row stands for all documents from it to the next one.
CREATE TABLE additions (
    document INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL -- microseconds since 1970
) STRICT;

INSERT INTO additions SELECT min(row), added_at FROM documents GROUP BY added_at;

CREATE TABLE stored (
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

INSERT INTO stored SELECT row, id, hash, source, origin, title, link, type, created_at, updated_at, hidden, chunks, detail
    FROM documents ORDER BY row;

DROP TABLE documents;

ALTER TABLE stored RENAME TO documents;

CREATE TABLE sets (
    name     TEXT    NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (name, document)
) STRICT, WITHOUT ROWID;

INSERT INTO sets SELECT name, document FROM document_sets ORDER BY name, document;

DROP TABLE document_sets;

ALTER TABLE sets RENAME TO document_sets;

CREATE INDEX document_sets_by_document ON document_sets (document);
