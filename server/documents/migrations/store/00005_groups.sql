-- +goose Up
-- Groups of chunks have one key, and are sealed from now on, as on one machine. Older programs do not know either.
CREATE TABLE grouped (
    key  INTEGER PRIMARY KEY, -- row of the document << 20 | number of the first chunk of a group
    body BLOB NOT NULL        -- packed: each chunk's headings, link and text
) STRICT;

INSERT INTO grouped SELECT document << 20 | first, body FROM chunks ORDER BY document, first;

DROP TABLE chunks;

ALTER TABLE grouped RENAME TO chunks;
