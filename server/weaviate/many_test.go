package weaviate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/segments"
)

// many are more documents than a search proposes: of some no time is known, and many have the same one.
func many() (documents []index.Document) {
	for i := range 3000 {
		d := index.Document{ID: fmt.Sprintf("doc-%04d", i*7919%3000), Title: fmt.Sprintf("Note %d", i), Source: []string{"web", "file", "wiki"}[i%3],
			Access: []string{"PUBLIC"}, Authors: []index.Person{{Name: fmt.Sprintf("Author %d", i%5)}},
			Metadata: []index.Field{{Key: "area", Values: []string{fmt.Sprintf("a%d", i%4)}}}, Type: "md"}
		if i%10 == 9 {
			d.Access = []string{"group:staff"}
			d.Authors = []index.Person{{Name: "Secret author"}}
		}
		switch day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); i % 4 {
		case 0:
			d.UpdatedAt = day.AddDate(0, 0, i%7) // about a hundred of each day
		case 1:
			d.UpdatedAt = day.Add(time.Duration(i) * time.Hour)
		case 2:
			d.UpdatedAt = time.Date(1960+i%40, 3, 1, 0, 0, 0, i*1000, time.UTC)
		}
		text := "The lantern hangs in the boathouse"
		if i%2 == 0 {
			text += ", and the kettle is on the stove"
		}
		if i%3 == 0 {
			text = "A kettle for the lantern" + text[11:]
		}
		if i%50 != 49 { // the others have no text
			d.Chunks = []index.Chunk{{Text: text + fmt.Sprintf(", number %d.", i)}}
		}
		documents = append(documents, d)
	}
	return documents
}

