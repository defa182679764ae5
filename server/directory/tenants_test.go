package directory

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/sqldb"
)

// TestRemoveTenant: of every table that names a tenant nothing is left of the one that is removed, and all of the others.
func TestRemoveTenant(t *testing.T) {
	d, _ := open(t, "", false)
	ctx := t.Context()
	count := func(tenant string) string {
		list := `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'tenant_id'
			ORDER BY m.name`
		if strings.HasPrefix(t.Name(), onPostgres) {
			list = `SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema() AND column_name = 'tenant_id'
				ORDER BY table_name`
		}
		tables, err := sqldb.Select(ctx, d.db.Pool(), sqldb.Column[string], list)
		if err != nil || len(tables) < len(tenantTables()) {
			t.Fatalf("tables %v (%v)", tables, err)
		}
		told := ""
		for _, table := range tables {
			ids, err := sqldb.Select(ctx, d.db.Pool(), sqldb.Column[int], "SELECT count(*) FROM "+table+" WHERE tenant_id = ?", tenant)
			if err != nil {
				t.Fatal(err)
			}
			told += fmt.Sprint(" ", table, ":", ids[0])
		}
		return told
	}
	fill := func(tenant string) {
		if err := d.AddTenant(ctx, tenant); err != nil {
			t.Fatal(err)
		}
		_, _, tokenErr := d.AddToken(ctx, TokenRequest{Tenant: tenant, Name: "x", Email: "jo@acme.example"})
		groupErr := joinGroup(d, ctx, tenant, "Legal", "jo@acme.example")
		connector, connectorErr := d.In(ctx, tenant).AddConnector("Wiki", "web")
		credential, credentialErr := d.In(ctx, tenant).AddCredential("Wiki", "web")
		_, _, pairErr := d.In(ctx, tenant).AddCCPair(PairRequest{ConnectorID: connector, CredentialID: credential, Name: "Wiki",
			Access: AccessPrivate, Creator: OwnerEmail})
		_, setErr := d.In(ctx, tenant).CreateDocumentSet(SetDetails{DocumentSet: DocumentSet{Name: "S"}})
		_, agentErr := d.In(ctx, tenant).AddAgent(Agent{Name: "A", OwnerID: OwnerID(tenant), DocumentSets: []DocumentSet{{Name: "S"}}})
		_, modelErr := d.AddModelTokens(ctx, tenant, "2026-08-01", 7)
		if err := errors.Join(tokenErr, groupErr, connectorErr, credentialErr, pairErr, setErr, agentErr, modelErr); err != nil {
			t.Fatal(err)
		}
	}
	fill("acme")
	fill("other")
	before := count("other")
	described, err := d.DescribeTenant(ctx, "acme")
	described.CreatedAt = ""
	if want := (wire.DirectoryTenant{Name: "acme", Users: 2, Tokens: 1, Groups: 1, Connectors: 1, DocumentSets: 1, Agents: 1}); err != nil || described != want {
		t.Errorf("described %+v (%v), want %+v", described, err, want)
	}
	if err := d.RemoveTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	if left := count("acme"); strings.ContainsAny(left, "123456789") {
		t.Errorf("left: %s", left)
	}
	if after := count("other"); after != before {
		t.Errorf("of another tenant there was%s, there is%s", before, after)
	}
	if users, err := sqldb.Select(ctx, d.db.Pool(), sqldb.Column[int], "SELECT count(*) FROM tokens k LEFT JOIN users u ON u.id = k.user_id WHERE u.id IS NULL"); err != nil || users[0] != 0 {
		t.Errorf("%v tokens of nobody (%v)", users, err)
	}
	for _, id := range []string{"acme", "nowhere"} {
		if err := d.RemoveTenant(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	var input InputError
	if err := d.RemoveTenant(ctx, DefaultTenant); !errors.As(err, &input) {
		t.Errorf("the default tenant: %v", err)
	}
}
