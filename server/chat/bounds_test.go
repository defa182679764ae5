package chat

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"quarry/internal/text"
)

// TestDefaultBounds: a store and the sessions in memory have the bounds that docs/serving.md states.
func TestDefaultBounds(t *testing.T) {
	t.Parallel()
	store, err := openAnywhere(t, "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	docs, err := os.ReadFile("../../docs/serving.md")
	if err != nil {
		t.Fatal(err)
	}
	l := store.limits
	for what, bound := range map[string][2]int{"conversations": {l.sessions, l.chatBytes},
		"messages per conversation": {l.messages, l.sessionBytes}, "uploaded files": {l.files, l.fileBytes}} {
		row := fmt.Sprintf("| %s; their total size | %s; %d MB |", what, text.Number(bound[0]), bound[1]>>20)
		if !strings.Contains(string(docs), row) {
			t.Errorf("docs/serving.md does not have %q", row)
		}
	}
}

// TestASessionIsBounded in messages, wherever it is kept, and in bytes.
func TestASessionIsBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	store, err := openAnywhere(t, "", clock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	all := NewIncognito(clock, nil)
	defer all.Close()
	const most = 40
	secret := all.Of("acme")
	if secret.limits.messages != store.limits.messages {
		t.Errorf("in memory a session has %d messages, stored %d", secret.limits.messages, store.limits.messages)
	}
	store.limits.messages, secret.limits.messages, store.limits.sessionBytes = most, most, 1<<20
	for name, keeper := range map[string]*Store{"stored": store, "incognito": secret} {
		session := NewSession("jo", now)
		for i := range most / 2 {
			if _, _, err := keeper.Begin(t.Context(), session, i == 0, Message{Text: "?"}); err != nil {
				t.Fatalf("%s: question %d: %v", name, i, err)
			}
		}
		if _, _, err := keeper.Begin(t.Context(), session, false, Message{Text: "?"}); !errors.Is(err, ErrFull) {
			t.Errorf("%s: one question more: %v", name, err)
		}
		session, long := NewSession("jo", now), strings.Repeat("x", store.limits.sessionBytes/3)
		var answer int
		for i := range 2 {
			if _, answer, err = keeper.Begin(t.Context(), session, i == 0, Message{Text: long}); err != nil {
				t.Fatal(err)
			}
		}
		if err := keeper.Finish(t.Context(), session.ID, Message{ID: answer, Text: strings.Repeat("x", incognitoSession)}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := keeper.Begin(t.Context(), session, false, Message{Text: "?"}); !errors.Is(err, ErrFull) {
			t.Errorf("%s: after a long answer: %v", name, err)
		}
		if _, _, err := keeper.Begin(t.Context(), NewSession("jo", now), false, Message{Text: "?"}); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: a session that is gone: %v", name, err)
		}
	}
}

// TestBytesOfAPersonAreBounded: the sessions used longest ago go, and nobody else's.
func TestBytesOfAPersonAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	store, err := openAnywhere(t, "", func() time.Time { now = now.Add(time.Second); return now })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	begin := func(user string) Session {
		session := NewSession(user, now)
		if _, _, err := store.Begin(t.Context(), session, true, Message{Text: "?"}); err != nil {
			t.Fatal(err)
		}
		return session
	}
	kim, first, second := begin("kim"), begin("jo"), begin("jo")
	if err := store.db.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), "UPDATE sessions SET bytes = ? WHERE id <> ?", store.limits.chatBytes/2+1, second.ID)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	third := begin("jo")
	for _, step := range []struct{ bytes, left int }{{store.limits.chatBytes/2 - 1, 4}, {store.limits.chatBytes / 2, 3}} {
		if err := store.db.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "UPDATE sessions SET bytes = ? WHERE id = ?", step.bytes, second.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := store.Begin(t.Context(), third, false, Message{Text: "?"}); err != nil {
			t.Fatal(err)
		}
		if n, err := store.Count(t.Context()); err != nil || n != step.left {
			t.Errorf("%d bytes leave %d sessions (%v)", step.bytes, n, err)
		}
	}
	for id, want := range map[string]error{kim.ID: nil, first.ID: ErrNotFound, second.ID: nil, third.ID: nil} {
		if _, err := store.Session(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}
