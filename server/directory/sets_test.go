package directory

import (
	"errors"
	"slices"
	"testing"
	"time"

	"quarry/server/fault"
)

func ensureSet(t *testing.T, d *Directory, tenant, name string) {
	t.Helper()
	if err := d.In(t.Context(), tenant).EnsureDocumentSet(name); err != nil {
		t.Fatal(err)
	}
}

func addSet(t *testing.T, d *Directory, tenant string, set DocumentSet) {
	t.Helper()
	if _, err := d.In(t.Context(), tenant).CreateDocumentSet(SetDetails{DocumentSet: set}); err != nil {
		t.Fatal(err)
	}
}

func TestForgetDocumentSet(t *testing.T) {
	ctx := t.Context()
	d := must[*Directory](t)(openAnywhere(t, "", false, time.Now))
	t.Cleanup(func() { _ = d.Close() })
	if err := d.AddTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	ensureSet(t, d, "acme", "plain")
	ensureSet(t, d, DefaultTenant, "plain")
	ensureSet(t, d, DefaultTenant, "an agent's")
	for _, set := range []DocumentSet{
		{Name: "arranged", Public: true}, {Name: "described", Description: "What it is for", Public: true}, {Name: "restricted"},
	} {
		addSet(t, d, DefaultTenant, set)
	}
	must[Agent](t)(d.In(ctx, DefaultTenant).AddAgent(Agent{Name: "A", DocumentSets: []DocumentSet{{Name: "an agent's"}}}))
	for _, name := range []string{"plain", "arranged", "described", "restricted", "an agent's", "absent"} {
		if err := d.In(ctx, DefaultTenant).ForgetDocumentSet(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for tenant, want := range map[string][]string{
		DefaultTenant: {"an agent's", "arranged", "described", "restricted"}, "acme": {"plain"},
	} {
		var left []string
		for _, set := range must[[]DocumentSet](t)(d.For(ctx, Owner(tenant)).DocumentSets()) {
			left = append(left, set.Name)
		}
		if !slices.Equal(left, want) {
			t.Errorf("%s: %q are left, want %q", tenant, left, want)
		}
	}
	reader := must[*Directory](t)(Open(ctx, "", true, time.Now))
	t.Cleanup(func() { _ = reader.Close() })
	if err := reader.In(ctx, DefaultTenant).ForgetDocumentSet("plain"); !errors.Is(err, fault.ErrReadOnly) {
		t.Errorf("read-only: %v", err)
	}
}
