package chat

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"quarry/internal/testkit/postgrestest"
	"quarry/server/directory"
)

// TestCopy copies the conversations of two tenants, whose messages have the same numbers in their files, twice.
func TestCopy(t *testing.T) {
	ctx, now := t.Context(), time.Now()
	pool := postgrestest.Open(t, t.Name(), false)
	people, err := directory.OpenServer(ctx, pool, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := people.AddTenant(ctx, "acme"); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		for _, tenant := range []string{directory.DefaultTenant, "acme"} {
			from, err := Open(ctx, filepath.Join(t.TempDir(), "chats.db"), time.Now)
			if err != nil {
				t.Fatal(err)
			}
			session := NewSession("jo", now)
			ask, answer, err := from.Begin(ctx, session, true, Message{Text: "how?", Sent: now})
			if err == nil {
				err = from.Finish(ctx, session.ID, Message{ID: answer, Parent: ask, Text: "so", Citations: map[string]string{"1": "doc"}})
			}
			if err != nil {
				t.Fatal(err)
			}
			want, err := from.Messages(ctx, session.ID)
			if err != nil {
				t.Fatal(err)
			}
			to, err := OpenServer(ctx, pool, tenant, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := to.Copied().Replace(ctx, from.Copied()); err != nil {
				t.Fatal(err)
			}
			got, err := to.Messages(ctx, session.ID)
			if err != nil || len(got) != 2 || got[1].Parent != got[0].ID || fmt.Sprint(got[1].Citations, got[1].Text) != fmt.Sprint(want[1].Citations, want[1].Text) {
				t.Errorf("%s: %+v (%v), want %+v", tenant, got, err, want)
			}
			if tenant == directory.DefaultTenant && round == 0 && got[0].ID != want[0].ID {
				t.Errorf("message %d has the number %d", want[0].ID, got[0].ID)
			}
			if _, _, err := to.Begin(ctx, session, false, Message{Parent: got[1].ID, Text: "then?", Sent: now}); err != nil {
				t.Error(err)
			}
		}
	}
}
