package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
	"quarry/server/fault"
	"quarry/server/index"
)

// ownerWorld is a library that is changed at random, and what must hold of it after each change and sync.
type ownerWorld struct {
	*library
	rand *rand.Rand
	step string

	files map[string]map[string]string // texts by id, by path: what is on disk
	roots map[string]bool
	out   map[string]bool // files that were removed by hand
	gone  map[string]bool // ids that were removed by hand
	last  map[string]index.Document
}

var worldFolders = []string{"a", "a/in", "b"}

// TestOwnersProperty adds, changes, synchronises and removes files of several roots beside connectors that post, all of
// which name the same few ids.
func TestOwnersProperty(t *testing.T) {
	const steps = 25
	for seed := range longtest.Rounds(30, 400) {
		w := &ownerWorld{
			library: newLibrary(t, nil), rand: rand.New(rand.NewPCG(uint64(seed), 11)), files: map[string]map[string]string{},
			roots: map[string]bool{}, out: map[string]bool{}, gone: map[string]bool{},
		}
		for _, folder := range worldFolders {
			must(t, os.MkdirAll(w.path(folder), 0o755))
		}
		for n := range steps {
			w.last = maps.Clone(w.idx.documents)
			touched := w.change()
			w.step = fmt.Sprintf("seed %d, step %d: %s", seed, n, w.step)
			w.check(touched, w.sync())
			if t.Failed() {
				return
			}
		}
	}
}

func (w *ownerWorld) pick(from []string) string { return from[w.rand.IntN(len(from))] }

func (w *ownerWorld) names() []string {
	var names []string
	for _, folder := range worldFolders {
		names = append(names, folder+"/x.jsonl", folder+"/y.jsonl", folder+"/h.md")
	}
	return names
}

func (w *ownerWorld) pool() []string {
	return []string{"d1", "d2", "d3", fileID(w.path("a/h.md")), fileID(w.path("b/h.md"))}
}

// change does something at random and returns the ids of documents that may change whoever owns them.
func (w *ownerWorld) change() (touched []string) {
	switch w.rand.IntN(12) {
	case 0, 1, 2:
		w.writeFile(w.pick(w.names()))
	case 3:
		w.moveFile(w.pick(w.names()), w.pick(append(w.names(), "")))
	case 4, 5, 6:
		w.addPath(w.pick(append(w.names(), worldFolders...)))
	case 7:
		w.removePath(w.pick(append(w.names(), worldFolders...)))
	case 8, 9:
		return w.removeIDs()
	case 10:
		id, origin := w.pick(w.pool()), w.pick([]string{"", "cc_pair:1", "cc_pair:2"})
		w.step = fmt.Sprintf("post %s for %q", id, origin)
		err := w.post(id, origin, w.step)
		var owned *index.OwnedError
		if old, stored := w.last[id]; errors.As(err, &owned) != (stored && isFileOrigin(old.Origin)) {
			w.t.Errorf("%s over %+v: %v", w.step, old.Origin, err)
		}
		return []string{id}
	case 11:
		return w.endConnector()
	}
	return nil
}

func (w *ownerWorld) writeFile(name string) {
	w.step = "write " + name
	w.dated = w.dated.Add(time.Second)
	texts := map[string]string{}
	if strings.HasSuffix(name, ".md") {
		texts[fileID(w.path(name))] = fmt.Sprintf("%s %d", name, w.rand.Int())
		w.write(name, texts[fileID(w.path(name))])
	} else {
		var lines strings.Builder
		for range 1 + w.rand.IntN(3) {
			id := w.pick(w.pool())
			texts[id] = fmt.Sprintf("%s %s %d", name, id, w.rand.Int())
			lines.WriteString(line(id, texts[id]))
		}
		w.write(name, lines.String())
	}
	w.files[w.path(name)] = texts
}

// moveFile renames a file, or deletes it if there is no new name.
func (w *ownerWorld) moveFile(from, to string) {
	w.step = "move " + from + " to " + to
	texts, exists := w.files[w.path(from)]
	if !exists || from == to || strings.HasSuffix(from, ".md") != strings.HasSuffix(to, ".md") && to != "" {
		return
	}
	delete(w.files, w.path(from))
	if to == "" {
		must(w.t, os.Remove(w.path(from)))
		return
	}
	must(w.t, os.Rename(w.path(from), w.path(to)))
	if strings.HasSuffix(to, ".md") {
		texts = map[string]string{fileID(w.path(to)): texts[fileID(w.path(from))]}
	}
	w.files[w.path(to)] = texts
}

func (w *ownerWorld) addPath(name string) {
	options := Options{Set: w.pick([]string{"", "", "S"})}
	w.step = fmt.Sprintf("add %s to %q", name, options.Set)
	path := w.path(name)
	if _, err := os.Stat(path); err != nil {
		return
	}
	w.add(options, name)
	roots := libraryIndex{context.Background(), w.idx}.loadRoots()
	w.roots = map[string]bool{}
	for root := range roots {
		w.roots[root] = true
	}
	for file, texts := range w.files {
		if within(path, file) && (owner(roots, file) == path || owner(roots, path) == owner(roots, file)) {
			delete(w.out, file)
			for id := range texts {
				delete(w.gone, id)
			}
		}
	}
}

