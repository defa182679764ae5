-- +goose Up
-- By what documents are found whose short refs begin alike. Earlier versions had this in cursors.
CREATE TABLE hashes (
    hash     INTEGER NOT NULL, -- see index.Batch.Hash
    document INTEGER NOT NULL, -- documents.row, which need not exist
    PRIMARY KEY (hash, document)
) STRICT, WITHOUT ROWID;
