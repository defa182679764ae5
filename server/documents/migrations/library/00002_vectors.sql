-- +goose Up
CREATE TABLE embedding_models (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    current    INTEGER NOT NULL -- 1: the model that was used last, whose vectors new segments get
) STRICT;

-- Vectors by what they stand for, so that no text is embedded twice.
CREATE TABLE embeddings (
    row    INTEGER PRIMARY KEY,
    model  INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    hash   BLOB    NOT NULL, -- 16 bytes of the text
    vector BLOB    NOT NULL  -- float32, little endian
) STRICT;

CREATE UNIQUE INDEX embeddings_by_text ON embeddings (model, hash);

-- The part of the manifest that names the files of vectors, at most one for each segment.
CREATE TABLE vector_files (
    segment INTEGER PRIMARY KEY REFERENCES segments (id) ON DELETE CASCADE,
    name    TEXT    NOT NULL UNIQUE,
    model   INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    bytes   INTEGER NOT NULL
) STRICT;
