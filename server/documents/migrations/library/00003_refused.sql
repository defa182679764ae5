-- +goose Up
-- Texts that an embedding model does not take, so that it is not asked for them again and again.
CREATE TABLE refused_texts (
    model TEXT NOT NULL, -- its name: it may have no vector yet, and so no row
    hash  BLOB NOT NULL, -- 16 bytes of the text
    PRIMARY KEY (model, hash)
) STRICT, WITHOUT ROWID;
