package indextest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/server/index"
	"quarry/server/language"
)

// Run holds an engine to the behaviour that package index describes. open returns a new, empty index; the suite closes it.
// params are the constants of the engine's ranking.
func Run(t *testing.T, params Params, open func(t *testing.T) index.Index) {
	for name, test := range map[string]func(*testing.T, *library){
		"questions":    testQuestions,
		"written":      testWritten,
		"owners":       testOwners,
		"access":       testAccess,
		"snapshots":    testSnapshots,
		"documents":    testDocuments,
		"document ids": testDocumentIDs,
		"cursors":      testCursors,
		"hashes":       testHashes,
		"version":      testVersion,
		"vectors":      testVectors,
		"first":        testFirstVectors,
		"cancelled":    testCancelled,
		"languages":    testLanguages,
		"empty":        testEmpty,
	} {
		t.Run(name, func(t *testing.T) {
			idx := open(t)
			t.Cleanup(func() {
				if err := idx.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, &library{Index: idx, params: params, stored: make(map[string]index.Document)})
		})
	}
}

// library is an index with what must be in it.
type library struct {
	index.Index
	params Params
	stored map[string]index.Document
}

var everything = index.Access{All: true}

// write changes the index and what must be in it.
func (l *library) write(t *testing.T, batch index.Batch) index.Written {
	t.Helper()
	written, err := l.Write(context.Background(), batch)
	if err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, id := range batch.Delete {
		delete(l.stored, id)
	}
	for _, d := range batch.Upsert {
		l.stored[d.ID] = d
	}
	return written
}

func (l *library) snapshot(t *testing.T) index.Snapshot {
	t.Helper()
	s, err := l.Snapshot(context.Background())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	t.Cleanup(s.Close)
	return s
}

func (l *library) oracle() *Oracle {
	return NewOracle(slices.Collect(maps.Values(l.stored)), l.params)
}

// testQuestions changes the library at random and asks after each change.
func testQuestions(t *testing.T, l *library) {
	w := NewWorld(11)
	for range 12 {
		var batch index.Batch
		for range w.random.IntN(25) {
			d := w.Document(w.random.IntN(60))
			if !slices.ContainsFunc(batch.Upsert, func(other index.Document) bool { return other.ID == d.ID }) {
				batch.Upsert = append(batch.Upsert, d)
			}
		}
		for range w.random.IntN(6) {
			id := fmt.Sprintf("doc:%04d", w.random.IntN(60))
			if !slices.ContainsFunc(batch.Upsert, func(d index.Document) bool { return d.ID == id }) {
				batch.Delete = append(batch.Delete, id)
			}
		}
		l.write(t, batch)
		s := l.snapshot(t)
		ask(t, l.oracle(), s, w, 25)
		s.Close() // a server has room for few
	}
}

// testLanguages asks for a form of a word in the second half of a document in two languages.
func testLanguages(t *testing.T, l *library) {
	l.write(t, index.Batch{Upsert: []index.Document{{ID: "both", Title: "Contract", Chunks: []index.Chunk{
		{Text: "The contracts of the old houses are in the archive, and we have not seen any of them for years."},
		{Text: "Die Verträge der alten Häuser liegen im Archiv, und wir haben sie seit Jahren nicht mehr gesehen."},
	}}}})
	s := l.snapshot(t)
	for query, want := range map[string]string{"Vertrag": "1 Verträge", "Häusern": "1 Häuser", "house": "0 houses"} {
		result, err := s.Search(context.Background(), index.Query{Text: query, Filter: index.Filter{Access: everything}, Limit: 9})
		if err != nil || len(result.Hits) == 0 || len(result.Missing)+len(result.Corrections) > 0 {
			t.Errorf("%s: %+v (%v)", query, result, err)
			continue
		}
		hit, chunks := result.Hits[0], l.stored["both"].Chunks
		text := chunks[hit.Chunk].Text
		marks, _ := result.Highlighter.Highlight(text, index.InLanguage(language.OfChunk(text, "en", len(chunks))), [2]int{0, len(text)})
		got := fmt.Sprint(hit.Chunk)
		for _, at := range marks {
			got += " " + text[at[0]:at[1]]
		}
		if got != want {
			t.Errorf("%s: chunk and marks %q, want %q", query, got, want)
		}
	}
	ask(t, l.oracle(), s, NewWorld(19), 10)
}

func testWritten(t *testing.T, l *library) {
	w := NewWorld(12)
	a, b := w.Document(1), w.Document(2)
	changed := a
	changed.Title = "another title altogether"
	for _, step := range []struct {
		batch index.Batch
		want  index.Written
	}{
		{index.Batch{Upsert: []index.Document{a, b}}, index.Written{Added: 2}},
		{index.Batch{Upsert: []index.Document{a, b}}, index.Written{Unchanged: 2}},
		{index.Batch{Upsert: []index.Document{changed, b}}, index.Written{Updated: 1, Unchanged: 1}},
		{index.Batch{Delete: []string{b.ID, "doc:nowhere"}}, index.Written{Removed: 1}},
		{index.Batch{Upsert: []index.Document{b}, Delete: []string{a.ID}}, index.Written{Added: 1, Removed: 1}},
		{index.Batch{}, index.Written{}},
	} {
		dry := step.batch
		dry.DryRun, dry.Cursors = true, map[string]string{"dry": "run"}
		counted, err := l.Write(context.Background(), dry)
		if got := l.write(t, step.batch); got != step.want || counted != step.want || err != nil {
			t.Errorf("%d upserts, %d deletes: %+v, in a dry run %+v (%v), want %+v", len(step.batch.Upsert), len(step.batch.Delete), got,
				counted, err, step.want)
		}
	}
	if cursors, err := l.Cursors(context.Background(), "dry"); err != nil || len(cursors) > 0 {
		t.Errorf("dry runs stored %v (%v)", cursors, err)
	}
	ask(t, l.oracle(), l.snapshot(t), w, 10)
}

// testOwners writes batches that may touch the documents of some origins only.
func testOwners(t *testing.T, l *library) {
	w := NewWorld(18)
	at := func(n int, origin string) index.Document {
		d := w.Document(n)
		d.Origin = origin
		return d
	}
	mine, theirs, posted := at(1, "/mine/1.md"), at(2, "/theirs/2.md"), at(3, "")
	l.write(t, index.Batch{Upsert: []index.Document{mine, theirs, posted}, Cursors: map[string]string{"c": "1"}})
	owns := func(origin string) bool { return strings.HasPrefix(origin, "/mine/") }

	fresh, same := at(4, "/mine/4.md"), at(2, "/theirs/2.md")
	moved := mine
	moved.Origin, moved.Title = "/mine/other.md", "moved within what is mine"
	for _, dry := range []bool{true, false} {
		_, err := l.Write(context.Background(), index.Batch{Owns: owns, Cursors: map[string]string{"c": "2"}, Delete: []string{mine.ID},
			Upsert: []index.Document{fresh, same, at(3, "/mine/3.md")}, DryRun: dry})
		var owned *index.OwnedError
		if !errors.As(err, &owned) || !maps.Equal(owned.Origins, map[string]string{theirs.ID: theirs.Origin, posted.ID: ""}) {
			t.Fatalf("dry run %v: error %v, %+v", dry, err, owned)
		}
	}
	if cursors, err := l.Cursors(context.Background(), ""); err != nil || cursors["c"] != "1" {
		t.Errorf("a batch that failed changed cursors to %v (%v)", cursors, err)
	}
	ask(t, l.oracle(), l.snapshot(t), w, 5)

	got := l.write(t, index.Batch{Owns: owns, Upsert: []index.Document{fresh, moved}})
	if want := (index.Written{Added: 1, Updated: 1}); got != want {
		t.Errorf("wrote %+v, want %+v", got, want)
	}
	got, err := l.Write(context.Background(), index.Batch{Owns: owns, Delete: []string{moved.ID, theirs.ID, posted.ID}})
	if want := (index.Written{Removed: 1}); got != want || err != nil {
		t.Errorf("deleted %+v, want %+v (%v)", got, want, err)
	}
	delete(l.stored, moved.ID)
	changed, err := l.UpdateAccess(context.Background(), []index.AccessPatch{
		{ID: theirs.ID, Origin: "/theirs/old.md", Access: []string{"group:nobody"}},
		{ID: fresh.ID, Origin: fresh.Origin, Access: []string{"group:nobody"}},
	})
	if err != nil || changed != 1 {
		t.Errorf("changed the access of %d (%v), want 1", changed, err)
	}
	fresh.Access = []string{"group:nobody"}
	l.stored[fresh.ID] = fresh
	ask(t, l.oracle(), l.snapshot(t), w, 10)
	origins, err := l.snapshot(t).Origins(context.Background())
	if want := map[string]int{theirs.Origin: 1, fresh.Origin: 1}; err != nil || !maps.Equal(origins, want) {
		t.Errorf("origins %v (%v), want %v", origins, err, want)
	}
}

func testAccess(t *testing.T, l *library) {
	w := NewWorld(13)
	var batch index.Batch
	for i := range 30 {
		batch.Upsert = append(batch.Upsert, w.Document(i))
	}
	l.write(t, batch)
	hidden := true
	changed, err := l.UpdateAccess(context.Background(), []index.AccessPatch{
		{ID: "doc:0001", Access: []string{"group:infra"}}, {ID: "doc:0002", Sets: []string{"legal", "handbook"}},
		{ID: "doc:0003", Hidden: &hidden}, {ID: "doc:0004", Access: []string{}, Sets: []string{}}, {ID: "doc:nowhere"},
	})
	if err != nil || changed != 4 {
		t.Fatalf("changed %d (%v), want 4", changed, err)
	}
	patch := func(id string, change func(*index.Document)) {
		d := l.stored[id]
		change(&d)
		l.stored[id] = d
	}
	patch("doc:0001", func(d *index.Document) { d.Access = []string{"group:infra"} })
	patch("doc:0002", func(d *index.Document) { d.Sets = []string{"legal", "handbook"} })
	patch("doc:0003", func(d *index.Document) { d.Hidden = true })
	patch("doc:0004", func(d *index.Document) { d.Access, d.Sets = nil, nil })
	ask(t, l.oracle(), l.snapshot(t), w, 40)
}

func testSnapshots(t *testing.T, l *library) {
	w := NewWorld(14)
	type moment struct {
		oracle   *Oracle
		snapshot index.Snapshot
		stored   map[string]index.Document
	}
	var moments []moment
	for range 5 {
		var batch index.Batch
		for i := range 10 {
			if d := w.Document(i); w.random.IntN(3) > 0 {
				batch.Upsert = append(batch.Upsert, d)
			} else {
				batch.Delete = append(batch.Delete, d.ID)
			}
		}
		l.write(t, batch)
		moments = append(moments, moment{l.oracle(), l.snapshot(t), maps.Clone(l.stored)})
	}
	for _, m := range moments {
		ask(t, m.oracle, m.snapshot, w, 10)
		checkDocuments(t, m.snapshot, m.stored, everything)
	}
}

// checkDocuments reads every document and chunk.
func checkDocuments(t *testing.T, s index.Snapshot, stored map[string]index.Document, access index.Access) {
	t.Helper()
	ctx := context.Background()
	var ids []string
	for id := range stored {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	slices.Reverse(ids)
	ids = append(ids, "doc:nowhere")
	got, err := s.Documents(ctx, ids, access)
	if err != nil {
		t.Fatalf("documents: %v", err)
	}
	ranges := make([]index.Range, len(ids))
	for i, id := range ids {
		ranges[i] = index.Range{DocumentID: id, From: i % 3, To: 1000}
	}
	texts, err := s.Texts(ctx, ranges, access)
	if err != nil {
		t.Fatalf("texts: %v", err)
	}
	for i, id := range ids {
		d, ok := stored[id]
		seen := ok && admitted(&document{Document: d}, access)
		chunks, err := Chunks(s, id, 0, 1000, access)
		if want := chunks[min(i%3, len(chunks)):]; fmt.Sprintf("%+v", texts[i]) != fmt.Sprintf("%+v", want) {
			t.Errorf("texts of %s: %+v, want %+v", id, texts[i], want)
		}
		if !seen {
			if err != nil || len(chunks) > 0 {
				t.Errorf("chunks of %s: %v, %v", id, chunks, err)
			}
			continue
		}
		if err != nil || fmt.Sprintf("%+v", chunks) != fmt.Sprintf("%+v", d.Chunks) {
			t.Errorf("chunks of %s: %+v (%v), want %+v", id, chunks, err, d.Chunks)
		}
		if len(got) == 0 || got[0].ID != id {
			t.Fatalf("%s is missing or out of order", id)
		}
		want := d
		want.Chunks = nil
		if a, b := describe(got[0].Document), describe(want); a != b || got[0].ChunkCount != len(d.Chunks) {
			t.Errorf("%s with %d chunks:\n%s, want\n%s with %d", id, got[0].ChunkCount, a, b, len(d.Chunks))
		}
		got = got[1:]
	}
	if len(got) > 0 {
		t.Errorf("%d documents too many, such as %s", len(got), got[0].ID)
	}
}

// Chunks returns chunks from to to of a document, as Texts reads them.
func Chunks(s index.Snapshot, id string, from, to int, access index.Access) ([]index.Chunk, error) {
	texts, err := s.Texts(context.Background(), []index.Range{{DocumentID: id, From: from, To: to}}, access)
	if err != nil {
		return nil, err
	}
	return texts[0], nil
}

// describe writes a document so that empty and missing lists, and times of different zones, look the same.
func describe(d index.Document) string {
	d.CreatedAt, d.UpdatedAt = d.CreatedAt.UTC(), d.UpdatedAt.UTC()
	return fmt.Sprintf("%+v", d)
}

func testDocuments(t *testing.T, l *library) {
	w := NewWorld(15)
	var batch index.Batch
	for i := range 25 {
		batch.Upsert = append(batch.Upsert, w.Document(i))
	}
	l.write(t, batch)
	s := l.snapshot(t)
	for _, access := range []index.Access{everything, {}, {Terms: []string{"PUBLIC"}}, {Terms: []string{"group:infra"}}} {
		checkDocuments(t, s, l.stored, access)
	}
	long := index.Document{ID: "long", Source: "file"}
	for i := range 7 {
		long.Chunks = append(long.Chunks, index.Chunk{Text: fmt.Sprint("piece ", i), Link: "#x"})
	}
	l.write(t, index.Batch{Upsert: []index.Document{long}})
	s = l.snapshot(t)
	for _, test := range [][3]int{{2, 4, 3}, {-5, 1, 2}, {5, 100, 2}, {9, 12, 0}, {3, 2, 0}} {
		chunks, err := Chunks(s, "long", test[0], test[1], everything)
		if err != nil || len(chunks) != test[2] {
			t.Errorf("chunks %d to %d: %d (%v), want %d", test[0], test[1], len(chunks), err, test[2])
		}
	}
	stats, err := s.Stats(context.Background())
	chunks := 0
	for _, d := range l.stored {
		chunks += len(d.Chunks)
	}
	if err != nil || stats.Documents != len(l.stored) || stats.Chunks != chunks {
		t.Errorf("stats %+v (%v), want %d documents, %d chunks", stats, err, len(l.stored), chunks)
	}
}

func testDocumentIDs(t *testing.T, l *library) {
	w := NewWorld(16)
	var batch index.Batch
	for i := range 40 {
		batch.Upsert = append(batch.Upsert, w.Document(i))
	}
	l.write(t, batch)
	s := l.snapshot(t)
	for _, by := range []index.Selector{
		{}, {Source: "slack"}, {Set: "handbook"}, {Source: "file", Set: "legal"},
		{All: true}, {All: true, Source: "web"}, {Origin: "/library/1/4.md"}, {Origin: "/library/0/3.md"}, {Origin: "/library/1/4.md", Source: "web"}, {Set: "none"},
	} {
		var want []string
		for id, d := range l.stored {
			if by != (index.Selector{}) && (by.Origin == "" || d.Origin == by.Origin) &&
				(by.Source == "" || d.Source == by.Source) && (by.Set == "" || slices.Contains(d.Sets, by.Set)) {
				want = append(want, id)
			}
		}
		got, err := s.DocumentIDs(context.Background(), by)
		slices.Sort(got)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: %v (%v), want %v", by, got, err, want)
		}
	}
}

func testCursors(t *testing.T, l *library) {
	ctx := context.Background()
	check := func(prefix string, want map[string]string) {
		t.Helper()
		got, err := l.Cursors(ctx, prefix)
		if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("cursors %q: %v (%v), want %v", prefix, got, err, want)
		}
	}
	check("", nil)
	l.write(t, index.Batch{Cursors: map[string]string{"a/1": "x", "a/2": "y", "b%": "z", "a_": "w"}})
	check("a/", map[string]string{"a/1": "x", "a/2": "y"})
	check("a_", map[string]string{"a_": "w"})
	l.write(t, index.Batch{Cursors: map[string]string{"a/1": "", "a/2": "new"}, Upsert: []index.Document{{ID: "d"}}})
	check("a", map[string]string{"a/2": "new", "a_": "w"})
	check("b%", map[string]string{"b%": "z"})
}

