-- +goose Up
ALTER TABLE agents ADD COLUMN display_priority INTEGER;                  -- null: after all others
ALTER TABLE agents ADD COLUMN is_datetime_aware INTEGER NOT NULL DEFAULT 1 CHECK (is_datetime_aware IN (0, 1));
ALTER TABLE agents ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;       -- rises with every change

-- Files that an agent's users get with every question. They are stored with the conversations of the user who uploaded
-- them, by this id of the user there.
CREATE TABLE agent_files (
    agent_id INTEGER NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    file_id  TEXT NOT NULL,
    user_id  TEXT NOT NULL,
    PRIMARY KEY (agent_id, file_id)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE agent_files;
ALTER TABLE agents DROP COLUMN revision;
ALTER TABLE agents DROP COLUMN is_datetime_aware;
ALTER TABLE agents DROP COLUMN display_priority;
