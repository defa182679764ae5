-- +goose Up
-- In a database of several tenants their rows are apart by it; a file has one tenant, which needs no name.
ALTER TABLE sessions ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '';
ALTER TABLE files ADD COLUMN tenant_id TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE files DROP COLUMN tenant_id;
ALTER TABLE sessions DROP COLUMN tenant_id;
