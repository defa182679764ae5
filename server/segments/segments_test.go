package segments

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/sqldb"
)

var everything = index.Access{All: true}

// open opens a library; options that are left out are those of a test.
func open(t testing.TB, options Options) *Index {
	t.Helper()
	if options.Log == nil {
		options.Log = testLog(t)
	}
	x, err := Open(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

func testLog(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), nil))
}

func document(id string, texts ...string) index.Document {
	d := index.Document{
		ID: id, Source: "file", Title: "Title of " + id, Type: "md", Access: []string{"PUBLIC"},
		UpdatedAt: time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC),
	}
	for _, text := range texts {
		d.Chunks = append(d.Chunks, index.Chunk{Text: text})
	}
	return d
}

func write(t testing.TB, x *Index, batch index.Batch) index.Written {
	t.Helper()
	written, err := x.Write(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func put(t testing.TB, x *Index, documents ...index.Document) index.Written {
	t.Helper()
	return write(t, x, index.Batch{Upsert: documents})
}

func snapshotOf(t testing.TB, x *Index) index.Snapshot {
	t.Helper()
	s, err := x.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func find(t testing.TB, s index.Snapshot, text string) []string {
	t.Helper()
	ids, err := search(s, text)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func search(s index.Snapshot, text string) ([]string, error) {
	result, err := s.Search(context.Background(), index.Query{Text: text, Limit: 1000,
		Filter: index.Filter{Access: everything}})
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, hit := range result.Hits {
		ids = append(ids, hit.DocumentID)
	}
	return ids, nil
}

// wholly is a document with everything that one can have.
func wholly() index.Document {
	return index.Document{
		ID: "file:/docs/whole.md", Source: "confluence", Title: "The whole", Path: []string{"docs", "guides"},
		Link: "https://wiki.acme.example/whole", Type: "md", Language: "en",
		CreatedAt: time.Date(2025, 1, 2, 3, 4, 5, 6000, time.UTC),
		UpdatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
		Authors:   []index.Person{{Name: "Jo Doe", Email: "jo@acme.example"}, {Email: "kim@acme.example"}},
		Metadata:  []index.Field{{Key: "team", Values: []string{"infra"}}, {Key: "labels", Values: []string{"a", "b"}, List: true}},
		Sets:      []string{"handbook", "onboarding"}, Access: []string{"PUBLIC", "user_email:jo@acme.example"},
		Origin:  "/docs/whole.md",
		Outline: []index.Heading{{Level: 1, Text: "Top", Chunk: 0}, {Level: 2, Text: "Below", Chunk: 1}},
		Chunks: []index.Chunk{
			{Text: "First words of the whole document.", Headings: []string{"Top"}},
			{Text: strings.Repeat("Second part, which is longer. ", 20), Headings: []string{"Top", "Below"},
				Link: "https://wiki.acme.example/whole#below"},
			{},
		},
	}
}

// places are the two kinds of libraries.
func places(t *testing.T) map[string]string {
	return map[string]string{"memory": "", "disk": t.TempDir()}
}

func TestKeepsEveryField(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			x := open(t, Options{Dir: dir})
			want := wholly()
			put(t, x, want)
			s := snapshotOf(t, x)
			found, err := s.Documents(t.Context(), []string{"unknown", want.ID}, everything)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || found[0].ChunkCount != len(want.Chunks) {
				t.Fatalf("found %+v", found)
			}
			chunks, err := indextest.Chunks(s, want.ID, -5, 100, everything)
			if err != nil {
				t.Fatal(err)
			}
			got := found[0].Document
			got.Chunks = chunks
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if some, err := indextest.Chunks(s, want.ID, 1, 1, everything); err != nil || len(some) != 1 ||
				!reflect.DeepEqual(some[0], want.Chunks[1]) {
				t.Errorf("chunk 1 is %+v, %v", some, err)
			}
		})
	}
}

func TestCountsWhatChanged(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			x := open(t, Options{Dir: dir})
			steps := []struct {
				what  string
				batch index.Batch
				want  index.Written
			}{
				{"two new", index.Batch{Upsert: []index.Document{document("a", "one"), document("b", "two")}},
					index.Written{Added: 2}},
				{"one of them changed", index.Batch{Upsert: []index.Document{document("a", "one"), document("b", "three")}},
					index.Written{Updated: 1, Unchanged: 1}},
				{"twice in a batch", index.Batch{Upsert: []index.Document{document("c", "x"), document("c", "y")}},
					index.Written{Added: 1}},
				{"the last counted", index.Batch{Upsert: []index.Document{document("c", "y")}},
					index.Written{Unchanged: 1}},
				{"delete", index.Batch{Delete: []string{"a", "a", "unknown"}}, index.Written{Removed: 1}},
				{"delete and store", index.Batch{Upsert: []index.Document{document("b", "four")}, Delete: []string{"b"}},
					index.Written{Updated: 1}},
				{"nothing", index.Batch{}, index.Written{}},
			}
			for _, step := range steps {
				if got := write(t, x, step.batch); got != step.want {
					t.Errorf("%s: %+v, want %+v", step.what, got, step.want)
				}
			}
			stats, err := snapshotOf(t, x).Stats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if stats.Documents != 2 || stats.Chunks != 2 || stats.Bytes == 0 {
				t.Errorf("stats are %+v", stats)
			}
		})
	}
}