// walk returns what all pages of a list have, and what is counted on the first and on a later one.
func walk(t *testing.T, s index.Snapshot, query index.Query, size int) (ids []string, first, later index.Counts) {
	t.Helper()
	for offset := 0; ; offset += size {
		query.List = &index.List{Offset: offset, Documents: size, Order: query.List.Order, Browse: query.List.Browse}
		query.Count = true
		result, err := s.Search(t.Context(), query)
		if err != nil {
			t.Fatalf("page from %d: %v", offset, err)
		}
		var page []string
		for _, hit := range result.Hits {
			page = append(page, hit.DocumentID)
		}
		if ids = append(ids, page...); offset <= size {
			counts, err := result.Matched.Count(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if offset == 0 {
				first = counts
			}
			later = counts
		}
		if len(page) == 0 {
			return ids, first, later
		}
	}
}

// facetsOf returns the counts of values.
func facetsOf(c index.Counts) map[string]int {
	all := map[string]int{}
	for _, row := range field.All() {
		for _, v := range c.Values[row.ID] {
			all[row.Name+" "+v.Value] = v.Count
		}
	}
	for _, month := range c.Months {
		all["month "+month.Value] = month.Count
	}
	return all
}

// checkCounts holds counts to the true ones: they are equal, or lower and called estimates.
func checkCounts(t *testing.T, counts, want index.Counts) {
	t.Helper()
	if counts.Documents > want.Documents || !counts.Estimated && counts.Documents != want.Documents {
		t.Errorf("counts %d documents (estimated: %v), there are %d", counts.Documents, counts.Estimated, want.Documents)
	}
	if counts.Undated > want.Undated || !counts.Estimated && counts.Undated != want.Undated {
		t.Errorf("counts %d undated documents (estimated: %v), there are %d", counts.Undated, counts.Estimated, want.Undated)
	}
	have, all := facetsOf(counts), facetsOf(want)
	for value, n := range have {
		if n > all[value] {
			t.Errorf("counts %d of %s, there are %d", n, value, all[value])
		}
	}
	if !counts.Estimated && !maps.Equal(have, all) {
		t.Errorf("counts %v, not %v", have, all)
	}
}

// TestManyDocuments: with more documents than a search reads, the pages of a list have each document once, in the order of the
// embedded engine where that is one of times, and no count is more than the truth.
func TestManyDocuments(t *testing.T) {
	cluster(t)
	reference, x, times := openMany(t)
	want, s := snapshotOf(t, reference), snapshotOf(t, x)
	public := index.Access{Terms: []string{"PUBLIC"}}
	for _, test := range []struct {
		name    string
		query   index.Query
		partial bool // Weaviate cannot say which documents match
	}{
		{"a common word", index.Query{Text: "lantern"}, false},
		{"two", index.Query{Text: "kettle lantern", Filter: index.Filter{Any: field.Keys{field.Source: {"web"}}}}, false},
		{"a filter of few", index.Query{Text: "boathouse", Filter: index.Filter{Any: field.Keys{field.Source: {"wiki"}, field.Tag: {field.Pair("area", "a1")},
			field.Author: {"Author 2"}}}}, false},
		{"a time", index.Query{Text: "boathouse", Filter: index.Filter{Since: time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)}}, false},
		{"without a word", index.Query{Text: "lantern", Exclude: []string{"stove"}}, false},
		{"a phrase", index.Query{Text: "boathouse", Phrases: []string{"for the lantern"}}, true},
		{"without a phrase", index.Query{Text: "boathouse", Exclude: []string{"for the lantern"}}, true},
		{"all", index.Query{}, false},
		{"all of a source", index.Query{Filter: index.Filter{Any: field.Keys{field.Source: {"web"}}, None: field.Keys{field.Tag: {field.Pair("area", "a2")}}}}, false},
		{"all without a word", index.Query{Exclude: []string{"kettle"}}, false},
	} {
		for _, order := range []index.Order{index.ByScore, index.Newest, index.Oldest} {
			for who, access := range map[string]index.Access{"public": public, "all": {All: true}} {
				if test.query.Text == "" && order == index.ByScore || who == "all" && len(test.query.Filter.Any[field.Source]) > 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d/%s", test.name, order, who), func(t *testing.T) {
					query := test.query
					query.Filter.Access, query.List = access, &index.List{Order: order, Browse: query.Text == ""}
					listed, counts, _ := walk(t, want, query, 500)
					got, first, later := walk(t, s, query, 230)
					if counts.Documents != len(listed) {
						t.Fatalf("the embedded engine lists %d of %d", len(listed), counts.Documents)
					}
					checkCounts(t, first, counts)
					if fmt.Sprint(first) != fmt.Sprint(later) {
						t.Errorf("the second page counts %v, the first %v", later, first)
					}
					if len(got) < first.Documents {
						t.Errorf("%d documents are counted, pages have %d", first.Documents, len(got))
					}
					if !test.partial && (len(got) != len(listed) || first.Estimated && order != index.ByScore) {
						t.Errorf("lists %d of %d documents (estimated: %v)", len(got), len(listed), first.Estimated)
					}
					for at, id := range got {
						if slices.Contains(got[:at], id) {
							t.Fatalf("%s is there twice, at %d", id, at)
						}
						if !slices.Contains(listed, id) {
							t.Fatalf("%s does not match", id)
						}
						if order != index.ByScore && !times[id].Truncate(time.Second).Equal(times[listed[at]].Truncate(time.Second)) {
							t.Fatalf("at %d is a document of %v, not of %v", at, times[id], times[listed[at]])
						}
					}
				})
			}
		}
		t.Run(test.name+"/search", func(t *testing.T) {
			query := test.query
			query.Filter.Access, query.Limit, query.Count = public, 50, true
			compareCounts(t, want, s, query, test.partial)
		})
	}
	t.Run("rights that Weaviate does not know yet", func(t *testing.T) { staleRights(t, x) })
}