func (w *ownerWorld) removePath(name string) {
	w.step = "remove " + name
	path := w.path(name)
	if _, err := Remove(context.Background(), w.idx, wire.RemoveRequest{Refs: []string{path}}, Local{}, nil); err != nil {
		if !errors.Is(err, fault.ErrNotFound) {
			w.t.Errorf("%s: %v", w.step, err)
		}
		return
	}
	maps.DeleteFunc(w.roots, func(root string, _ bool) bool { return within(path, root) })
	for file := range w.files {
		if within(path, file) {
			w.out[file] = w.root(file) != ""
		}
	}
	if len(w.roots) == 0 {
		clear(w.gone)
	}
}

// removeIDs removes by an id, or by the source that all of the lines and posted documents have.
func (w *ownerWorld) removeIDs() (touched []string) {
	request := wire.RemoveRequest{Source: "slack"}
	if w.rand.IntN(3) > 0 {
		request = wire.RemoveRequest{Refs: []string{w.pick(w.pool())}}
	}
	w.step = fmt.Sprintf("remove %+v", request)
	if _, err := Remove(context.Background(), w.idx, request, Local{}, nil); err != nil {
		if len(request.Refs) > 0 && ofConnector(w.last[request.Refs[0]].Origin) == errors.Is(err, fault.ErrNotFound) {
			w.t.Errorf("%s: %v", w.step, err)
		}
		return nil
	}
	for id, doc := range w.last {
		if !slices.Contains(request.Refs, id) && doc.Source != request.Source || ofConnector(doc.Origin) {
			continue
		}
		touched = append(touched, id)
		if strings.HasSuffix(doc.Origin, ".md") {
			w.out[doc.Origin] = true
		} else if doc.Origin != "" || w.held(id) {
			w.gone[id] = true
		}
	}
	return touched
}

// held reports whether a file that is part of the library holds a document.
func (w *ownerWorld) held(id string) bool {
	for file := range w.files {
		if w.claims(file, id) {
			return true
		}
	}
	return false
}

func (w *ownerWorld) endConnector() (touched []string) {
	origin := w.pick([]string{"cc_pair:1", "cc_pair:2"})
	w.step = "end " + origin
	for id, doc := range w.last {
		if doc.Origin == origin {
			touched = append(touched, id)
		}
	}
	_, err := w.idx.Write(context.Background(), index.Batch{Delete: touched, Cursors: RefillCursors()})
	must(w.t, err)
	return touched
}

func (w *ownerWorld) root(file string) string {
	best := ""
	for root := range w.roots {
		if within(root, file) && (best == "" || len(root) < len(best)) {
			best = root
		}
	}
	return best
}

// claims reports whether a file that is part of the library holds a document.
func (w *ownerWorld) claims(file, id string) bool {
	_, holds := w.files[file][id]
	return holds && !w.gone[id] && !w.out[file] && w.root(file) != ""
}

func (w *ownerWorld) check(touched []string, done wire.LibraryEvent) {
	t := w.t
	for file := range w.out { // a file that is gone is forgotten
		if w.files[file] == nil {
			delete(w.out, file)
		}
	}
	stored := w.idx.documents
	for id, before := range w.last {
		after, kept := stored[id]
		switch {
		case slices.Contains(touched, id):
		case !isFileOrigin(before.Origin):
			if !kept || !reflect.DeepEqual(before, after) {
				t.Errorf("%s: %s of %q became %+v", w.step, id, before.Origin, after)
			}
		case w.claims(before.Origin, id) && w.root(after.Origin) != w.root(before.Origin):
			t.Errorf("%s: %s moved from %s to %q", w.step, id, before.Origin, after.Origin)
		}
	}
	for id, doc := range stored {
		if !isFileOrigin(doc.Origin) {
			continue
		}
		text := w.files[doc.Origin][id]
		if !w.claims(doc.Origin, id) || !strings.Contains(doc.Chunks[0].Text, text) {
			t.Errorf("%s: %s of %s is stored with %q; the file has %q", w.step, id, doc.Origin, doc.Chunks[0].Text, text)
		}
	}
	skipped := w.events.skipped()
	for file, texts := range w.files {
		for id, text := range texts {
			doc, exists := stored[id]
			if !w.claims(file, id) {
				continue
			}
			if !exists {
				t.Errorf("%s: %s of %s is lost", w.step, id, file)
			}
			if foreign := w.root(doc.Origin) != w.root(file); exists && foreign && skipped[file] == "" {
				t.Errorf("%s: %s of %s belongs to %q, but no reason is given: %v", w.step, id, file, doc.Origin, skipped)
			}
			wrote := strings.HasSuffix(file, strings.TrimPrefix(w.step[strings.LastIndex(w.step, ":")+1:], " write "))
			if strings.Contains(w.step, ": write ") && wrote && w.root(doc.Origin) == w.root(file) && !strings.Contains(doc.Chunks[0].Text, text) {
				t.Errorf("%s: %s has %q of another file", w.step, id, doc.Chunks[0].Text)
			}
		}
	}
	w.idx.batches = nil
	again := w.sync()
	if again.Added+again.Updated+again.Removed > 0 || again.Skipped > done.Skipped {
		t.Errorf("%s: the second sync did %+v after %+v", w.step, again, done)
	}
	for _, batch := range w.idx.batches {
		if len(batch.Upsert)+len(batch.Delete) > 0 {
			t.Errorf("%s: the second sync wrote %+v", w.step, batch)
		}
	}
}
