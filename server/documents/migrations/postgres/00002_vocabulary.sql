-- +goose Up
-- One row if the words are counted, for engines that do not count them themselves.
CREATE TABLE statistics (
    analyser           BIGINT NOT NULL, -- the version that the words are by
    body_tokens        BIGINT NOT NULL,
    heading_tokens     BIGINT NOT NULL,
    title_tokens       BIGINT NOT NULL,
    chunk_title_tokens BIGINT NOT NULL,
    hidden             BIGINT NOT NULL  -- documents
);

CREATE TABLE terms (
    term      TEXT COLLATE "C"    PRIMARY KEY,
    chunks    BIGINT NOT NULL, -- that contain it, likewise
    documents BIGINT NOT NULL,
    titles    BIGINT NOT NULL
);

-- Words as they occur, with the term that they are indexed under.
CREATE TABLE surfaces (
    surface   TEXT COLLATE "C"    PRIMARY KEY,
    term      TEXT COLLATE "C"    NOT NULL,
    documents BIGINT NOT NULL
);

-- How far the followers of the log are that all processes share.
CREATE TABLE followers (
    name     TEXT COLLATE "C"    PRIMARY KEY,
    position BIGINT NOT NULL, -- documents.changed
    holder   TEXT COLLATE "C"    NOT NULL, -- the process that applies changes now
    until    BIGINT NOT NULL  -- when its lease ends, in microseconds since 1970
);

-- The embedding model whose vectors a document has been given; empty: none.
ALTER TABLE documents ADD COLUMN vectors TEXT COLLATE "C" NOT NULL DEFAULT '';
