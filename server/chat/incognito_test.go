package chat

import (
	"errors"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

// countOf counts what is stored, of all tenants.
func countOf(t *testing.T, all *Incognito) (sessions, bytes int) {
	t.Helper()
	row := all.store.db.Pool().QueryRowContext(t.Context(), "SELECT count(*), coalesce(sum(bytes), 0) FROM sessions")
	if err := row.Scan(&sessions, &bytes); err != nil {
		t.Fatal(err)
	}
	return sessions, bytes
}

func TestIncognitoSessions(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	all := NewIncognito(func() time.Time { return now }, nil)
	defer all.Close()
	keeper := all.Of("acme")
	begin := func(user string) Session {
		now = now.Add(time.Second)
		session := NewSession(user, now)
		_, answer, err := keeper.Begin(t.Context(), session, true, Message{Text: "one"})
		if err == nil {
			err = keeper.Finish(t.Context(), session.ID, Message{ID: answer, Text: "yes", Documents: []wire.SearchDoc{{DocumentID: "d"}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return session
	}
	first := begin("jo")
	kept, err := keeper.Session(t.Context(), first.ID)
	if err != nil || !kept.Incognito || kept.UserID != "jo" || kept.Name != "one" {
		t.Errorf("%+v, %v", kept, err)
	}
	messages, err := keeper.Messages(t.Context(), first.ID)
	if err != nil || len(messages) != 2 || messages[1].Text != "yes" || messages[1].Parent != messages[0].ID ||
		messages[1].Type != TypeAssistant || len(messages[1].Documents) != 1 {
		t.Errorf("%+v, %v", messages, err)
	}
	if err := keeper.Rename(t.Context(), first.ID, "Mine"); err != nil {
		t.Error(err)
	}
	if err := keeper.Add(t.Context(), first); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	if _, err := all.Of("other").Session(t.Context(), first.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another tenant's: %v", err)
	}

	other := begin("kim")
	for range MostIncognito {
		begin("jo")
	}
	for id, want := range map[string]error{other.ID: nil, first.ID: ErrNotFound} {
		if _, err := keeper.Session(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	now = now.Add(IncognitoIdle)
	if _, err := keeper.Session(t.Context(), other.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("an idle one: %v", err)
	}
	if err := keeper.Finish(t.Context(), other.ID, Message{}); err != nil {
		t.Errorf("an answer to a forgotten session: %v", err)
	}
	begin("jo")
	if n, _ := countOf(t, all); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}

// What is said incognito takes a bounded part of the memory.
func TestIncognitoMemory(t *testing.T) {
	t.Parallel()
	all := NewIncognito(time.Now, nil)
	defer all.Close()
	long := strings.Repeat("x", 3<<20)
	for range 30 {
		session := NewSession("user"+NewSession("", time.Now()).ID, time.Now())
		if _, _, err := all.Of("acme").Begin(t.Context(), session, true, Message{Text: long}); err != nil {
			t.Fatal(err)
		}
		if _, err := all.Of("acme").Session(t.Context(), session.ID); err != nil {
			t.Errorf("the latest is gone: %v", err)
		}
	}
	if n, bytes := countOf(t, all); bytes > incognitoMemory || n < 2 {
		t.Errorf("%d sessions of %d bytes", n, bytes)
	}
}

// TestOnePersonsIncognito leaves those of others alone, however much is said in it.
func TestOnePersonsIncognito(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	all := NewIncognito(func() time.Time { now = now.Add(time.Millisecond); return now }, nil)
	defer all.Close()
	keeper := all.Of("acme")
	kim, long := NewSession("kim", now), strings.Repeat("x", 3<<20)
	if _, _, err := keeper.Begin(t.Context(), kim, true, Message{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	for range 30 {
		if _, _, err := keeper.Begin(t.Context(), NewSession("jo", now), true, Message{Text: long}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := keeper.Session(t.Context(), kim.ID); err != nil {
		t.Errorf("another person's is gone: %v", err)
	}
	if n, bytes := countOf(t, all); bytes > incognitoPerson+len("one") || n < 3 {
		t.Errorf("%d sessions of %d bytes", n, bytes)
	}
}
