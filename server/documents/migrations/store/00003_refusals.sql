-- +goose Up
-- Documents that a follower of the log could not index, or not all of it, until they change.
CREATE TABLE refusals (
    follower TEXT NOT NULL,
    document TEXT NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (follower, document)
) STRICT, WITHOUT ROWID;
