-- +goose Up
-- Documents as they are searched, if the words are counted.
CREATE TABLE analysed (
    document INTEGER PRIMARY KEY, -- documents.row
    changed  INTEGER NOT NULL, -- documents.changed
    body     BLOB NOT NULL -- packed: a segment
) STRICT;

-- All are counted again, and stored so.
DELETE FROM statistics;
