-- +goose Up
-- How far the check of a large library has come. Since this version values carry a checksum, which older programs do
-- not understand.
CREATE TABLE checks (
    part TEXT    PRIMARY KEY, -- the table that is checked in parts
    next INTEGER NOT NULL     -- the row to go on with
) STRICT, WITHOUT ROWID;
