package indextest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"quarry/client/field"
	"quarry/server/index"
)

// needles is the number of texts that testVectors distinguishes, each by a dimension of its own.
const needles = 12

// needleVectors points every text that holds "needle N" into dimension N.
func needleVectors(t *testing.T, asked map[string]int) index.Vectorise {
	numbered := regexp.MustCompile(`needle (\d+)`)
	return func(_ context.Context, texts []string) ([][]float32, error) {
		var vectors [][]float32
		for _, text := range texts {
			asked[text]++
			found := numbered.FindStringSubmatch(text)
			if found == nil {
				t.Errorf("the text of a chunk is not in %q", text)
				return nil, errors.New("no needle")
			}
			n, err := strconv.Atoi(found[1])
			if err != nil {
				return nil, err
			}
			vectors = append(vectors, needle(n))
		}
		return vectors, nil
	}
}

func needle(n int) []float32 {
	v := make([]float32, needles)
	v[n] = 1
	return v
}

// testVectors: a chunk is found by the vector of its text, under the filter, for as long as it is there, and by the model
// that made the vector alone; no text is embedded twice.
func testVectors(t *testing.T, l *library) {
	ctx := context.Background()
	var batch index.Batch
	for n := range needles {
		d := index.Document{ID: fmt.Sprintf("doc%02d", n/2), Source: "file", Access: []string{"PUBLIC"}}
		if n%2 == 1 {
			batch.Upsert[n/2].Chunks = append(batch.Upsert[n/2].Chunks, index.Chunk{Text: fmt.Sprintf("needle %d", n)})
			continue
		}
		if n == 4 {
			d.Access = []string{"group:legal"}
		}
		d.Chunks = []index.Chunk{{Text: fmt.Sprintf("needle %d", n)}}
		batch.Upsert = append(batch.Upsert, d)
	}
	l.write(t, batch)
	asked := map[string]int{}
	embed := func(model string) {
		t.Helper()
		if err := l.Embed(ctx, index.Embedding{Model: model, Vectors: needleVectors(t, asked)}); err != nil {
			t.Fatal(err)
		}
	}
	// find expects the needle as the first hit, or, with want false, not at all.
	find := func(n int, model string, filter index.Filter, want bool) {
		t.Helper()
		s := l.snapshot(t)
		defer s.Close()
		hits, err := s.Nearest(ctx, index.Vector{Model: model, Values: needle(n)},
			index.Query{Filter: filter, Limit: 3, PerDocument: 1})
		if err != nil || len(hits) > 3 {
			t.Fatalf("%d hits, %v", len(hits), err)
		}
		found := len(hits) > 0 && math.Abs(hits[0].Score-1) < 0.001
		if found != want || found && (hits[0].DocumentID != fmt.Sprintf("doc%02d", n/2) || hits[0].Chunk != n%2) {
			t.Errorf("needle %d by %s: %v", n, model, hits)
		}
	}
	all, public := index.Filter{Access: everything}, index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}}
	find(3, "m", all, false)
	embed("m")
	for n := range needles {
		find(n, "m", all, true)
		find(n, "m", public, n/2 != 2)
		find(n, "m", index.Filter{Access: everything, Any: field.Keys{field.Source: {"web"}}}, false)
	}
	find(3, "other", all, false)
	if _, err := l.UpdateAccess(ctx, []index.AccessPatch{{ID: "doc02", Access: []string{"PUBLIC"}}}); err != nil {
		t.Fatal(err)
	}
	find(4, "m", public, true)
	l.write(t, index.Batch{Delete: []string{"doc01"}})
	find(3, "m", all, false)
	embed("m")
	for text, times := range asked {
		if times != 1 {
			t.Errorf("%q was embedded %d times", text, times)
		}
	}
	embed("other")
	find(5, "other", all, true)
}

// testFirstVectors: documents that were opened get their vectors before others, then those that changed last do.
func testFirstVectors(t *testing.T, l *library) {
	const many = 200
	for from := 0; from < many; from += many / 2 { // two segments
		var batch index.Batch
		for n := from; n < from+many/2; n++ {
			batch.Upsert = append(batch.Upsert, index.Document{ID: fmt.Sprintf("doc%03d", n), Source: "file",
				Access: []string{"PUBLIC"}, UpdatedAt: time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC),
				Chunks: []index.Chunk{{Text: fmt.Sprintf("needle %d", n)}}})
		}
		l.write(t, batch)
	}
	var order []string
	numbered := regexp.MustCompile(`needle \d+`)
	opened := []string{"doc020", "gone", "doc150", "doc003"}
	err := l.Embed(context.Background(), index.Embedding{Model: "m", Opened: func() []string { return opened },
		Vectors: func(_ context.Context, texts []string) ([][]float32, error) {
			for _, text := range texts {
				order = append(order, numbered.FindString(text))
			}
			return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
		}})
	if err != nil || len(order) != many {
		t.Fatalf("%d of %d texts: %v", len(order), many, err)
	}
	if first := slices.Sorted(slices.Values(order[:3])); !slices.Equal(first, []string{"needle 150", "needle 20", "needle 3"}) {
		t.Errorf("opened documents, and %q come first", first)
	}
	if order[3] != "needle 199" {
		t.Errorf("%q comes next", order[3])
	}
}
