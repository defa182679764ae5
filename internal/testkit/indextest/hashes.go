package indextest

import (
	"context"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
	"quarry/server/ingest"
)

// testHashes: documents are found by the beginnings of their hashes, as short refs have them, also those that were stored
// without. One that is stored again keeps its hash.
func testHashes(t *testing.T, l *library) {
	ctx := context.Background()
	check := func(id string, isThere bool) {
		t.Helper()
		hash := wire.HashID(id)
		got, err := new(ingest.Names).Hashes(ctx, l.Index, hash[:wire.ShortestID])
		if err != nil || len(got) > 1 || (got[id] == hash) != isThere {
			t.Errorf("the hashes like that of %s: %v (%v)", id, got, err)
		}
	}
	batch := index.Batch{Upsert: []index.Document{{ID: "a"}, {ID: "b"}}}
	new(ingest.Names).AddHashes(&batch)
	l.write(t, batch)
	l.write(t, index.Batch{Upsert: []index.Document{{ID: "c"}}, Delete: []string{"b"}})
	check("a", true)
	check("b", false)
	check("c", false)
	if err := ingest.CompleteHashes(ctx, l.Index); err != nil {
		t.Fatal(err)
	}
	check("a", true)
	check("b", false)
	check("c", true)
	l.write(t, index.Batch{Upsert: []index.Document{{ID: "a", Title: "another"}}})
	check("a", true)
	batch = index.Batch{Delete: []string{"a"}}
	new(ingest.Names).AddHashes(&batch)
	l.write(t, batch)
	check("a", false)
}
