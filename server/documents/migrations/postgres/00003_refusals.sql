-- +goose Up
-- Documents that a follower of the log could not index, or not all of it, until they change.
CREATE TABLE refusals (
    follower TEXT COLLATE "C" NOT NULL,
    document TEXT COLLATE "C" NOT NULL,
    reason   TEXT NOT NULL,
    PRIMARY KEY (follower, document)
);