// openMany opens both engines with many documents, and returns the times of these.
func openMany(t *testing.T) (reference *segments.Index, x *Index, times map[string]time.Time) {
	reference, err := segments.Open(t.Context(), segments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reference.Close() })
	x = open(t, t.TempDir(), uuid.NewString())
	t.Cleanup(func() { _ = x.Close() })
	times = map[string]time.Time{}
	for some := range slices.Chunk(many(), 500) {
		for _, into := range []index.Index{reference, x} {
			if _, err := into.Write(t.Context(), index.Batch{Upsert: some}); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range some {
			times[d.ID] = d.UpdatedAt
		}
	}
	if err := x.Settle(t.Context(), func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	return reference, x, times
}

// compareCounts holds what a search and a filter count to what the embedded engine counts.
func compareCounts(t *testing.T, want, s index.Snapshot, query index.Query, partial bool) {
	var counts [2]index.Counts
	for i, s := range []index.Snapshot{want, s} {
		result, err := s.Search(t.Context(), query)
		if err == nil {
			counts[i], err = result.Matched.Count(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	checkCounts(t, counts[1], counts[0])
	if !partial && counts[1].Documents != counts[0].Documents {
		t.Errorf("counts %d of %d documents", counts[1].Documents, counts[0].Documents)
	}
	all, err := want.Facets(t.Context(), query.Filter)
	if err != nil {
		t.Fatal(err)
	}
	facets, err := s.Facets(t.Context(), query.Filter)
	if err != nil || facets.Estimated {
		t.Fatalf("estimated: %v, %v", facets.Estimated, err)
	}
	checkCounts(t, facets, all)
}

func snapshotOf(t *testing.T, x index.Index) index.Snapshot {
	t.Helper()
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// staleRights takes documents away while nobody follows the log.
func staleRights(t *testing.T, x *Index) {
	if ok, err := x.Store.Lease(t.Context(), x.follower(className("")), x.holder, time.Now()); !ok || err != nil {
		t.Fatal("the log is followed elsewhere", err)
	}
	if ok, err := x.Store.Lease(t.Context(), x.follower(className("")), "the test", time.Now().Add(time.Hour)); !ok || err != nil {
		t.Fatal("cannot keep the log", err)
	}
	var patches []index.AccessPatch
	gone := map[string]bool{}
	for i, d := range many() {
		if d.Source == "web" && i%10 != 9 {
			gone[d.ID] = true
			patches = append(patches, index.AccessPatch{ID: d.ID, Access: []string{"group:staff"}})
		}
	}
	if _, err := x.Store.UpdateAccess(context.Background(), patches); err != nil {
		t.Fatal(err)
	}
	for _, changes := range []int{maxChanged, len(patches) + 1} {
		x.changes = changes
		s := snapshotOf(t, x)
		filter := index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}}
		for _, list := range []index.List{{}, {Order: index.Newest}, {Order: index.Oldest, Browse: true}} {
			query := index.Query{Text: "lantern", Filter: filter, List: &list}
			if list.Browse {
				query.Text = ""
			}
			ids, counts, _ := walk(t, s, query, 230)
			if slices.ContainsFunc(ids, func(id string) bool { return gone[id] }) {
				t.Errorf("changes %d, list %v: a document is shown that the caller may see no more", changes, list)
			}
			if counts.Documents > 3000-300-len(patches) || facetsOf(counts)["source web"] > 0 || !counts.Estimated {
				t.Errorf("changes %d, list %v: counts %+v", changes, list, counts)
			}
		}
		facets, err := s.Facets(t.Context(), filter)
		if err != nil || facetsOf(facets)["source web"] > 0 || facets.Estimated != (changes < len(patches)) {
			t.Errorf("changes %d: facets %+v, %v", changes, facets, err)
		}
	}
	fresh := index.Document{ID: "fresh", Source: "mail", Access: []string{"PUBLIC"}, Chunks: []index.Chunk{{Text: "A lantern."}}}
	if _, err := x.Store.Write(t.Context(), index.Batch{Upsert: []index.Document{fresh}}); err != nil {
		t.Fatal(err)
	}
	x.changes = len(patches) + 1
	facets, err := snapshotOf(t, x).Facets(t.Context(), index.Filter{Access: index.Access{Terms: []string{"PUBLIC"}}})
	if err != nil || facetsOf(facets)["source mail"] != 1 || facets.Documents != 3000-300-len(patches)+1 || facets.Estimated {
		t.Errorf("with a new document: facets %+v, %v", facets, err)
	}
}
