-- +goose Up
-- The answers of a session up to this message are to be written no further, by whichever process writes them.
ALTER TABLE sessions ADD COLUMN stopped_at INTEGER NOT NULL DEFAULT 0;

-- Without it every message that goes looks through all others for those that follow it.
CREATE INDEX messages_of_parents ON messages (parent_id);

-- +goose Down
DROP INDEX messages_of_parents;
ALTER TABLE sessions DROP COLUMN stopped_at;
