package ingest

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

// hashes returns the stored hashes by the ids, and whether they are those of the documents.
func (l *library) hashes() (hashes map[string]string, complete bool) {
	l.t.Helper()
	hashes, err := Hashes(l.t.Context(), l.idx, "")
	must(l.t, err)
	names, err := LoadNames(l.t.Context(), l.idx)
	must(l.t, err)
	complete = len(hashes) == len(l.idx.documents)
	for id := range l.idx.documents {
		complete = complete && hashes[id] == names.Hash(id)
	}
	return hashes, complete
}

// TestHashesFollowDocuments: they are those of the public ids, also when a root gets another name, a folder replaces roots,
// and files go.
func TestHashesFollowDocuments(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/b/x.md": "x", "a/y.md": "y", "a/z.jsonl": line("posted", "z")})
	for _, step := range []struct {
		name   string
		change func()
		ids    []string
	}{
		{"a root", func() { l.add(Options{}, "a/b") }, []string{"b/x.md"}},
		{"the folder around it", func() { l.add(Options{}, "a") }, []string{"a/b/x.md", "a/y.md", "posted"}},
		{"another name", func() { l.add(Options{Name: "zoo"}, "a") }, []string{"zoo/b/x.md", "zoo/y.md", "posted"}},
		{"a renamed file", func() { must(t, l.rename("a/y.md", "a/w.md")); l.sync() }, []string{"zoo/b/x.md", "zoo/w.md", "posted"}},
		{"a root inside", func() { l.add(Options{Set: "S"}, "a/b") }, []string{"b/x.md", "zoo/w.md", "posted"}},
		{"a removed root", func() { l.remove(wire.RemoveRequest{Refs: []string{l.path("a/b")}}) }, []string{"zoo/w.md", "posted"}},
		{"another one", func() { l.remove(wire.RemoveRequest{Refs: []string{l.path("a")}}) }, nil},
	} {
		step.change()
		hashes, complete := l.hashes()
		for _, id := range step.ids {
			if !slices.Contains(slices.Collect(maps.Values(hashes)), wire.HashID(id)) {
				t.Errorf("%s: %s has no hash in %v", step.name, id, hashes)
			}
		}
		if !complete || len(hashes) != len(step.ids) {
			t.Errorf("%s: %v of %d documents", step.name, hashes, len(l.idx.documents))
		}
	}
	if len(l.idx.cursors) > 0 {
		t.Errorf("left %v", l.idx.cursors)
	}
}

// TestHashesOfOlderLibraries breaks off the completion of a library without hashes at each of its writes, and goes on.
func TestHashesOfOlderLibraries(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/x.md": "x"})
	l.add(Options{}, "a")
	for i := range 2*hashesAtOnce + 5 {
		_, err := l.idx.Write(t.Context(), index.Batch{Upsert: []index.Document{{ID: "posted-" + strconv.Itoa(i), Source: "web", Title: "T", Type: "md",
			Chunks: []index.Chunk{{Text: "text"}}}}})
		must(t, err)
	}
	for key := range l.idx.cursors {
		if strings.HasPrefix(key, hashPrefix) || key == hashesKey {
			delete(l.idx.cursors, key)
		}
	}
	crash, writes := errors.New("power cut"), 0
	for stop := 1; ; stop++ {
		writes = 0
		l.idx.beforeWrite = func(index.Batch) error {
			if writes++; writes > 1 { // one more each time
				return crash
			}
			return nil
		}
		err := CompleteHashes(t.Context(), l.idx)
		if _, complete := l.hashes(); complete != (err == nil) {
			t.Fatalf("stop %d: %v, complete: %v", stop, err, complete)
		}
		if err == nil {
			if stop != 3 {
				t.Errorf("it took %d attempts", stop)
			}
			break
		}
		if !errors.Is(err, crash) || stop > 5 {
			t.Fatal(err)
		}
	}
	writes = 1 // no other
	must(t, CompleteHashes(t.Context(), l.idx))
}
