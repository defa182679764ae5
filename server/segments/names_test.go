package segments

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// ofFile are documents of one file with an author, in a folder that looks like the number of a name.
func ofFile(first, end int) (all []index.Document) {
	for n := first; n < end; n++ {
		d := document(fmt.Sprint("doc", n), fmt.Sprint("walrus ", n))
		d.Source, d.Origin, d.Type, d.Link = "mail", "/files/all.jsonl", "page", fmt.Sprint("https://x.test/a:b/", n)
		d.Authors, d.Path = []index.Person{{Name: "Jo Doe", Email: "jo@acme.example"}}, []string{"=1", "folder"}
		all = append(all, d)
	}
	return all
}

// TestNamesAreStoredOnce: what many documents have is a number in their rows, but not what a single one has, and all are
// read and selected by it as before, also those that were stored before it had a number, and by another process.
func TestNamesAreStoredOnce(t *testing.T) {
	dir, all := t.TempDir(), make(model)
	x := open(t, Options{Dir: dir})
	late := open(t, Options{Dir: dir})
	odd := document("odd", "an odd walrus")
	odd.Source, odd.Origin, odd.Type, odd.Link = "=1", "=2", "=", "=3:odd"
	for _, some := range [][]index.Document{ofFile(0, 3), append(ofFile(3, 10), odd), ofFile(10, 11)} {
		write(t, x, index.Batch{Upsert: some})
		all.apply(index.Batch{Upsert: some})
	}
	want := map[string]int{"mail /files/all.jsonl page": 3, "==1 ==2 ==": 1}
	rows := sqldb.ColumnOf[string](x.Newest(t.Context()), "SELECT source || ' ' || origin || ' ' || type FROM documents")
	short := slices.DeleteFunc(rows, func(row string) bool { want[row]--; return want[row] >= 0 })
	if len(short) != 8 || len(slices.Compact(short)) != 1 || strings.Count(short[0], "=") != 3 {
		t.Errorf("stored %q", rows)
	}
	links := sqldb.ColumnOf[string](x.Newest(t.Context()), "SELECT link FROM documents WHERE link LIKE '=%:%'")
	if len(links) != 9 || !slices.Contains(links, "==3:odd") {
		t.Errorf("stored links %q", links)
	}
	for _, reader := range []*Index{x, late, open(t, Options{Dir: dir, ReadOnly: true})} {
		all.compare(t, reader)
		s := snapshotOf(t, reader)
		for by, want := range map[index.Selector]int{
			{Origin: "/files/all.jsonl"}: 11, {Source: "mail"}: 11, {Source: "=1"}: 1, {Origin: "=2"}: 1, {Origin: "=5"}: 0, {Source: "mail", Origin: "=2"}: 0,
			{Link: "https://x.test/a:b/1"}: 1, {Link: "https://x.test/a:b/7"}: 1, {Link: "=3:odd"}: 1, {Link: "=3:7"}: 0, {Link: "7"}: 0,
		} {
			if ids, err := s.DocumentIDs(t.Context(), by); err != nil || len(ids) != want {
				t.Errorf("%+v selects %v, %v", by, ids, err)
			}
		}
		if origins, err := s.Origins(t.Context()); err != nil || len(origins) != 2 || origins["/files/all.jsonl"] != 11 || origins["=2"] != 1 {
			t.Errorf("origins %v, %v", origins, err)
		}
	}
}

// TestLostNames: documents whose names are lost are damaged, and stay it when others get their numbers, or the same
// names others, until they are stored again. Nobody takes them for those of another file.
func TestLostNames(t *testing.T) {
	dir, all := t.TempDir(), make(model)
	x := open(t, Options{Dir: dir})
	write(t, x, index.Batch{Upsert: ofFile(0, 10)})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	for _, table := range documents.DictionaryTables() {
		execSQL(t, dir, "DELETE FROM "+table)
	}
	x = open(t, Options{Dir: dir})
	put(t, x, ofFile(10, 20)...)
	found, err := x.Check(t.Context(), index.CheckOptions{}, nil)
	if err != nil || len(found) != 10 || found[0].Kind != index.DamagedDocument || found[0].Origin != "" {
		t.Errorf("the check found %d, %+v, %v", len(found), found[:min(1, len(found))], err)
	}
	all.apply(index.Batch{Upsert: ofFile(0, 20)})
	if written := put(t, x, all.documents()...); written.Updated != 10 {
		t.Errorf("wrote %+v", written)
	}
	all.compare(t, x)
}

// TestAnotherLinkKeepsThoseOfChunks: they are stored by that of the document, and stay when that changes alone.
func TestAnotherLinkKeepsThoseOfChunks(t *testing.T) {
	x, all := open(t, Options{Dir: t.TempDir()}), make(model)
	d := document("a", "walrus", "penguin")
	for _, link := range []string{"https://x.test/a", "https://x.test/b", ""} {
		d.Link, d.Chunks[0].Link, d.Chunks[1].Link = link, "https://x.test/a", "https://x.test/a#end"
		put(t, x, d)
		all.apply(index.Batch{Upsert: []index.Document{d}})
		all.compare(t, x)
		chunks, err := indextest.Chunks(snapshotOf(t, x), "a", 0, 1, everything)
		if err != nil || chunks[0].Link != "https://x.test/a" || chunks[1].Link != "https://x.test/a#end" {
			t.Errorf("%q: %+v, %v", link, chunks, err)
		}
	}
}
