package directory

import (
	"errors"
	"path/filepath"
	"testing"

	"quarry/server/fault"
)

func TestModelTokensAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	d, _ := open(t, path, false)
	other, _ := open(t, path, false) // another process
	if err := d.AddTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		at          *Directory
		tenant, day string
		tokens, sum int
	}{
		{d, DefaultTenant, "2026-08-01", 0, 0},
		{d, DefaultTenant, "2026-08-01", 5, 5},
		{other, DefaultTenant, "2026-08-01", 7, 12},
		{d, DefaultTenant, "2026-08-01", 0, 12},
		{d, "acme", "2026-08-01", 1, 1},
		{d, DefaultTenant, "2026-08-02", 2, 2},
		{d, DefaultTenant, "2026-08-01", 1, 13},
	} {
		if sum, err := c.at.AddModelTokens(t.Context(), c.tenant, c.day, c.tokens); err != nil || sum != c.sum {
			t.Errorf("%+v: %d, %v", c, sum, err)
		}
	}
	reader, _ := open(t, path, true)
	if sum, err := reader.AddModelTokens(t.Context(), DefaultTenant, "2026-08-01", 0); err != nil || sum != 13 {
		t.Errorf("read-only: %d, %v", sum, err)
	}
	if _, err := reader.AddModelTokens(t.Context(), DefaultTenant, "2026-08-01", 1); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
	if _, err := d.AddModelTokens(t.Context(), "no such tenant", "2026-08-01", 1); err == nil {
		t.Error("an unknown tenant has a sum")
	}
}
