-- +goose Up
-- When documents were first stored, by their rows. Those that an older version stored are not here.
CREATE TABLE additions (
    document INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL -- microseconds since 1970
) STRICT;

CREATE INDEX additions_by_time ON additions (at);
