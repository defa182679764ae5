package chat

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"quarry/client/wire"
)

func TestStoreKeepsSessions(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tenants", "default", "chats.db")
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	open := func() *Store {
		store, err := openAnywhere(t, path, clock)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	session := NewSession("jo", clock())
	session.PersonaID = 7
	if err := store.Add(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := store.Add(t.Context(), session); !errors.Is(err, ErrExists) {
		t.Error(err)
	}
	parent, answers := 0, []int{}
	for _, question := range []string{"one", "two"} {
		asked, answered, err := store.Begin(t.Context(), session, false, Message{Parent: parent, Text: question})
		if err != nil || answered <= asked {
			t.Fatal(asked, answered, err)
		}
		err = store.Finish(t.Context(), session.ID, Message{ID: answered, Text: "yes", Citations: map[string]string{"1": "d"},
			Documents: []wire.SearchDoc{{DocumentID: "d"}}, Took: time.Second, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		parent = answered
		answers = append(answers, answered)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = open()
	defer func() { _ = store.Close() }()
	kept, err := store.Session(t.Context(), session.ID)
	if err != nil || kept.Name != "one" || kept.UserID != "jo" || kept.PersonaID != 7 || !kept.Updated.After(kept.Created) {
		t.Errorf("%+v, %v", kept, err)
	}
	messages, err := store.Messages(t.Context(), session.ID)
	if err != nil || len(messages) != 4 || messages[1].Citations["1"] != "d" || messages[3].Documents[0].DocumentID != "d" ||
		messages[1].Took != time.Second {
		t.Errorf("%+v, %v", messages, err)
	}
	for last, want := range map[int]int{wire.LatestMessage: 4, 0: 0, answers[0]: 2} {
		if thread, err := Thread(messages, last); err != nil || len(thread) != want {
			t.Errorf("%d: %+v, %v", last, thread, err)
		}
	}
	if _, err := Thread(messages, 999); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := store.Session(t.Context(), "x"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if list, more, err := store.Sessions(t.Context(), "kim", time.Time{}, 10); err != nil || len(list) != 0 || more {
		t.Errorf("%+v, %t, %v", list, more, err)
	}
}

// Of many sessions of one person those stay that were used last; other people's stay whatever happens.
// TestChangesCreateNoStore: the tenant of an answer may have been removed while it was written.
func TestChangesCreateNoStore(t *testing.T) {
	t.Parallel()
	empty, err := Open(t.Context(), "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = empty.Close() }()
	store := Lazy("", func(_ context.Context, create bool) (*Store, error) {
		if create {
			return nil, errors.New("it was created again")
		}
		return empty, nil
	}, time.Now)
	_, err = store.File(t.Context(), "jo", "f")
	if !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if err := errors.Join(store.Finish(t.Context(), "s", Message{ID: 1}), store.Rename(t.Context(), "s", "x"), store.Stop(t.Context(), "s")); err != nil {
		t.Error(err)
	}
}

func TestOldSessionsGo(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(time.Second); return now }
	store, err := openAnywhere(t, "", clock)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	begin := func(user string) Session {
		session := NewSession(user, clock())
		if _, _, err := store.Begin(t.Context(), session, true, Message{Text: "one"}); err != nil {
			t.Fatal(err)
		}
		return session
	}
	const most = 20
	store.limits.sessions = most
	other, first, second := begin("kim"), begin("jo"), begin("jo")
	for range most - 2 {
		begin("jo")
	}
	if _, _, err := store.Begin(t.Context(), first, false, Message{Text: "again"}); err != nil { // so that it is not the oldest any more
		t.Fatal(err)
	}
	begin("jo")
	for id, want := range map[string]error{other.ID: nil, first.ID: nil, second.ID: ErrNotFound} {
		if _, err := store.Session(t.Context(), id); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
	if messages, err := store.Messages(t.Context(), second.ID); err != nil || len(messages) > 0 {
		t.Errorf("what was said stays: %+v, %v", messages, err)
	}
	if list, more, err := store.Sessions(t.Context(), "jo", time.Time{}, 2*most); err != nil ||
		len(list) != most || more {
		t.Errorf("%d, %t, %v", len(list), more, err)
	}
}

// Both kinds of keepers do the same with a session, but for how long they keep it.
func TestKeepersStop(t *testing.T) {
	t.Parallel()
	store, err := openAnywhere(t, "", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	for name, keeper := range map[string]*Store{"stored": store, "incognito": NewIncognito(time.Now, nil).Of("acme")} {
		session := NewSession("jo", time.Now())
		asked := func(isNew bool) int {
			_, answer, err := keeper.Begin(t.Context(), session, isNew, Message{Text: "?"})
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		first := asked(true)
		if stopped, err := keeper.Stopped(t.Context(), session.ID, first); stopped || err != nil {
			t.Errorf("%s: stopped before anybody asked for it, %v", name, err)
		}
		if err := keeper.Stop(t.Context(), session.ID); err != nil {
			t.Fatal(err)
		}
		next := asked(false)
		for answer, want := range map[int]bool{first: true, next: false} {
			if stopped, err := keeper.Stopped(t.Context(), session.ID, answer); stopped != want || err != nil {
				t.Errorf("%s: %t, %v; want %t", name, stopped, err, want)
			}
		}
		if _, err := keeper.Stopped(t.Context(), "gone", next); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        "New chat",
		" \n\x1b ":                "New chat",
		"\"Rolling back.\"\nmore": "Rolling back",
		"**Deploys**":             "Deploys",
		"how do we roll back a deploy of the payment service on a Friday night?": "how do we roll back a deploy of the payment service on a…",
	} {
		if got := FirstWords(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
