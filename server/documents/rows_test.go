package documents

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
	"quarry/server/sqlite"
)

// TestRows writes a row, replaces it, and reads it again: each column has its place in the lists of Columns, Values,
// and pointers.
func TestRows(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	day := time.Date(2026, 8, 1, 9, 30, 0, 123_000, time.UTC)
	first := Row{Number: 1, Hash: []byte{1}, Detail: []byte{2}}
	first.ID, first.Source = "a", "file"
	second := Row{Number: 1, Hash: []byte{4}, Detail: []byte{5}}
	second.Document = index.Document{ID: "a", Source: "web", Origin: "o", Title: "t", Link: "l", Type: "y",
		CreatedAt: day, UpdatedAt: day.Add(time.Hour), Hidden: true}
	second.ChunkCount = 3
	for _, stored := range []Row{first, second} {
		err := sqldb.UpdateWhole(t.Context(), db, func(tx *sqldb.Tx) {
			tx.Exec("CREATE TABLE IF NOT EXISTS documents (" + Columns + ")")
			tx.Exec("DELETE FROM documents")
			tx.Insert("documents ("+Columns+")", [][]any{stored.Values()}, "")
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := sqldb.Select(t.Context(), db.Reader, (*Row).pointers, "SELECT "+Columns+" FROM documents")
		if err != nil || !reflect.DeepEqual(got, []Row{stored}) {
			t.Errorf("read %+v, %v; stored %+v", got, err, stored)
		}
	}
}

func TestDamages(t *testing.T) {
	var shown Reads
	lost, sound := Lost("a", fault.ErrDamaged), new(Row)
	sound.ID, sound.Origin = "b", "o"
	if lost.Owner() != index.LostOrigin || sound.Owner() != "o" || !lost.Damaged ||
		!errors.Is(lost.Cause, fault.ErrDamaged) {
		t.Errorf("owners %q and %q of %+v and %+v", lost.Owner(), sound.Owner(), lost, sound)
	}
	for _, from := range []int{4, 1, 4} {
		for _, row := range []*Row{lost, sound} {
			damage, ok := row.Damage(from, []index.Chunk{{}, {Damaged: true}})
			if !ok {
				t.Errorf("no damage of %s", row.ID)
			}
			shown.Note(damage)
		}
	}
	if _, ok := sound.Damage(0, []index.Chunk{{}}); ok {
		t.Error("a sound chunk counts as damage")
	}
	if all := shown.Damage(); len(all) != 2 || all[0].Kind != index.DamagedDocument || !reflect.DeepEqual(all[1].Chunks, []int{2, 5}) {
		t.Errorf("noted %+v", all)
	}
}

func TestCursors(t *testing.T) {
	db, err := sqlite.Open(t.Context(), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	put := func(cursors map[string]string) {
		t.Helper()
		err := sqldb.UpdateWhole(t.Context(), db, func(tx *sqldb.Tx) { PutCursors(tx, cursors) })
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = db.Writer.ExecContext(t.Context(), "CREATE TABLE cursors (key TEXT PRIMARY KEY, value TEXT)")
	if err != nil {
		t.Fatal(err)
	}
	put(map[string]string{"a/1": "x", "a/2": "y", "b": "z"})
	put(map[string]string{"a/1": "", "a/3": "new", "a/2": "changed"})
	for prefix, want := range map[string]map[string]string{
		"":   {"a/2": "changed", "a/3": "new", "b": "z"},
		"a/": {"a/2": "changed", "a/3": "new"},
		"c":  {},
	} {
		if got := Cursors(sqldb.Shared(t.Context(), db.Reader), prefix); !reflect.DeepEqual(got, want) {
			t.Errorf("cursors of %q: %v", prefix, got)
		}
	}
}
