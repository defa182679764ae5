-- +goose Up
-- What removed tenants have left in a search engine that was not available, until it is deleted there.
CREATE TABLE removed_libraries (
    name TEXT COLLATE "C" PRIMARY KEY -- of the library in the engine
);