func TestSearchFollowsWrites(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			x := open(t, Options{Dir: dir})
			put(t, x, document("a", "walrus and penguin"), document("b", "walrus"))
			before := snapshotOf(t, x)
			write(t, x, index.Batch{Upsert: []index.Document{document("a", "penguin only")}, Delete: []string{"b"}})
			if got := find(t, snapshotOf(t, x), "walrus"); len(got) != 0 {
				t.Errorf("walrus is still found in %v", got)
			}
			if got := find(t, snapshotOf(t, x), "penguin"); !reflect.DeepEqual(got, []string{"a"}) {
				t.Errorf("penguin is found in %v", got)
			}
			if got := find(t, before, "walrus"); len(got) != 2 {
				t.Errorf("the snapshot from before finds %v, want both", got)
			}
			chunks, err := indextest.Chunks(before, "a", 0, 0, everything)
			if err != nil || chunks[0].Text != "walrus and penguin" {
				t.Errorf("the snapshot from before reads %v, %v", chunks, err)
			}
		})
	}
}

func TestAccessIsKeptInDocumentsAndChunks(t *testing.T) {
	x := open(t, Options{})
	secret, hidden := document("secret", "text"), document("hidden", "text")
	secret.Access = []string{"user_email:jo@acme.example"}
	hidden.Hidden = true
	put(t, x, secret, hidden)
	s := snapshotOf(t, x)
	tests := []struct {
		access index.Access
		want   int
	}{
		{index.Access{All: true}, 1},
		{index.Access{Terms: []string{"PUBLIC"}}, 0},
		{index.Access{Terms: []string{"PUBLIC", "user_email:jo@acme.example"}}, 1},
		{index.Access{}, 0},
	}
	for _, test := range tests {
		found, err := s.Documents(t.Context(), []string{"secret", "hidden"}, test.access)
		if err != nil || len(found) != test.want {
			t.Errorf("%+v sees %d documents, want %d (%v)", test.access, len(found), test.want, err)
		}
		chunks, err := indextest.Chunks(s, "secret", 0, 0, test.access)
		if err != nil || len(chunks) != test.want {
			t.Errorf("%+v reads chunks %v, %v", test.access, chunks, err)
		}
	}
}

