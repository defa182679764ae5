-- +goose Up
-- What short texts are compressed with, so that they shrink like long ones. The texts cannot be read without it: the copy
-- is on other pages. Older programs do not know it.
CREATE TABLE dictionaries (
    id   BIGINT PRIMARY KEY, -- the frames of zstd name it
    body BYTEA NOT NULL      -- packed
);

CREATE TABLE dictionary_copies (
    id   BIGINT PRIMARY KEY,
    body BYTEA NOT NULL
);
