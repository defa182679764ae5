package chat

import (
	"errors"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/directory"
)

// onPostgres is the name under which tests run on a server instead of on files.
const onPostgres = "TestOnPostgres/"

// TestOnPostgres runs the tests of stored sessions and files on a PostgreSQL server, too.
func TestOnPostgres(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"sessions": TestStoreKeepsSessions, "bounds": TestASessionIsBounded, "bytes": TestBytesOfAPersonAreBounded,
		"files": TestFilesAreTheirUsers, "bounds of files": TestFilesAreBounded, "files of messages": TestFilesOfMessages,
		"old sessions": TestOldSessionsGo, "stop": TestKeepersStop,
	} {
		t.Run(name, test)
	}
}

// openAnywhere opens a store in a file, or in TestOnPostgres in the schema that stands for the file.
func openAnywhere(t *testing.T, path string, now func() time.Time) (*Store, error) {
	t.Helper()
	if !strings.HasPrefix(t.Name(), onPostgres) {
		return Open(t.Context(), path, now)
	}
	if path == "" {
		path = t.TempDir()
	}
	pool := postgrestest.Open(t, path, false)
	if _, err := directory.OpenServer(t.Context(), pool, time.Now); err != nil {
		return nil, err
	}
	return OpenServer(t.Context(), pool, directory.DefaultTenant, now)
}

// TestTenantsAreApartOnAServer: a tenant reaches nothing of another one by any id, and goes with all it has.
func TestTenantsAreApartOnAServer(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	pool := postgrestest.Open(t, t.TempDir(), false)
	people, err := directory.OpenServer(ctx, pool, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	acme, acmeErr := OpenServer(ctx, pool, "acme", time.Now)
	other, err := OpenServer(ctx, pool, directory.DefaultTenant, time.Now)
	if err := errors.Join(acmeErr, err, people.AddTenant(ctx, "acme")); err != nil {
		t.Fatal(err)
	}
	session := NewSession("jo", now)
	_, answer, err := acme.Begin(ctx, session, true, Message{Text: "what is secret?\x00\xff"})
	fileErr := acme.AddFile(ctx, File{ID: "f", UserID: "jo", Created: now, Used: now}, []byte{0, 255})
	if err := errors.Join(err, fileErr); err != nil {
		t.Fatal(err)
	}
	if messages, err := acme.Messages(ctx, session.ID); err != nil || len(messages) != 2 || messages[0].Text != "what is secret?\uFFFD\uFFFD" {
		t.Errorf("%+v, %v", messages, err)
	}
	if _, err := other.Session(ctx, session.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant's session: %v", err)
	}
	if messages, err := other.Messages(ctx, session.ID); err != nil || len(messages) > 0 {
		t.Errorf("another tenant's messages: %v, %v", messages, err)
	}
	if _, _, err := other.Begin(ctx, session, false, Message{Text: "?"}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a question in another tenant's session: %v", err)
	}
	_, _, _, fileErr = other.FileData(ctx, "jo", "f")
	if _, err := other.File(ctx, "jo", "f"); !errors.Is(err, ErrNotFound) || !errors.Is(fileErr, ErrNotFound) {
		t.Errorf("another tenant's file: %v, %v", err, fileErr)
	}
	if sessions, _, err := other.Sessions(ctx, "jo", time.Time{}, 9); err != nil || len(sessions) > 0 {
		t.Errorf("another tenant's sessions: %v, %v", sessions, err)
	}
	if err := errors.Join(other.Rename(ctx, session.ID, "x"), other.Stop(ctx, session.ID), other.RemoveAll(ctx, "jo"),
		other.Finish(ctx, session.ID, Message{ID: answer, Text: "x"}), other.Remove(ctx, session.ID)); err != nil {
		t.Fatal(err)
	}
	stopped, err := acme.Stopped(ctx, session.ID, answer)
	if kept, sessionErr := acme.Session(ctx, session.ID); err != nil || sessionErr != nil || stopped || kept.Name == "x" {
		t.Errorf("another tenant changed %+v (%v, %v)", kept, err, sessionErr)
	}
	if messages, err := acme.Messages(ctx, session.ID); err != nil || len(messages) != 2 || messages[1].Text != "" {
		t.Errorf("another tenant changed %+v (%v)", messages, err)
	}
	if err := people.RemoveTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	if n, err := acme.Count(ctx); err != nil || n != 0 {
		t.Errorf("%d sessions of a removed tenant, %v", n, err)
	}
	if _, _, _, err := acme.FileData(ctx, "jo", "f"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a file of a removed tenant: %v", err)
	}
}