func TestUpdateAccess(t *testing.T) {
	for name, dir := range places(t) {
		t.Run(name, func(t *testing.T) {
			x := open(t, Options{Dir: dir})
			want := wholly()
			put(t, x, want, document("other", "text"))
			hide := true
			changed, err := x.UpdateAccess(t.Context(), []index.AccessPatch{
				{ID: want.ID, Access: []string{"group:eng"}},
				{ID: want.ID, Sets: []string{}},
				{ID: "unknown", Access: []string{"PUBLIC"}},
				{ID: "other", Access: []string{"PUBLIC"}},
			})
			if err != nil || changed != 1 {
				t.Fatalf("changed %d, %v; want 1: the other one had this access already", changed, err)
			}
			s := snapshotOf(t, x)
			found, err := s.Documents(t.Context(), []string{want.ID}, index.Access{Terms: []string{"group:eng"}})
			if err != nil || len(found) != 1 || len(found[0].Sets) != 0 || found[0].Title != want.Title {
				t.Fatalf("found %+v, %v", found, err)
			}
			if chunks, err := indextest.Chunks(s, want.ID, 0, 9, everything); err != nil ||
				!reflect.DeepEqual(chunks, want.Chunks) {
				t.Errorf("the chunks changed: %+v, %v", chunks, err)
			}
			if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: want.ID, Hidden: &hide}}); err != nil {
				t.Fatal(err)
			}
			if found, _ := snapshotOf(t, x).Documents(t.Context(), []string{want.ID}, everything); len(found) != 0 {
				t.Errorf("it is not hidden: %+v", found)
			}
			if got := find(t, snapshotOf(t, x), "longer"); len(got) != 0 {
				t.Errorf("the hidden one is found: %v", got)
			}
		})
	}
}

func TestCursors(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	write(t, x, index.Batch{Cursors: map[string]string{"root:/a": "1", "root:/b": "2", "other": "3", "root": "4"}})
	before, err := x.Version(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, x, index.Batch{Cursors: map[string]string{"root:/a": "1", "absent": ""}})
	if after, _ := x.Version(t.Context()); after != before {
		t.Error("cursors that are the same already changed the version")
	}
	write(t, x, index.Batch{Cursors: map[string]string{"root:/a": "", "root:/c": "5"}})
	if after, _ := x.Version(t.Context()); after != before {
		t.Error("bookkeeping changed the version")
	}
	got, err := x.Cursors(t.Context(), "root:")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"root:/b": "2", "root:/c": "5"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDocumentIDs(t *testing.T) {
	x := open(t, Options{})
	var documents []index.Document
	for id, origin := range map[string]string{"a": "/docs/a.md", "b": "/docs/sub/b.md", "c": "/docs2/c.md",
		"d": "", "e": `C:\docs\e.md`, "f": "/docs"} {
		d := document(id, "text")
		d.Origin, d.Link = origin, "https://wiki.example/"+id
		if id <= "b" {
			d.Sets = []string{"handbook"}
		}
		if id == "d" {
			d.Source, d.Hidden = "slack", true
		}
		documents = append(documents, d)
	}
	put(t, x, documents...)
	tests := []struct {
		by   index.Selector
		want string
	}{
		{index.Selector{}, ""},
		{index.Selector{Origin: "/docs/a.md"}, "a"},
		{index.Selector{Source: "slack"}, "d"},
		{index.Selector{Link: "https://wiki.example/c"}, "c"},
		{index.Selector{Link: "https://wiki.example/"}, ""},
		{index.Selector{Set: "handbook"}, "a b"},
		{index.Selector{Set: "handbook", Origin: "/docs/sub/b.md"}, "b"},
		{index.Selector{Set: "handbook", Source: "slack"}, ""},
	}
	s := snapshotOf(t, x)
	for _, test := range tests {
		got, err := s.DocumentIDs(t.Context(), test.by)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v names %v, want %s (%v)", test.by, got, test.want, err)
		}
	}
}

