package api

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/ingest"
	"quarry/server/segments"
	"quarry/server/sqlite"
)

// garbled damages the texts of the document of the file quokka.md and the second of two passages of "posted".
const garbled = `UPDATE chunks SET body = zeroblob(20) WHERE key & 1 OR
	key >> 20 = (SELECT row FROM documents WHERE id LIKE '%quokka.md')`

// damage gives the world a library on disk with the files of a folder and the posted document "posted", and runs a
// statement on its database.
func (w *world) damage(folder, statement string) {
	dir := w.t.TempDir()
	open := func() *segments.Index {
		library, err := segments.Open(w.t.Context(), segments.Options{Dir: dir})
		w.check(err)
		return library
	}
	library := open()
	_, err := ingest.Add(w.t.Context(), library, []string{folder}, ingest.Options{}, nil)
	w.check(err)
	_, err = library.Write(w.t.Context(), index.Batch{Upsert: []index.Document{{ID: "posted", Source: "web", Title: "Posted",
		Access: []string{"PUBLIC"}, Chunks: []index.Chunk{
			{Text: "The quokka is posted. " + strings.Repeat("It smiles at everybody. ", 400)}, {Text: "The quokka ends here."}}}}})
	w.check(errors.Join(err, library.Close()))
	db, err := sqlite.Open(w.t.Context(), sqlite.Options{Path: filepath.Join(dir, "library.db")})
	w.check(err)
	err = db.Update(w.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec(statement)
		return err
	})
	w.check(errors.Join(err, db.Close()))
	before, damaged := w.documents, open()
	w.documents = damaged
	w.t.Cleanup(func() { // before the folder is removed
		w.documents = before
		if err := damaged.Close(); err != nil {
			w.t.Error(err)
		}
	})
}

func TestSyncRestoresDamagedDocuments(t *testing.T) {
	w := newWorld(t)
	w.damage(w.folder(), garbled)
	owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
	search := func(want ...string) (remedy bool) {
		t.Helper()
		answer := decoded[wire.SearchResponse](w, w.call(owner, "", "POST", "/search", `{"query":"quokka"}`))
		var titles []string
		for _, result := range answer.Results {
			titles = append(titles, result.Title)
		}
		slices.Sort(titles)
		if !slices.Equal(titles, want) {
			t.Errorf("found %q, want %q", titles, want)
		}
		return slices.ContainsFunc(answer.Notes, func(note wire.Note) bool {
			return note.Code == wire.NoteDamaged && strings.Contains(note.Text, "quarry sync")
		})
	}
	change := func(path string, request any, repaired, damaged int) {
		t.Helper()
		events := w.events(path, request)
		if done := events[len(events)-1]; done.Repaired != repaired || done.Damaged != damaged {
			t.Errorf("%s: %+v", path, done)
		}
	}
	if !search("Posted") {
		t.Error("no note says that the library is damaged")
	}
	change("/library/check", wire.CheckRequest{}, 0, 2)
	change("/library/sync", wire.SyncRequest{}, 1, 1)
	if !search("Posted", "Quokkas") {
		t.Error("no note says that the library is still damaged")
	}
	change("/library/remove", wire.RemoveRequest{Refs: []string{"posted"}}, 0, 0)
	change("/library/check", wire.CheckRequest{}, 0, 0)
	if search("Quokkas") {
		t.Error("a note says that the library is damaged")
	}
}

// TestSyncRestoresFromFiles damages documents of files in all ways that their owner can be affected by.
func TestSyncRestoresFromFiles(t *testing.T) {
	of := func(file string) string { return "(SELECT row FROM documents WHERE id LIKE '%" + file + "')" }
	texts := func(file string) string { return "UPDATE chunks SET body = zeroblob(20) WHERE key >> 20 = " + of(file) }
	tests := map[string]struct {
		statement         string
		remove            string // a file; ".": the folder
		repaired, damaged int
		removed           int
		left              []string // titles that are found afterwards
	}{
		"the text of a file":           {texts("quokka.md"), "", 1, 0, 0, []string{"Line", "Posted", "Quokkas"}},
		"the row of a file":            {"DELETE FROM documents WHERE row = " + of("quokka.md"), "", 1, 0, 0, []string{"Line", "Posted", "Quokkas"}},
		"the title of a file":          {"UPDATE documents SET title = 'Other' WHERE row = " + of("quokka.md"), "", 1, 0, 0, []string{"Line", "Posted", "Quokkas"}},
		"the row of a line":            {"DELETE FROM documents WHERE id = 'line'", "", 1, 0, 0, []string{"Line", "Posted", "Quokkas"}},
		"the row of a posted document": {"DELETE FROM documents WHERE id = 'posted'", "", 0, 1, 0, []string{"Line", "Quokkas"}},
		"the row of a removed file":    {"DELETE FROM documents WHERE row = " + of("quokka.md"), "quokka.md", 1, 0, 1, []string{"Line", "Posted"}},
		"the text of a removed file":   {texts("quokka.md"), "quokka.md", 1, 0, 1, []string{"Line", "Posted"}},
		"the text of a removed folder": {texts("quokka.md"), ".", 0, 1, 0, []string{"Line", "Posted"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			folder := w.folder()
			w.check(os.WriteFile(filepath.Join(folder, "lines.jsonl"),
				[]byte(`{"id":"line","semantic_identifier":"Line","source":"web","sections":[{"text":"A quokka in a line."}]}`), 0o600))
			w.damage(folder, test.statement)
			if test.remove != "" {
				w.check(os.RemoveAll(filepath.Join(folder, test.remove)))
			}
			events := w.events("/library/sync", wire.SyncRequest{})
			if done := events[len(events)-1]; done.Repaired != test.repaired || done.Damaged != test.damaged || done.Removed != test.removed {
				t.Errorf("done %+v", done)
			}
			if again := w.events("/library/check", wire.CheckRequest{}); again[len(again)-1].Damaged != test.damaged {
				t.Errorf("after that: %+v", again)
			}
			owner := w.server.Handler(directory.Owner(directory.DefaultTenant))
			answer := decoded[wire.SearchResponse](w, w.call(owner, "", "POST", "/search", `{"query":"quokka"}`))
			var titles []string
			for _, result := range answer.Results {
				titles = append(titles, result.Title)
			}
			if slices.Sort(titles); !slices.Equal(titles, test.left) {
				t.Errorf("found %q, want %q", titles, test.left)
			}
		})
	}
}

// TestLostRoots: what was added is named when its entry is damaged or lost, and adding it again mends that.
func TestLostRoots(t *testing.T) {
	for name, test := range map[string]struct{ statement, event string }{
		"damaged": {"UPDATE cursors SET value = 'x' WHERE key LIKE 'ingest/root/%'", wire.LibrarySkipped},
		"lost": {`DELETE FROM cursors WHERE key LIKE 'ingest/root/%';
			UPDATE meta SET documents = documents + 1`, wire.LibraryDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			folder := w.folder()
			w.damage(folder, test.statement)
			names := func() bool {
				return slices.ContainsFunc(w.events("/library/sync", wire.SyncRequest{}), func(event wire.LibraryEvent) bool {
					return event.Type == test.event && event.Path == folder
				})
			}
			if !names() {
				t.Error("the folder is not named")
			}
			w.events("/library/add", wire.AddRequest{Paths: []string{folder}})
			if names() {
				t.Error("the folder is still named")
			}
		})
	}
}
