-- +goose Up
-- Vectors are stored as on one machine: sealed, and as 8-bit integers from now on. Older programs do not know that.
CREATE TABLE embedding_models (
    id         INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL,
    current    INTEGER NOT NULL -- 1: the model that was used last
) STRICT;

INSERT INTO embedding_models (name, dimensions, current)
    SELECT model, max(length(vector)) / 4, 0 FROM embeddings GROUP BY model HAVING max(length(vector)) > 0;

UPDATE embedding_models SET current = 1 WHERE name = (SELECT model FROM library);

-- Texts that an embedding model does not take, so that it is not asked for them again and again.
CREATE TABLE refused_texts (
    model TEXT NOT NULL, -- its name: it may have no vector yet, and so no row
    hash  BLOB NOT NULL, -- 16 bytes of the text
    PRIMARY KEY (model, hash)
) STRICT, WITHOUT ROWID;

INSERT INTO refused_texts SELECT model, hash FROM embeddings WHERE length(vector) = 0;

-- Vectors by what they stand for, so that no text is embedded twice.
CREATE TABLE vectors (
    row    INTEGER PRIMARY KEY,
    model  INTEGER NOT NULL REFERENCES embedding_models (id) ON DELETE CASCADE,
    hash   BLOB    NOT NULL, -- 16 bytes of the text
    vector BLOB    NOT NULL
) STRICT;

INSERT INTO vectors (model, hash, vector)
    SELECT m.id, e.hash, e.vector FROM embeddings AS e JOIN embedding_models AS m ON m.name = e.model
    WHERE length(e.vector) > 0;

DROP TABLE embeddings;

ALTER TABLE vectors RENAME TO embeddings;

CREATE UNIQUE INDEX embeddings_by_text ON embeddings (model, hash);

ALTER TABLE library DROP COLUMN model;
