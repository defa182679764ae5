package server

import (
	"net/http"
	"strings"
	"testing"

	"quarry/internal/testkit/postgrestest"
)

// TestMigrate copies people, tokens and conversations of two tenants to a database, again after a change, and not again once
// the database is used.
func TestMigrate(t *testing.T) {
	home, address := t.TempDir(), postgrestest.Address(t, t.Name())
	files := open(t, Options{Home: home})
	for _, call := range [][2]string{{"/admin/tenants", `{"name":"acme"}`}, {"/user/pats", `{"name":"laptop"}`}, {"/chat/create-chat-session", `{}`}} {
		if status, answer := ask(t, files, "POST", call[0], call[1]); status != http.StatusOK {
			t.Fatalf("%s: %d %s", call[0], status, answer)
		}
	}
	if status, answer := ask(t, files, "POST", "/library/migrate", `{"to":"postgres"}`); status != http.StatusNotFound {
		t.Errorf("without a database: %d %s", status, answer)
	}
	database := open(t, Options{Home: home, Database: address})
	if _, answer := ask(t, database, "POST", "/library/migrate", `{"to":"postgres","dry_run":true}`); !strings.Contains(answer, `"chats":1`) {
		t.Errorf("a dry run: %s", answer)
	}
	move := func() string {
		t.Helper()
		_, answer := ask(t, database, "POST", "/library/migrate", `{"to":"postgres"}`)
		return answer
	}
	if answer := move(); !strings.Contains(answer, `"tenants":2`) || !strings.Contains(answer, `"chats":1`) {
		t.Fatalf("%s", answer)
	}
	listed := func(path string) (here, there string) {
		t.Helper()
		_, here = ask(t, files, "GET", path, "")
		_, there = ask(t, database, "GET", path, "")
		return here, there
	}
	if status, answer := ask(t, files, "POST", "/user/pats", `{"name":"desk"}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	move()
	for _, path := range []string{"/user/pats", "/admin/tenants"} {
		if here, there := listed(path); here != there || !strings.Contains(here, "name") {
			t.Errorf("%s: %s, want %s", path, there, here)
		}
	}
	if status, answer := ask(t, database, "POST", "/user/pats", `{"name":"used"}`); status != http.StatusOK {
		t.Fatal(answer)
	}
	if answer := move(); !strings.Contains(answer, "TARGET_IN_USE") {
		t.Errorf("a database in use: %s", answer)
	}
	if _, there := listed("/user/pats"); !strings.Contains(there, `"used"`) {
		t.Errorf("it was replaced: %s", there)
	}
}

// TestMigrateToWeaviate copies documents to a cluster, with the store in files and in a database.
func TestMigrateToWeaviate(t *testing.T) {
	for name, address := range map[string]func() string{
		"files":    func() string { return "" },
		"database": func() string { return postgrestest.Address(t, t.Name()) },
	} {
		t.Run(name, func(t *testing.T) {
			cluster := testCluster(t)
			migrateDocuments(t, "weaviate", Options{Weaviate: &cluster, Database: address()})
		})
	}
}

// TestMigrateDocuments copies documents to a database that several servers index.
func TestMigrateDocuments(t *testing.T) {
	migrateDocuments(t, "postgres", Options{Database: postgrestest.Address(t, t.Name()), DocumentsInDatabase: true})
}

// migrateDocuments copies the documents of two tenants; again after a change; and not again once the copy is used.
func migrateDocuments(t *testing.T, to string, options Options) {
	t.Helper()
	options.Home = t.TempDir()
	files, copied := open(t, Options{Home: options.Home}), open(t, options)
	if err := files.people.AddTenant(t.Context(), "acme"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "hidden"} {
		store(t, files, "default", id)
		store(t, files, "acme", id)
	}
	move := func(dryRun string) string {
		t.Helper()
		_, answer := ask(t, copied, "POST", "/library/migrate", `{"to":"`+to+`"`+dryRun+`}`)
		return answer
	}
	if answer := move(`,"dry_run":true`); !strings.Contains(answer, `"added":6`) {
		t.Errorf("a dry run: %s", answer)
	}
	if answer := move(""); !strings.Contains(answer, `"added":6`) || !strings.Contains(answer, `"documents":6`) ||
		!strings.Contains(answer, `"found":4,"found_before":4`) {
		t.Errorf("the copy: %s", answer)
	}
	store(t, files, "acme", "later")
	if answer := move(""); !strings.Contains(answer, `"added":1`) {
		t.Errorf("again: %s", answer)
	}
	if n := lanterns(t, copied, "acme"); n != 3 {
		t.Errorf("the copy finds %d documents", n)
	}
	store(t, copied, "acme", "used")
	if answer := move(""); !strings.Contains(answer, "TARGET_IN_USE") {
		t.Errorf("a copy in use: %s", answer)
	}
}
