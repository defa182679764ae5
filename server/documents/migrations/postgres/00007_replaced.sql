-- +goose Up
-- What the words of documents were before one of the last changes, so that who follows the log need not read them back
-- out of a segment.
CREATE TABLE replaced (
    changed  BIGINT PRIMARY KEY, -- the number of the change
    id       TEXT COLLATE "C" NOT NULL,
    since    BIGINT NOT NULL, -- documents.texted, as it was before
    analyser BIGINT NOT NULL, -- the version that the words are by
    words    BYTEA NOT NULL   -- packed and sealed: statistics of the document
);