func testVersion(t *testing.T, l *library) {
	ctx := context.Background()
	seen := make(map[string]bool)
	note := func(fresh bool) {
		t.Helper()
		version, err := l.Version(ctx)
		if err != nil || version == "" || seen[version] == fresh {
			t.Errorf("version %q (%v), fresh: %v, want %v", version, err, !seen[version], fresh)
		}
		seen[version] = true
		if s := l.snapshot(t); s.Version() != version {
			t.Errorf("the snapshot shows %q, want %q", s.Version(), version)
		}
	}
	note(true)
	note(false)
	w := NewWorld(17)
	d := w.Document(1)
	d.Access = []string{"PUBLIC"}
	l.write(t, index.Batch{Upsert: []index.Document{d}})
	note(true)
	if _, err := l.UpdateAccess(ctx, []index.AccessPatch{{ID: d.ID, Access: []string{"group:a"}}}); err != nil {
		t.Fatal(err)
	}
	note(true)
	l.write(t, index.Batch{Cursors: map[string]string{"synced": "now"}})
	note(false)
	l.write(t, index.Batch{Delete: []string{d.ID}})
	note(true)
	if _, err := l.snapshot(t).Stats(ctx); err != nil {
		t.Errorf("stats: %v", err)
	}
}

func testCancelled(t *testing.T, l *library) {
	w := NewWorld(18)
	l.write(t, index.Batch{Upsert: []index.Document{w.Document(1), w.Document(2)}})
	s := l.snapshot(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Search(ctx, index.Query{Text: "deploy", Limit: 3, Filter: index.Filter{Access: everything}}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("a cancelled search: %v", err)
	}
	if _, err := s.Facets(ctx, index.Filter{Access: everything}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled facets: %v", err)
	}
	before := maps.Clone(l.stored)
	if _, err := l.Write(ctx, index.Batch{Upsert: []index.Document{w.Document(3)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled write: %v", err)
	}
	checkDocuments(t, l.snapshot(t), before, everything)
}

func testEmpty(t *testing.T, l *library) {
	ask(t, l.oracle(), l.snapshot(t), NewWorld(19), 10)
	checkDocuments(t, l.snapshot(t), nil, everything)
	l.write(t, index.Batch{Upsert: []index.Document{{ID: "only a title", Title: "deploy", Source: "file"}}})
	ask(t, l.oracle(), l.snapshot(t), NewWorld(20), 20)
}
