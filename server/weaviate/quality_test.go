package weaviate

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"quarry/server/index"
	"quarry/server/segments"
)

// read calls yield for each line of a file of a judged collection.
func read(t *testing.T, collection, file string, yield func(line []byte)) {
	t.Helper()
	folder := os.Getenv("QUARRY_DATA")
	if folder == "" {
		t.Skip("QUARRY_DATA is not set: no collections to measure on")
	}
	data, err := os.ReadFile(filepath.Join(folder, "qrels", collection, file))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		yield(line)
	}
}

// TestQuality compares nDCG@10 with that of the embedded engine.
func TestQuality(t *testing.T) {
	cluster(t)
	for _, collection := range []string{"scifact", "handbook-sourcegraph"} {
		t.Run(collection, func(t *testing.T) { compareQuality(t, collection) })
	}
}

type line struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

func compareQuality(t *testing.T, collection string) {
	var batch index.Batch
	read(t, collection, "corpus.jsonl", func(data []byte) {
		var d line
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatal(err)
		}
		document := index.Document{ID: d.ID, Title: d.Title, Source: "file", Access: []string{"PUBLIC"}}
		if path := strings.Split(strings.TrimSuffix(d.ID, ".md"), "/"); len(path) > 1 {
			document.Path = path
		}
		words := strings.SplitAfter(d.Text, " ")
		for some := range slices.Chunk(words, 300) {
			document.Chunks = append(document.Chunks, index.Chunk{Text: strings.Join(some, "")})
		}
		batch.Upsert = append(batch.Upsert, document)
	})
	grades := map[string]map[string]float64{}
	read(t, collection, "qrels.tsv", func(data []byte) {
		f := strings.Fields(string(data))
		if grade, err := strconv.ParseFloat(f[len(f)-1], 64); err == nil {
			if grades[f[0]] == nil {
				grades[f[0]] = map[string]float64{}
			}
			grades[f[0]][strings.Join(f[1:len(f)-1], " ")] = grade
		}
	})
	var queries []line
	read(t, collection, "queries.jsonl", func(data []byte) {
		var q line
		if err := json.Unmarshal(data, &q); err != nil {
			t.Fatal(err)
		}
		if len(grades[q.ID]) > 0 {
			queries = append(queries, q)
		}
	})
	reference, err := segments.Open(t.Context(), segments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reference.Close() }()
	distributed := open(t, t.TempDir(), uuid.NewString())
	defer func() { _ = distributed.Close() }()
	measured := map[string]float64{}
	for name, x := range map[string]index.Index{"embedded": reference, "weaviate": distributed} {
		start := time.Now()
		for some := range slices.Chunk(batch.Upsert, 500) {
			if _, err := x.Write(t.Context(), index.Batch{Upsert: some}); err != nil {
				t.Fatal(err)
			}
		}
		if follower, ok := x.(index.Follower); ok {
			if err := follower.Settle(t.Context(), func(int, int) {}); err != nil {
				t.Fatal(err)
			}
		}
		added := time.Since(start)
		s, err := x.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var took []time.Duration
		for _, q := range queries {
			start := time.Now()
			result, err := s.Search(t.Context(), index.Query{Text: q.Text, Limit: 50, PerDocument: 1, Count: true,
				Filter: index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}}})
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(start))
			measured[name] += ndcg(result.Hits, grades[q.ID]) / float64(len(queries))
		}
		s.Close()
		slices.Sort(took)
		t.Logf("%s: nDCG@10 %.4f, %d documents added in %v, queries p50 %v, p95 %v", name, measured[name], len(batch.Upsert), added,
			took[len(took)/2], took[len(took)*95/100])
	}
	if math.Abs(measured["embedded"]-measured["weaviate"]) > 0.02 {
		t.Errorf("nDCG@10 %.4f, that of the embedded engine is %.4f", measured["weaviate"], measured["embedded"])
	}
}

func ndcg(hits []index.Hit, grades map[string]float64) float64 {
	gain, ideal := 0.0, 0.0
	for i, hit := range hits[:min(len(hits), 10)] {
		gain += grades[hit.DocumentID] / math.Log2(float64(i+2))
	}
	var best []float64
	for _, grade := range grades {
		best = append(best, grade)
	}
	slices.Sort(best)
	slices.Reverse(best)
	for i, grade := range best[:min(len(best), 10)] {
		ideal += grade / math.Log2(float64(i+2))
	}
	if ideal == 0 {
		return 0
	}
	return gain / ideal
}
