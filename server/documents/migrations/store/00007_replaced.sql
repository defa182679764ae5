-- +goose Up
-- What the words of documents were before one of the last changes, so that who follows the log need not read them back
-- out of a segment.
CREATE TABLE replaced (
    changed  INTEGER PRIMARY KEY, -- the number of the change
    id       TEXT    NOT NULL,
    since    INTEGER NOT NULL, -- documents.texted, as it was before
    analyser INTEGER NOT NULL, -- the version that the words are by
    words    BLOB    NOT NULL  -- packed and sealed: statistics of the document
) STRICT;
