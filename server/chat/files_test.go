package chat

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"quarry/client/wire"
)

func TestFilesAreTheirUsers(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	path := filepath.Join(t.TempDir(), "chats.db")
	s, err := openAnywhere(t, path, clock)
	if err != nil {
		t.Fatal(err)
	}
	file := File{ID: "f1", UserID: "jo", Name: "notes.md", Media: "text/markdown", Type: wire.ChatFileText, Text: "Notes", Tokens: 2,
		Created: now, Used: now}
	if err := s.AddFile(t.Context(), file, []byte("\xef\xbb\xbfNotes")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	if s, err = openAnywhere(t, path, clock); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := s.File(t.Context(), "jo", "f1")
	if file.Used = now; err != nil || got != file {
		t.Errorf("%+v, %v", got, err)
	}
	if name, media, data, err := s.FileData(t.Context(), "jo", "f1"); err != nil || name != "notes.md" ||
		media != "text/markdown" || string(data) != "\xef\xbb\xbfNotes" {
		t.Errorf("%s %s %q %v", name, media, data, err)
	}
	for user, id := range map[string]string{"kim": "f1", "jo": "f2"} {
		_, err := s.File(t.Context(), user, id)
		_, _, _, dataErr := s.FileData(t.Context(), user, id)
		if !errors.Is(err, ErrNotFound) || !errors.Is(dataErr, ErrNotFound) {
			t.Errorf("%s gets %s: %v, %v", user, id, err, dataErr)
		}
	}
}

// TestFilesAreBounded: with one more than there is room for, the one that was used longest ago goes, and none of anybody
// else's.
func TestFilesAreBounded(t *testing.T) {
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := openMemory(t, func() time.Time { return now })
	s.limits.files, s.limits.fileBytes = 20, 10_000
	add := func(user, id string, bytesOf int) {
		t.Helper()
		now = now.Add(time.Second)
		if err := s.AddFile(t.Context(), File{ID: id, UserID: user, Created: now, Used: now}, bytes.Repeat([]byte("x"), bytesOf)); err != nil {
			t.Fatal(err)
		}
	}
	has := func(user, id string) bool {
		_, _, _, err := s.FileData(t.Context(), user, id)
		return err == nil
	}
	add("kim", "kims", 1)
	for i := range s.limits.files {
		add("jo", strconv.Itoa(i), 1)
	}
	now = now.Add(time.Second)
	if _, err := s.File(t.Context(), "jo", "0"); err != nil { // used again
		t.Fatal(err)
	}
	add("jo", "more", 1)
	if !has("jo", "0") || has("jo", "1") || !has("jo", "2") || !has("jo", "more") || !has("kim", "kims") {
		t.Error("not the one that was used longest ago is gone")
	}
	add("jo", "large", s.limits.fileBytes-1)
	if !has("jo", "large") || !has("jo", "more") || has("jo", "0") || !has("kim", "kims") {
		t.Error("the bound of bytes does not hold")
	}
	add("jo", "larger", s.limits.fileBytes+1)
	if !has("jo", "larger") || has("jo", "large") {
		t.Error("what is uploaded now is gone")
	}
}

func TestFilesOfMessages(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }
	files := []wire.ChatFile{{ID: "f1", Type: wire.ChatFileText, Name: "notes.md", UserFileID: "f1"}}
	for name, keeper := range map[string]*Store{"stored": openMemory(t, now), "incognito": NewIncognito(now, nil).Of("default")} {
		session := NewSession("jo", now())
		if _, _, err := keeper.Begin(t.Context(), session, true, Message{Text: "what do they say?", Files: files}); err != nil {
			t.Fatal(err)
		}
		messages, err := keeper.Messages(t.Context(), session.ID)
		if err != nil || len(messages) != 2 || len(messages[0].Files) != 1 || messages[0].Files[0] != files[0] || len(messages[1].Files) != 0 {
			t.Errorf("%s: %+v, %v", name, messages, err)
		}
	}
}

func openMemory(t *testing.T, now func() time.Time) *Store {
	t.Helper()
	s, err := openAnywhere(t, "", now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
