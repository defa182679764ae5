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

// hashes returns the hashes of documents by their ids, and whether they are stored, and no others.
func (l *library) hashes() (hashes map[string]string, complete bool) {
	l.t.Helper()
	names, err := LoadNames(l.t.Context(), l.idx)
	must(l.t, err)
	hashes = map[string]string{}
	for id := range l.idx.documents {
		found, err := names.Hashes(l.t.Context(), l.idx, names.Hash(id)[:wire.ShortestID])
		must(l.t, err)
		maps.Copy(hashes, found)
	}
	return hashes, len(hashes) == len(l.idx.documents) && len(hashes) == len(l.idx.hashes)
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

// TestHashesOfOlderLibraries breaks off the conversion of a library with the hashes of an earlier version at each of its
// writes, and goes on.
func TestHashesOfOlderLibraries(t *testing.T) {
	l := newLibrary(t, map[string]string{"a/x.md": "x"})
	l.add(Options{}, "a")
	l.idx.hashes = map[string]uint32{}
	for i := range 2*removedAtOnce + 5 {
		l.idx.cursors[hashPrefix+strconv.Itoa(i)] = "file:" + l.path("a/x.md")
	}
	l.idx.cursors[HashesKey] = wire.HashID("=")
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
		if err == nil {
			if stop != 4 {
				t.Errorf("it took %d attempts", stop)
			}
			break
		}
		if !errors.Is(err, crash) || stop > 5 {
			t.Fatal(err)
		}
	}
	if _, complete := l.hashes(); !complete {
		t.Error("the document has no hash")
	}
	for key := range l.idx.cursors {
		if strings.HasPrefix(key, hashPrefix) {
			t.Fatalf("left %s", key)
		}
	}
	writes = 1 // no other
	must(t, CompleteHashes(t.Context(), l.idx))
}
