package segments

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"quarry/internal/testkit/indextest"
	"quarry/server/documents"
	"quarry/server/index"
)

// TestRecentlyRead changes, damages and repairs a library through two openings of it: what each has read before never
// shows in the place of what is stored, nor in an older snapshot.
func TestRecentlyRead(t *testing.T) {
	options := Options{Dir: t.TempDir()}
	openings := []*Index{open(t, options), open(t, options)}
	random, stored := rand.New(rand.NewPCG(4, 4)), model{}
	type older struct {
		model
		index.Snapshot
	}
	var shown []older
	for range 60 {
		x := openings[random.IntN(2)]
		ids := slices.Sorted(maps.Keys(stored))
		switch {
		case len(ids) == 0 || random.IntN(3) > 0:
			batch := randomBatch(random, 12)
			write(t, x, batch)
			stored.apply(batch)
		case random.IntN(2) == 0:
			d := stored[ids[random.IntN(len(ids))]]
			d.Access, d.Sets = []string{words(random, 1)}, []string{words(random, 1)}
			patch := index.AccessPatch{ID: d.ID, Access: d.Access, Sets: d.Sets}
			if _, err := x.UpdateAccess(t.Context(), []index.AccessPatch{patch}); err != nil {
				t.Fatal(err)
			}
			stored[d.ID] = d
		default:
			damageAndRepair(t, openings, x, stored[ids[random.IntN(len(ids))]], random.IntN(2) == 0)
		}
		for _, x := range append(openings, open(t, options)) { // the last one has read nothing
			shown = append(shown, older{maps.Clone(stored), snapshotOf(t, x)})
		}
		for range 2 {
			for _, s := range shown[max(0, len(shown)-9):] {
				s.compareStored(t, s)
			}
		}
	}
}

// damageAndRepair damages the row or the texts of a document, which are not shown then unless they were read before,
// and stores it again.
func damageAndRepair(t *testing.T, openings []*Index, x *Index, d index.Document, row bool) {
	t.Helper()
	statement := "UPDATE chunks SET body = x'01ff' WHERE key >> 20 = (SELECT row FROM documents WHERE id = ?)"
	if row {
		statement = "UPDATE documents SET detail = x'07' WHERE id = ?"
	}
	if _, err := x.db.Writer.Exec(statement, d.ID); err != nil {
		t.Fatal(err)
	}
	for _, x := range openings {
		s := snapshotOf(t, x)
		found, err := s.Documents(t.Context(), []string{d.ID}, everything)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 || found[0].Damaged {
			continue
		}
		chunks, err := indextest.Chunks(s, d.ID, 0, documents.MaxChunks, everything)
		if err != nil || len(chunks) != len(d.Chunks) {
			t.Fatal(len(chunks), err)
		}
		for i, chunk := range chunks {
			if !chunk.Damaged && chunk.Text != d.Chunks[i].Text {
				t.Errorf("%s, %d: %q", d.ID, i, chunk.Text)
			}
		}
	}
	put(t, x, d)
}
