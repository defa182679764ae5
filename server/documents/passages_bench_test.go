package documents_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/server/index"
	"quarry/server/segments"
)

// BenchmarkPassages reads what an answer shows of ten documents from the library that QUARRY_LIBRARY names: their rows
// and a passage of each. "others" are chosen at random, and nothing is kept of what was read before. "judged" are the hits
// of the queries in QUARRY_QUERIES, a JSON object in each line, one query after the other; "typed" those of the same
// queries while they are typed. "snapshot" is what opening a snapshot takes of that.
func BenchmarkPassages(b *testing.B) {
	dir := os.Getenv("QUARRY_LIBRARY")
	if dir == "" {
		b.Skip("QUARRY_LIBRARY is not set: nothing to read")
	}
	x, err := segments.Open(b.Context(), segments.Options{Dir: filepath.Join(dir, "tenants", "default"), ReadOnly: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = x.Close() }()
	others := randomTens(b, x)
	judged := hitsOf(b, x, queries(b, false))
	typed := hitsOf(b, x, queries(b, true))
	for _, bench := range []struct {
		name         string
		tens         [][]index.Range
		texts, fresh bool
	}{
		{"snapshot", [][]index.Range{nil}, false, false},
		{"others/rows", others, false, true}, {"others/rows and texts", others, true, true},
		{"judged/rows", judged, false, false}, {"judged/rows and texts", judged, true, false},
		{"typed/rows", typed, false, false}, {"typed/rows and texts", typed, true, false},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			x.Packer.Forget()
			for n := 0; b.Loop(); n++ {
				if bench.fresh {
					x.Packer.Forget()
				}
				readPassages(b, x, bench.tens[n%len(bench.tens)], bench.texts)
			}
		})
	}
}

func readPassages(b *testing.B, x *segments.Index, ranges []index.Range, texts bool) {
	b.Helper()
	snapshot, err := x.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer snapshot.Close()
	if len(ranges) == 0 {
		return
	}
	ids := make([]string, len(ranges))
	for i := range ids {
		ids[i] = ranges[i].DocumentID
	}
	all := index.Access{All: true}
	if _, err := snapshot.Documents(b.Context(), ids, all); err != nil {
		b.Fatal(err)
	}
	if texts {
		texts, err := snapshot.Texts(b.Context(), ranges, all)
		if err != nil || len(texts) != len(ranges) || texts[0][0].Damaged {
			b.Fatal(len(texts), err)
		}
	}
}

// randomTens returns a passage of each of ten documents, many times.
func randomTens(b *testing.B, x *segments.Index) [][]index.Range {
	b.Helper()
	documents, err := x.Export(b.Context(), "", 10_000)
	if err != nil || len(documents) < 10 {
		b.Fatal(len(documents), err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	tens := make([][]index.Range, 1000)
	for n := range tens {
		for range 10 {
			d := documents[random.IntN(len(documents))]
			chunk := random.IntN(max(1, len(d.Chunks)))
			tens[n] = append(tens[n], index.Range{DocumentID: d.ID, From: chunk, To: chunk})
		}
	}
	return tens
}

// hitsOf returns what answers to queries show.
func hitsOf(b *testing.B, x *segments.Index, queries []string) [][]index.Range {
	b.Helper()
	snapshot, err := x.Snapshot(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer snapshot.Close()
	tens := make([][]index.Range, len(queries))
	for n, query := range queries {
		result, err := snapshot.Search(b.Context(), index.Query{Text: query, Limit: 10, PerDocument: 1, PrefixIfUnknown: true,
			Filter: index.Filter{Access: index.Access{All: true}}})
		if err != nil {
			b.Fatal(err)
		}
		for _, hit := range result.Hits {
			tens[n] = append(tens[n], index.Range{DocumentID: hit.DocumentID, From: hit.Chunk, To: hit.Chunk})
		}
	}
	return tens
}

// queries returns those of QUARRY_QUERIES; typed: the first ones, a letter more each time.
func queries(b *testing.B, typed bool) (list []string) {
	b.Helper()
	data, err := os.ReadFile(os.Getenv("QUARRY_QUERIES"))
	if err != nil {
		data = []byte(`{"text": "remote work"}`)
	}
	for line := range strings.Lines(string(data)) {
		var query struct{ Text string }
		if err := json.Unmarshal([]byte(line), &query); err != nil {
			b.Fatal(err)
		}
		if !typed {
			list = append(list, query.Text)
			continue
		}
		for end := 3; end <= len(query.Text) && len(list) < 1500; end++ {
			list = append(list, query.Text[:end])
		}
	}
	return list
}
