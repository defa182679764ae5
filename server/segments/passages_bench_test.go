package segments

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"quarry/server/index"
)

// BenchmarkPassages reads what an answer shows of ten documents, others each time, from the library that QUARRY_LIBRARY
// names: their rows and a passage of each. "snapshot" is what opening a snapshot takes of that.
func BenchmarkPassages(b *testing.B) {
	dir := os.Getenv("QUARRY_LIBRARY")
	if dir == "" {
		b.Skip("QUARRY_LIBRARY is not set: nothing to read")
	}
	x := open(b, Options{Dir: filepath.Join(dir, "tenants", "default"), ReadOnly: true})
	all := index.Access{All: true}
	first := snapshotOf(b, x)
	ids, err := first.DocumentIDs(b.Context(), index.Selector{All: true})
	if err != nil || len(ids) < 10 {
		b.Fatal(len(ids), err)
	}
	chunks := make(map[string]int, len(ids))
	documents, err := first.Documents(b.Context(), ids, all)
	if err != nil {
		b.Fatal(err)
	}
	for i := range documents {
		chunks[documents[i].ID] = documents[i].ChunkCount
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, bench := range []struct {
		name        string
		rows, texts bool
	}{{"snapshot", false, false}, {"rows", true, false}, {"rows and texts", true, true}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ten := make([]string, 10)
				ranges := make([]index.Range, 10)
				for i := range ten {
					ten[i] = ids[random.IntN(len(ids))]
					chunk := random.IntN(max(1, chunks[ten[i]]))
					ranges[i] = index.Range{DocumentID: ten[i], From: chunk, To: chunk}
				}
				snapshot, err := x.Snapshot(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if bench.rows {
					if _, err := snapshot.Documents(b.Context(), ten, all); err != nil {
						b.Fatal(err)
					}
				}
				if bench.texts {
					texts, err := snapshot.Texts(b.Context(), ranges, all)
					if err != nil || len(texts) != 10 || texts[0][0].Damaged {
						b.Fatal(len(texts), err)
					}
				}
				snapshot.Close()
			}
		})
	}
}
