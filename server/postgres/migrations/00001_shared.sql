-- +goose Up
-- When the requests of a key would have come at an even rate: see Pool.Take. It may be lost with a crash of the server.
CREATE UNLOGGED TABLE rate_limits (
    key     TEXT COLLATE "C" PRIMARY KEY,
    even_at BIGINT NOT NULL -- microseconds since 1970
);
CREATE INDEX rate_limits_by_time ON rate_limits (even_at);

-- The work that one process does for all: see Pool.Lease.
CREATE TABLE leases (
    name    TEXT COLLATE "C" PRIMARY KEY,
    holder  TEXT COLLATE "C" NOT NULL,
    ends_at TIMESTAMPTZ NOT NULL
);

-- +goose Down
DROP TABLE leases, rate_limits;
