-- +goose Up
-- The log is beside the documents, whose tables are those of a library on one machine from now on.
SET LOCAL statement_timeout = 0;

ALTER TABLE library RENAME TO meta;

ALTER TABLE meta RENAME COLUMN sequence TO generation;

ALTER TABLE meta ADD COLUMN manifest BIGINT NOT NULL DEFAULT 0; -- counts changes of segments in the same database

-- The last change of each document, and of those that were removed until they are stored again.
CREATE TABLE changes (
    number   BIGINT PRIMARY KEY,
    document BIGINT UNIQUE, -- documents.row, which is the number of its first change; NULL: removed
    texted   BIGINT NOT NULL, -- the last change of more than access, sets and visibility
    vectors  TEXT COLLATE "C" NOT NULL, -- the embedding model whose vectors the document has been given; empty: none
    id       TEXT COLLATE "C"           -- of a document that was removed
);

INSERT INTO changes (number, document, texted, vectors) SELECT changed, row, texted, vectors FROM documents ORDER BY changed;

INSERT INTO changes (number, texted, vectors, id) SELECT changed, changed, '', id FROM removals ORDER BY changed;

CREATE UNIQUE INDEX changes_of_removed ON changes (id) WHERE id IS NOT NULL;

DROP TABLE removals;

-- When documents were first stored: a row stands for all documents from it to the next one.
CREATE TABLE additions (
    document BIGINT PRIMARY KEY,
    at       BIGINT NOT NULL -- microseconds since 1970
);

INSERT INTO additions SELECT min(row), added_at FROM documents GROUP BY added_at;

DROP INDEX documents_by_origin;

DROP INDEX documents_by_source;

ALTER TABLE documents DROP COLUMN changed, DROP COLUMN texted, DROP COLUMN added_at, DROP COLUMN vectors;

CREATE TABLE sets (
    name     TEXT COLLATE "C" NOT NULL,
    document BIGINT NOT NULL,
    PRIMARY KEY (name, document)
);

INSERT INTO sets SELECT name, document FROM document_sets ORDER BY name, document;

DROP TABLE document_sets;

ALTER TABLE sets RENAME TO document_sets;

CREATE INDEX document_sets_by_document ON document_sets (document);
