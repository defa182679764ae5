-- +goose Up
-- What short texts are compressed with, so that they shrink like long ones. The texts cannot be read without it: the copy
-- is on other pages.
CREATE TABLE dictionaries (
    id   INTEGER PRIMARY KEY, -- the frames of zstd name it
    body BLOB    NOT NULL     -- packed
) STRICT;

CREATE TABLE dictionary_copies (
    id   INTEGER PRIMARY KEY,
    body BLOB    NOT NULL
) STRICT;

-- Since this version a row of additions stands for all documents from it to the next one: those that one write added. The
-- rows of documents ascend with time. A few rows need no index.
DROP INDEX additions_by_time;

-- Documents are only rarely looked for by their source.
DROP INDEX documents_by_source;