func TestRefusesWhatIsTooLarge(t *testing.T) {
	x := open(t, Options{})
	many := document("many")
	many.Chunks = make([]index.Chunk, documents.MaxChunks+1)
	described := document("described")
	described.Metadata = []index.Field{{Key: "note", Values: []string{strings.Repeat("x", documents.MaxUnpacked+1)}}}
	tests := []struct {
		batch index.Batch
		want  error
	}{
		{index.Batch{Upsert: []index.Document{described}}, documents.ErrTooLarge},
		{index.Batch{Upsert: []index.Document{document("")}}, documents.ErrNoID},
		{index.Batch{Upsert: []index.Document{many}}, documents.ErrTooLarge},
		{index.Batch{Upsert: []index.Document{document("x", strings.Repeat("a", documents.MaxChunkBytes+1))}}, documents.ErrTooLarge},
		{index.Batch{Upsert: []index.Document{document(strings.Repeat("x", documents.MaxIDBytes+1))}}, documents.ErrTooLarge},
		{index.Batch{Delete: make([]string, documents.MaxBatchDocuments+1)}, documents.ErrTooLarge},
	}
	for i, test := range tests {
		test.batch.Upsert = append(test.batch.Upsert, document("sound", "text"))
		if _, err := x.Write(t.Context(), test.batch); !errors.Is(err, test.want) {
			t.Errorf("%d: %v, want %v", i, err, test.want)
		}
	}
	if stats, _ := snapshotOf(t, x).Stats(t.Context()); stats.Documents != 0 {
		t.Errorf("something was stored: %+v", stats)
	}
}

func TestInvalidTextIsMadeValid(t *testing.T) {
	x := open(t, Options{})
	bad := document("bad\xff", "text\xfe with \x00 and \x1b[31m")
	bad.Title, bad.Metadata = "\xc3(", []index.Field{{Key: "\xff", Values: []string{"\xff"}}}
	put(t, x, bad)
	if got := put(t, x, bad); got.Unchanged != 1 {
		t.Errorf("the same again: %+v", got)
	}
	if changed, err := x.UpdateAccess(t.Context(), []index.AccessPatch{{ID: "bad�", Access: bad.Access}}); err != nil ||
		changed != 0 {
		t.Errorf("changed %d, %v", changed, err)
	}
}

// TestPathsAreStoredOnce: the row of a file's document leaves its origin and its link to its id.
func TestPathsAreStoredOnce(t *testing.T) {
	x := open(t, Options{Dir: t.TempDir()})
	file := func(id, origin, link string) index.Document {
		d := document(id, "text")
		d.Origin, d.Link = origin, link
		return d
	}
	want := []index.Document{
		file("file:/a b.md", "/a b.md", "file:///a%20b.md"), file("file:/a.md", "/a.md", "file:///a.md"),
		file("file:/mail.mbox#1", "/mail.mbox", "mid:1"), file("file:/posted", "", "="), file("other", "=", "="),
	}
	write(t, x, index.Batch{Upsert: want})
	columns := sqldb.ColumnOf[string](x.Newest(t.Context()), "SELECT origin || ' ' || link FROM documents ORDER BY id")
	if got := []string{"= file:///a%20b.md", "= =", "/mail.mbox mid:1", " ==", "== =="}; !slices.Equal(columns, got) {
		t.Errorf("stored %q, want %q", columns, got)
	}
	s := snapshotOf(t, x)
	for _, d := range want {
		stored, err := s.Documents(t.Context(), []string{d.ID}, index.Access{All: true})
		if err != nil || len(stored) != 1 || stored[0].Damaged || stored[0].Origin != d.Origin || stored[0].Link != d.Link {
			t.Errorf("%s: %+v, %v", d.ID, stored, err)
		}
		for _, by := range []index.Selector{{Origin: d.Origin}, {Link: d.Link}} {
			if ids, err := s.DocumentIDs(t.Context(), by); err != nil || by.Origin+by.Link != "" && !slices.Contains(ids, d.ID) {
				t.Errorf("%+v: %q, %v", by, ids, err)
			}
		}
	}
	if ids, err := s.DocumentIDs(t.Context(), index.Selector{Origin: "/a.md"}); err != nil || len(ids) != 1 {
		t.Errorf("of /a.md: %q, %v", ids, err)
	}
	origins, err := s.Origins(t.Context())
	if want := map[string]int{"/a b.md": 1, "/a.md": 1, "/mail.mbox": 1, "=": 1}; err != nil || !maps.Equal(origins, want) {
		t.Errorf("origins %v, want %v (%v)", origins, want, err)
	}
}
