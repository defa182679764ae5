package chat

import (
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
		store, err := Open(t.Context(), path, clock)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	store := open()
	session, err := store.NewSession(t.Context(), "jo", 7, "")
	if err != nil {
		t.Fatal(err)
	}
	parent, answers := 0, []int{}
	for _, question := range []string{"one", "two"} {
		asked, answered, err := store.Begin(t.Context(), session, false, parent, question)
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
	if err != nil || kept.UserID != "jo" || kept.PersonaID != 7 || !kept.Updated.After(kept.Created) {
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
