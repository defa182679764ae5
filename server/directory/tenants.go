package directory

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/postgres"
	"quarry/server/sqldb"
)

// AddTenant creates a tenant and its owner. An existing tenant is not changed. An id is 1 to 63 lower-case letters,
// digits, "_" and "-", and begins with a letter or digit.
func (d *Directory) AddTenant(ctx context.Context, id string) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`).MatchString(id) {
		return refuse("a tenant's name is 1 to 63 lower-case letters, digits, - and _: %s", quote(id))
	}
	return d.open.Update(ctx, "add tenant "+id, func(tx *sqldb.Tx) {
		now := d.now().UnixMicro()
		tx.Exec("INSERT INTO tenants (id, created_at) VALUES (?, ?) ON CONFLICT DO NOTHING", id, now)
		tx.Exec(`INSERT INTO users (id, tenant_id, email, name, role, created_at)
			VALUES (?, ?, ?, 'Owner', 'admin', ?) ON CONFLICT DO NOTHING`, OwnerID(id), id, OwnerEmail, now)
	})
}

// Tenants lists the ids of all tenants.
func (d *Directory) Tenants(ctx context.Context) ([]string, error) {
	return sqldb.List(ctx, d.open, "list tenants", sqldb.Column[string], "SELECT id FROM tenants ORDER BY id")
}

// DescribeTenants returns all tenants with the numbers of their things in the directory, by id. Tokens are the valid
// ones.
func (d *Directory) DescribeTenants(ctx context.Context) ([]wire.DirectoryTenant, error) {
	return sqldb.List(ctx, d.open, "list tenants", func(t *wire.DirectoryTenant) []any {
		return []any{&t.Name, (*timestamp)(&t.CreatedAt), &t.Users, &t.Tokens, &t.Groups, &t.Connectors,
			&t.DocumentSets, &t.Agents}
	}, `SELECT t.id, t.created_at,
		(SELECT count(*) FROM users u WHERE u.tenant_id = t.id),
		(SELECT count(*) FROM tokens k JOIN users u ON u.id = k.user_id WHERE u.tenant_id = t.id AND NOT k.is_revoked
			AND (k.expires_at IS NULL OR k.expires_at > ?)),
		(SELECT count(*) FROM user_groups g WHERE g.tenant_id = t.id),
		(SELECT count(*) FROM cc_pairs p WHERE p.tenant_id = t.id AND NOT p.is_deleting),
		(SELECT count(*) FROM document_sets s WHERE s.tenant_id = t.id),
		(SELECT count(*) FROM agents a WHERE a.tenant_id = t.id)
		FROM tenants t ORDER BY t.id`, d.now().UnixMicro())
}

// DescribeTenant returns a tenant, or a MissingError.
func (d *Directory) DescribeTenant(ctx context.Context, id string) (wire.DirectoryTenant, error) {
	tenants, err := d.DescribeTenants(ctx)
	tenants = slices.DeleteFunc(tenants, func(t wire.DirectoryTenant) bool { return t.Name != id })
	return sqldb.First(tenants, err, missing(KindTenant, quote(id)))
}

// tenantTables returns the tables with rows of a tenant, in the order in which they can be emptied. Rows that refer to
// them are deleted with them.
func tenantTables() []string {
	return strings.Fields("agents document_sets cc_pairs connectors credentials user_groups users model_tokens")
}

// RemoveTenant removes a tenant with everything in the directory. Its tokens are invalid at once. The default tenant
// cannot be removed.
func (d *Directory) RemoveTenant(ctx context.Context, id string) error {
	if id == DefaultTenant {
		return refuse("the tenant %s is built in and cannot be removed", quote(id))
	}
	return d.open.Update(ctx, "remove tenant "+id, func(tx *sqldb.Tx) {
		for _, table := range tenantTables() {
			tx.Exec("DELETE FROM "+table+" WHERE tenant_id = ?", id)
		}
		tx.Change(missing(KindTenant, quote(id)), "DELETE FROM tenants WHERE id = ?", id)
	})
}

// AddRemovedLibrary notes that a library has to be deleted in the search engine.
func (d *Directory) AddRemovedLibrary(ctx context.Context, name string) error {
	return d.open.Exec(ctx, "note the removed library "+name, nil,
		"INSERT INTO removed_libraries (name) VALUES (?) ON CONFLICT DO NOTHING", name)
}

// RemovedLibraries lists what has to be deleted in the search engine.
func (d *Directory) RemovedLibraries(ctx context.Context) ([]string, error) {
	return sqldb.List(ctx, d.open, "list removed libraries", sqldb.Column[string],
		"SELECT name FROM removed_libraries ORDER BY name")
}

// ForgetRemovedLibraries notes that libraries are deleted, or exist after all.
func (d *Directory) ForgetRemovedLibraries(ctx context.Context, names []string) error {
	return d.open.Update(ctx, "forget removed libraries", func(tx *sqldb.Tx) {
		for _, name := range names {
			tx.Exec("DELETE FROM removed_libraries WHERE name = ?", name)
		}
	})
}

// AddModelTokens adds to the model tokens of a tenant on a day, such as "2026-08-01", and returns the day's sum. Adding
// 0 only reads.
func (d *Directory) AddModelTokens(ctx context.Context, tenant, day string, tokens int) (sum int, err error) {
	if tokens == 0 {
		sums, err := sqldb.List(ctx, d.counts, "read the tokens of "+day, sqldb.Column[int],
			"SELECT tokens FROM model_tokens WHERE tenant_id = ? AND day = ?", tenant, day)
		return sqldb.First(sums, err, nil)
	}
	err = d.counts.Update(ctx, "count the tokens of "+day, func(tx *sqldb.Tx) {
		tx.Get([]any{&sum}, `INSERT INTO model_tokens (tenant_id, day, tokens) VALUES (?, ?, ?)
			ON CONFLICT (tenant_id, day) DO UPDATE SET tokens = model_tokens.tokens + excluded.tokens RETURNING tokens`,
			tenant, day, tokens)
	})
	return sum, err
}

// copiedTables are the tables of the directory. Each refers only to those before it.
func copiedTables() []string {
	return strings.Fields(`tenants users user_groups user_group_members external_group_members tokens token_parents
		sandbox_tokens document_sets document_set_users document_set_groups connectors credentials cc_pairs
		cc_pair_groups document_set_cc_pairs agents agent_document_sets agent_documents agent_users agent_groups
		agent_files model_tokens removed_libraries`)
}

// Copied returns the directory for a copy to one on a PostgreSQL server, which replaces all that is there. The
// conversations on that server are removed.
func (d *Directory) Copied() postgres.Copied {
	fill := func(ctx context.Context, from, to *sql.Tx) (rows int) {
		for _, table := range slices.Backward(copiedTables()) {
			_, err := to.ExecContext(ctx, "DELETE FROM "+table)
			guard.While("empty the table "+table, err)
		}
		for _, table := range copiedTables() {
			rows += postgres.CopyTable(ctx, from, to, table, nil)
		}
		return rows
	}
	return postgres.Copied{Name: "directory", DB: d.db, Tables: copiedTables(), Fill: fill}
}
