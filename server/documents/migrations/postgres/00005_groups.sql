-- +goose Up
-- Groups of chunks have one key, and are sealed from now on, as on one machine. Older programs do not know either.
SET LOCAL statement_timeout = 0;

CREATE TABLE grouped (
    key  BIGINT PRIMARY KEY, -- row of the document << 20 | number of the first chunk of a group
    body BYTEA NOT NULL      -- packed: each chunk's headings, link and text
);

INSERT INTO grouped SELECT document << 20 | first, body FROM chunks ORDER BY document, first;

DROP TABLE chunks;

ALTER TABLE grouped RENAME TO chunks;

ALTER INDEX grouped_pkey RENAME TO chunks_pkey;
