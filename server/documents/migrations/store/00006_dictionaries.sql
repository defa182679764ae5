-- +goose Up
-- What short texts are compressed with, so that they shrink like long ones. The texts cannot be read without it: the copy
-- is on other pages. Older programs do not know it.
CREATE TABLE dictionaries (
    id   INTEGER PRIMARY KEY, -- the frames of zstd name it
    body BLOB    NOT NULL     -- packed
) STRICT;

CREATE TABLE dictionary_copies (
    id   INTEGER PRIMARY KEY,
    body BLOB    NOT NULL
) STRICT;
