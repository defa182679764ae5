//go:build unix

package e2e

import (
	"strings"
	"testing"

	"quarry/internal/testkit/scaletest"
)

// TestMigratedLibrary moves a library to a database by the command, which two homes use then.
func TestMigratedLibrary(t *testing.T) {
	database := scaletest.NewPostgres(t)
	h := newHome(t)
	h.must("admin", "user", "add", "jo@acme.example")
	h.must("admin", "token", "add", "laptop", "--user", "jo@acme.example")
	before := h.must("admin", "token", "list", "--json")
	h.write("config/quarry/config.yaml", "directory: {url: \""+database.URL+"\"}\n")
	if users := h.must("admin", "user", "list", "--json"); strings.Contains(users, "jo@acme.example") {
		t.Errorf("a new database has users: %s", users)
	}
	if dry := h.must("migrate", "--to", "postgres", "--dry-run"); !strings.Contains(dry, "nothing was stored") {
		t.Error(dry)
	}
	h.conforms("migrate", h.must("migrate", "--to", "postgres", "--json"))
	other := home{t, t.TempDir()}
	other.write("config/quarry/config.yaml", "directory: {url: \""+database.URL+"\"}\n")
	for _, one := range []home{h, other} {
		if after := one.must("admin", "token", "list", "--json"); after != before {
			t.Errorf("tokens %s, want %s", after, before)
		}
	}
	other.must("admin", "token", "add", "another")
	refused := h.run("", "migrate", "--to", "postgres")
	if refused.code != 1 || !strings.Contains(refused.stderr, "in use") {
		t.Errorf("a database in use: %+v", refused)
	}
}
