-- +goose Up
ALTER TABLE sessions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0; -- of its messages, with the documents of answers
UPDATE sessions SET bytes = (SELECT coalesce(sum(length(CAST(text AS BLOB)) + length(CAST(documents AS BLOB))
    + length(CAST(citations AS BLOB))), 0) FROM messages WHERE session_id = sessions.id);

-- What one person has is added up at every question.
CREATE INDEX sessions_by_bytes ON sessions (user_id, bytes);

-- +goose Down
DROP INDEX sessions_by_bytes;
ALTER TABLE sessions DROP COLUMN bytes;
