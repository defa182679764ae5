-- +goose Up
-- One row if the words are counted, for engines that do not count them themselves.
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

-- Words as they occur, with the term that they are indexed under.
CREATE TABLE surfaces (
    surface   TEXT    PRIMARY KEY,
    term      TEXT    NOT NULL,
    documents INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How far the followers of the log are that all processes share.
CREATE TABLE followers (
    name     TEXT    PRIMARY KEY,
    position INTEGER NOT NULL, -- documents.changed
    holder   TEXT    NOT NULL, -- the process that applies changes now
    until    INTEGER NOT NULL  -- when its lease ends, in microseconds since 1970
) STRICT, WITHOUT ROWID;

-- The embedding model whose vectors a document has been given; empty: none.
ALTER TABLE documents ADD COLUMN vectors TEXT NOT NULL DEFAULT '';
