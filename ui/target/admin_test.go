package target

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

// administer opens a library to look at what is arranged in it, and to change it.
func administer(t *testing.T, h *Host, tenant string) *client.Client {
	t.Helper()
	opened, err := h.Administer(t.Context(), "", tenant, !config.ReadOnly(h.Env))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, opened) })
	return opened.Client
}

// makeToken makes a token of the owner's.
func makeToken(t *testing.T, h *Host) string {
	t.Helper()
	request := wire.AccessTokenRequest{Name: "laptop"}
	made, err := administer(t, h, "").AdminAddToken(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return made.Item.Token
}

func wantRefusal(t *testing.T, err error, kind client.Kind, words ...string) {
	t.Helper()
	var e *client.Error
	if !errors.As(err, &e) || e.Kind != kind {
		t.Fatalf("got %v, want an error of kind %s", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(e.Error()+" | "+e.Remedy(), word) {
			t.Errorf("does not say %q: %v | %s", word, e, e.Remedy())
		}
	}
}

// TestDirectoryOnFiles arranges a library on its files, and looks at what was arranged.
func TestDirectoryOnFiles(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := context.Background()
	d := administer(t, h, "")
	none, err := d.AdminUsers(ctx)
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
	user, err := d.AdminAddUser(ctx, "Jo@acme.example", "")
	if err != nil || !user.IsNew || user.Item.Email != "jo@acme.example" || user.Item.Role != "basic" {
		t.Fatalf("%+v, %v", user, err)
	}
	user, err = d.AdminAddUser(ctx, "jo@acme.example", "admin")
	if err != nil || user.IsNew || user.Item.Role != "admin" {
		t.Fatalf("%+v, %v", user, err)
	}
	legal, err := d.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "Legal", Users: []string{"jo@acme.example", "kim@acme.example"}})
	if err != nil || !legal.IsNew || len(legal.NewUsers) != 1 || legal.NewUsers[0] != "kim@acme.example" {
		t.Fatalf("%+v, %v", legal, err)
	}
	_, err = d.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "slack:C1", External: true, Users: []string{"jo@acme.example"}})
	check(err)
	wiki, err := d.AdminAddConnector(ctx, wire.DirectoryConnector{Name: "Wiki", Source: "confluence", AccessType: "private"})
	check(err)
	_, err = d.AdminAddGroup(ctx, wire.DirectoryGroup{Name: "Legal", Connectors: []string{"Wiki"}})
	check(err)
	_, err = d.AdminAddDocumentSet(ctx, wire.DirectorySet{Name: "Handbook", Connectors: []string{"Wiki"}, Groups: []string{"Legal"}})
	check(err)
	since := "2025-01-01"
	eng, err := d.AdminAddAgent(ctx, wire.DirectoryAgent{Name: "Eng", DocumentSets: []string{"Handbook"}, Users: []string{"KIM@acme.example"}, SearchStartDate: &since})
	check(err)

	groups, err := d.AdminGroups(ctx)
	check(err)
	if len(groups) != 2 || len(groups[0].Users) != 2 || len(groups[0].Connectors) != 1 || groups[1].Name != "slack:c1" || !groups[1].External {
		t.Errorf("groups %+v", groups)
	}
	connectors, err := d.AdminConnectors(ctx)
	check(err)
	if len(connectors) != 1 || connectors[0].ID != wiki.Item.ID || connectors[0].Groups[0] != "Legal" || connectors[0].DocumentSets[0] != "Handbook" ||
		connectors[0].Creator != "owner@localhost" {
		t.Errorf("connectors %+v", connectors)
	}
	sets, err := d.AdminDocumentSets(ctx)
	check(err)
	if len(sets) != 1 || sets[0].IsPublic || sets[0].Groups[0] != "Legal" || sets[0].Connectors[0] != "Wiki" {
		t.Errorf("sets %+v", sets)
	}
	agents, err := d.AdminAgents(ctx)
	check(err)
	if len(agents) != 1 || agents[0].ID != eng.Item.ID || agents[0].Users[0] != "kim@acme.example" || agents[0].Owner != "owner@localhost" ||
		!strings.HasPrefix(*agents[0].SearchStartDate, since) {
		t.Errorf("agents %+v", agents)
	}

	_, err = d.AdminAddConnector(ctx, wire.DirectoryConnector{Name: "Wiki", Source: "web", AccessType: "sync"})
	wantRefusal(t, err, client.BadRequest, "Wiki", "another name")
	_, err = d.AdminAddDocumentSet(ctx, wire.DirectorySet{Name: "New", Connectors: []string{"Nowhere"}})
	wantRefusal(t, err, client.NotAvailable, "Nowhere", "quarry admin connector list")
	wantRefusal(t, d.AdminRemoveDocumentSet(ctx, sets[0]), client.BadRequest, "Eng")
	wantRefusal(t, d.AdminRemoveAgent(ctx, "0"), client.BadRequest, "built in")
	wantRefusal(t, d.AdminRemoveAgent(ctx, "Nobody"), client.NotAvailable, "Nobody")
	wantRefusal(t, d.AdminRemoveUser(ctx, "lee@acme.example"), client.NotAvailable, "lee@acme.example", "user list")

	check(d.AdminRemoveAgent(ctx, strconv.Itoa(agents[0].ID)))
	check(d.AdminRemoveDocumentSet(ctx, sets[0]))
	check(d.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "Legal", Users: []string{"kim@acme.example"}}))
	check(d.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "Legal"}))
	check(d.AdminRemoveGroup(ctx, wire.DirectoryGroup{Name: "slack:C1", External: true}))
	check(d.AdminRemoveConnector(ctx, "Wiki"))
	check(d.AdminSetUserActive(ctx, "kim@acme.example", false))
	check(d.AdminRemoveUser(ctx, "jo@acme.example"))
	users, err := d.AdminUsers(ctx)
	check(err)
	if len(users) != 2 || users[0].IsActive || users[1].Email != "owner@localhost" {
		t.Errorf("users %+v", users)
	}
	if connectors, err := d.AdminConnectors(ctx); err != nil || len(connectors) != 0 {
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
	if _, err := opened.Client.ChangeLibrary(ctx, wire.AddRequest{Paths: []string{path}, Set: "Boats"}, nil); err != nil {
		t.Fatal(err)
	}
	closed(t, opened)
	d := administer(t, h, "")
	sets, err := d.AdminDocumentSets(ctx)
	if err != nil || len(sets) != 1 || sets[0].Name != "Boats" {
		t.Fatalf("sets %+v, %v", sets, err)
	}
	wantRefusal(t, d.AdminRemoveDocumentSet(ctx, sets[0]), client.BadRequest, "quarry remove --set")
	empty, err := d.AdminAddDocumentSet(ctx, wire.DirectorySet{Name: "Empty", IsPublic: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.AdminRemoveDocumentSet(ctx, empty.Item); err != nil {
		t.Error(err)
	}
}

// TestTenantsOnFiles makes tenants, arranges the same in two of them, and removes one.
func TestTenantsOnFiles(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := t.Context()
	of := func(tenant string) *client.Client { return administer(t, h, tenant) }
	_, err := of("acme").AdminUsers(ctx)
	wantRefusal(t, err, client.NotAvailable, "quarry admin tenant list")
	if tenants, err := of("").AdminTenants(ctx); err != nil || len(tenants) != 1 || tenants[0].Name != "default" {
		t.Errorf("%+v, %v", tenants, err)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("looking made something: %v", entries)
	}
	_, err = of("acme").AdminAddUser(ctx, "jo@acme.example", "")
	wantRefusal(t, err, client.NotAvailable, "acme")
	for _, made := range []bool{true, false} {
		tenant, err := of("").AdminAddTenant(ctx, "acme")
		if err != nil || tenant.IsNew != made || tenant.Item.Name != "acme" || tenant.Item.Users != 1 {
			t.Errorf("%+v, %v", tenant, err)
		}
	}
	_, err = of("").AdminAddTenant(ctx, "A b")
	wantRefusal(t, err, client.BadRequest, "lower-case")
	for _, tenant := range []string{"", "acme"} {
		if made, err := of(tenant).AdminAddUser(ctx, "jo@acme.example", ""); err != nil || !made.IsNew {
			t.Errorf("in %q: %+v, %v", tenant, made, err)
		}
		if _, err := of(tenant).AdminAddDocumentSet(ctx, wire.DirectorySet{Name: "Handbook", Users: []string{"jo@acme.example"}}); err != nil {
			t.Error(err)
		}
	}
	token, err := of("acme").AdminAddToken(ctx, wire.AccessTokenRequest{Name: "x", User: "jo@acme.example"})
	if err != nil || len(token.NewUsers) > 0 || !strings.HasPrefix(token.Item.Token, "onyx_pat_acme.") {
		t.Errorf("%+v, %v", token, err)
	}
	if listed, err := of("acme").AdminTokens(ctx); err != nil || len(listed) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	_, err = of("").AdminRemoveTenant(ctx, "acme", false)
	wantRefusal(t, err, client.BadRequest, "it has")
	wantRefusal(t, err, client.BadRequest, "1 user beside the owner, 1 token, 1 document set")
	removed, err := of("").AdminRemoveTenant(ctx, "acme", true)
	if err != nil || removed.Users != 2 || removed.Tokens != 1 || removed.DocumentSets != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	_, err = of("").AdminRemoveTenant(ctx, "acme", true)
	wantRefusal(t, err, client.NotAvailable, "acme")
	_, err = of("").AdminRemoveTenant(ctx, "default", true)
	wantRefusal(t, err, client.BadRequest, "cannot be removed")
	if sets, err := of("").AdminDocumentSets(ctx); err != nil || len(sets) != 1 {
		t.Errorf("in the other tenant: %+v, %v", sets, err)
	}
}
