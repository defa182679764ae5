-- +goose Up
-- Documents as they are searched, if the words are counted.
CREATE TABLE analysed (
    document BIGINT PRIMARY KEY, -- documents.row
    changed  BIGINT NOT NULL, -- documents.changed
    body     BYTEA NOT NULL -- packed: a segment
);

-- All are counted again, and stored so.
DELETE FROM statistics;
