-- +goose Up
-- Since this version the row of a file's document leaves its origin and its link to its id, see documents.Row. Origins are
-- counted when something is removed or repaired, which reads all rows. An index on them was a twentieth of a library of
-- short documents.
DROP INDEX documents_by_origin;
