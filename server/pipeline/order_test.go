package pipeline

import (
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

// TestOrder: what lacks a word stands behind the last match, unless meaning or a model found it.
func TestOrder(t *testing.T) {
	t.Parallel()
	lacking := index.Hit{Below: true, Missing: []string{"back"}}
	listed := func(ids string, scores ...float64) (list []index.Hit) { // lower case: matches
		for i, id := range strings.Fields(ids) {
			hit := index.Hit{}
			if id != strings.ToLower(id) {
				hit = lacking
			}
			hit.DocumentID, hit.Score = strings.ToLower(id), scores[i]
			list = append(list, hit)
		}
		return list
	}
	near := listed("x b y", 0.9, 0.8, 0.2)
	for name, c := range map[string]struct {
		words, near []index.Hit
		want        string
	}{
		"words alone":                        {listed("A b C d E", 9, 8, 7, 6, 5), nil, "b d A- C- E-"},
		"no match":                           {listed("A C", 9, 8), nil, "A- C-"},
		"meaning found what has no word":     {listed("b d", 10, 1), near, "b X~ d Y~"},
		"meaning found it more than words":   {listed("b d X", 10, 5, 1), near, "b X~ d Y~"},
		"words found it more than meaning":   {listed("X b d", 100, 1, 1), listed("x y", 0.22, 0.2), "b d X- Y~"},
		"what meaning found behind the last": {listed("b d", 10, 9), listed("b d x y", .9, .8, .4, .2), "b d X~ Y~"},
	} {
		shelf := withVectors()
		for _, id := range []string{"c", "d", "e", "x", "y"} {
			shelf.documents[id] = index.Stored{Document: index.Document{ID: id, Title: id}, ChunkCount: 1}
			shelf.chunks[id] = []index.Chunk{{Text: id}}
		}
		shelf.hits, shelf.near = c.words, c.near
		response, err := Run(t.Context(), shelf, vectorSearch("roll back"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range response.Results {
			id := r.DocumentID
			if !r.Matches {
				id = strings.ToUpper(id) + map[bool]string{true: "~", false: "-"}[r.FoundBy == wire.FoundByMeaning]
			}
			got = append(got, id)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", name, s, c.want)
		}
	}
}

// TestPagesRepeatNothing: what meaning found before a match that an earlier page lists is on that page alone.
func TestPagesRepeatNothing(t *testing.T) {
	t.Parallel()
	ranked, listed := strings.Fields("a X b Y"), strings.Fields("c d e f") // upper case: no match
	for _, page := range []struct {
		offset, rows int
		want         string
	}{{0, 3, "a X b"}, {1, 2, "X b"}, {2, 2, "Y c"}, {3, 1, "d"}, {4, 2, "e f"}, {5, 3, "f"}} {
		passed := max(0, page.offset-2) // of those that are listed
		r := &run{standings: map[string]standing{}}
		r.Search.NumResults, r.Search.Offset = &page.rows, &page.offset
		var ordered []fusedChunk
		for _, id := range slices.Concat(ranked, listed[passed:]) {
			r.standings[id] = standing{matches: id == strings.ToLower(id)}
			ordered = append(ordered, fusedChunk{chunkID: chunkID{document: id}})
		}
		ordered[len(ranked)].passed = passed
		var got []string
		for _, s := range r.page(ordered) {
			got = append(got, s.document)
		}
		if s := strings.Join(got, " "); s != page.want {
			t.Errorf("%d from %d: %s, want %s", page.rows, page.offset, s, page.want)
		}
	}
}
