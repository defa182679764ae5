package target

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"quarry/client/wire"
)

// TestDirectoryOnFiles arranges a library on its files, and looks at what was arranged.
func TestDirectoryOnFiles(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := context.Background()
	d, err := h.Directory(ctx, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	none, err := d.Users(ctx)
	if err != nil || none == nil || len(none) != 0 {
		t.Errorf("%v, %v", none, err)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("looking made something: %v", entries)
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	user, made, err := d.AddUser(ctx, "Jo@acme.example", "")
	if err != nil || !made || user.Email != "jo@acme.example" || user.Role != "basic" {
		t.Fatalf("%+v, %v, %v", user, made, err)
	}
	user, made, err = d.AddUser(ctx, "jo@acme.example", "admin")
	if err != nil || made || user.Role != "admin" {
		t.Fatalf("%+v, %v, %v", user, made, err)
	}
	unknown, err := d.AddGroup(ctx, wire.DirectoryGroup{Name: "Legal", Users: []string{"jo@acme.example", "kim@acme.example"}})
	if err != nil || len(unknown) != 1 || unknown[0] != "kim@acme.example" {
		t.Fatalf("%v, %v", unknown, err)
	}
	_, err = d.AddGroup(ctx, wire.DirectoryGroup{Name: "slack:C1", External: true, Users: []string{"jo@acme.example"}})
	check(err)
	wiki := wire.DirectoryConnector{Name: "Wiki", Source: "confluence", AccessType: "private"}
	check(d.AddConnector(ctx, &wiki))
	_, err = d.AddGroup(ctx, wire.DirectoryGroup{Name: "Legal", Connectors: []string{"Wiki"}})
	check(err)
	_, err = d.AddDocumentSet(ctx, wire.DirectorySet{Name: "Handbook", Connectors: []string{"Wiki"}, Groups: []string{"Legal"}})
	check(err)
	since := "2025-01-01"
	eng := wire.DirectoryAgent{Name: "Eng", DocumentSets: []string{"Handbook"}, Users: []string{"KIM@acme.example"}, SearchStartDate: &since}
	check(d.AddAgent(ctx, &eng))

	groups, err := d.Groups(ctx)
	check(err)
	if len(groups) != 2 || len(groups[0].Users) != 2 || len(groups[0].Connectors) != 1 || groups[1].Name != "slack:c1" || !groups[1].External {
		t.Errorf("groups %+v", groups)
	}
	connectors, err := d.Connectors(ctx)
	check(err)
	if len(connectors) != 1 || connectors[0].ID != wiki.ID || connectors[0].Groups[0] != "Legal" || connectors[0].DocumentSets[0] != "Handbook" ||
		connectors[0].Creator != "owner@localhost" {
		t.Errorf("connectors %+v", connectors)
	}
	sets, err := d.DocumentSets(ctx)
	check(err)
	if len(sets) != 1 || sets[0].IsPublic || sets[0].Groups[0] != "Legal" || sets[0].Connectors[0] != "Wiki" {
		t.Errorf("sets %+v", sets)
	}
	agents, err := d.Agents(ctx)
	check(err)
	if len(agents) != 1 || agents[0].ID != eng.ID || agents[0].Users[0] != "kim@acme.example" || agents[0].Owner != "owner@localhost" ||
		!strings.HasPrefix(*agents[0].SearchStartDate, since) {
		t.Errorf("agents %+v", agents)
	}

	wantKind(t, d.AddConnector(ctx, &wire.DirectoryConnector{Name: "Wiki", Source: "web", AccessType: "sync"}), ErrUsage, 2, "Wiki", "another name")
	_, err = d.AddDocumentSet(ctx, wire.DirectorySet{Name: "New", Connectors: []string{"Nowhere"}})
	wantKind(t, err, ErrNotAvailable, 9, "Nowhere", "quarry admin connector list")
	wantKind(t, d.RemoveDocumentSet(ctx, "Handbook"), ErrUsage, 2, "Eng")
	wantKind(t, d.RemoveAgent(ctx, "0"), ErrUsage, 2, "built in")
	wantKind(t, d.RemoveAgent(ctx, "Nobody"), ErrNotAvailable, 9, "Nobody")
	wantKind(t, d.RemoveUser(ctx, "lee@acme.example"), ErrNotAvailable, 9, "lee@acme.example", "user list")

	check(d.RemoveAgent(ctx, "Eng"))
	check(d.RemoveDocumentSet(ctx, "Handbook"))
	check(d.RemoveGroup(ctx, wire.DirectoryGroup{Name: "Legal", Users: []string{"kim@acme.example"}}))
	check(d.RemoveGroup(ctx, wire.DirectoryGroup{Name: "Legal"}))
	check(d.RemoveGroup(ctx, wire.DirectoryGroup{Name: "slack:C1", External: true}))
	check(d.RemoveConnector(ctx, "Wiki"))
	check(d.SetUserActive(ctx, "kim@acme.example", false))
	check(d.RemoveUser(ctx, "jo@acme.example"))
	users, err := d.Users(ctx)
	check(err)
	if len(users) != 2 || users[0].IsActive || users[1].Email != "owner@localhost" {
		t.Errorf("users %+v", users)
	}
	if connectors, err := d.Connectors(ctx); err != nil || len(connectors) != 0 {
		t.Errorf("connectors %+v, %v", connectors, err)
	}
}

// TestSetsOfAddedFilesStay: a set that files were added to goes with them, not by itself.
func TestSetsOfAddedFilesStay(t *testing.T) {
	h := newHost(t, t.TempDir())
	ctx := context.Background()
	path := addNote(t, h, "The brass lantern hangs in the boathouse.")
	opened, err := h.OpenLibrary(ctx, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Client.LibraryAdd(ctx, wire.AddRequest{Paths: []string{path}, Set: "Boats"}, nil); err != nil {
		t.Fatal(err)
	}
	closed(t, opened)
	d, err := h.Directory(ctx, "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	wantKind(t, d.RemoveDocumentSet(ctx, "Boats"), ErrUsage, 2, "quarry remove --set")
	if _, err := d.AddDocumentSet(ctx, wire.DirectorySet{Name: "Empty", IsPublic: true}); err != nil {
		t.Fatal(err)
	}
	if err := d.RemoveDocumentSet(ctx, "Empty"); err != nil {
		t.Error(err)
	}
}

// TestTenantsOnFiles makes tenants, arranges the same in two of them, and removes one.
func TestTenantsOnFiles(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := t.Context()
	of := func(tenant string) *Directory {
		t.Helper()
		d, err := h.Directory(ctx, "", tenant)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	}
	fails := func(err error, kind ErrKind, words string) {
		t.Helper()
		var known *Error
		if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.Problem+" "+known.Fix, words) {
			t.Errorf("%v, want one of %s that says %q", err, kind, words)
		}
	}
	_, err := of("acme").Users(ctx)
	fails(err, ErrNotAvailable, "quarry admin tenant list")
	if tenants, err := of("").Tenants(ctx); err != nil || len(tenants) != 1 || tenants[0].Name != "default" {
		t.Errorf("%+v, %v", tenants, err)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("looking made something: %v", entries)
	}
	_, _, err = of("acme").AddUser(ctx, "jo@acme.example", "")
	fails(err, ErrNotAvailable, "acme")
	for _, made := range []bool{true, false} {
		tenant, first, err := of("").AddTenant(ctx, "acme")
		if err != nil || first != made || tenant.Name != "acme" || tenant.Users != 1 {
			t.Errorf("%+v, %v, %v", tenant, first, err)
		}
	}
	_, _, err = of("").AddTenant(ctx, "A b")
	fails(err, ErrUsage, "lower-case")
	for _, tenant := range []string{"", "acme"} {
		if _, made, err := of(tenant).AddUser(ctx, "jo@acme.example", ""); err != nil || !made {
			t.Errorf("in %q: %v, %v", tenant, made, err)
		}
		if _, err := of(tenant).AddDocumentSet(ctx, wire.DirectorySet{Name: "Handbook", Users: []string{"jo@acme.example"}}); err != nil {
			t.Error(err)
		}
	}
	tokens, err := h.Tokens(ctx, "", "acme")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tokens.Close() }()
	token, unknown, err := tokens.Add(ctx, TokenRequest{Name: "x", User: "jo@acme.example"})
	if err != nil || unknown || !strings.HasPrefix(token.Token, "onyx_pat_acme.") {
		t.Errorf("%+v, %v, %v", token, unknown, err)
	}
	if listed, err := tokens.List(ctx); err != nil || len(listed) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	_, err = of("").RemoveTenant(ctx, "acme", false)
	fails(err, ErrUsage, "--force")
	fails(err, ErrUsage, "1 user beside the owner, 1 token, 1 document set")
	removed, err := of("").RemoveTenant(ctx, "acme", true)
	if err != nil || removed.Users != 2 || removed.Tokens != 1 || removed.DocumentSets != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	_, err = of("").RemoveTenant(ctx, "acme", true)
	fails(err, ErrNotAvailable, "acme")
	_, err = of("").RemoveTenant(ctx, "default", true)
	fails(err, ErrUsage, "stays")
	if sets, err := of("").DocumentSets(ctx); err != nil || len(sets) != 1 {
		t.Errorf("in the other tenant: %+v, %v", sets, err)
	}
}
