package weaviate

import (
	"context"
	"slices"
	"strings"
	"testing"

	"quarry/server/index"
)

// TestNewModel: as long as the collection of a new model is being filled, the one before is searched, and then removed.
func TestNewModel(t *testing.T) {
	f := &faulty{unfilled: className("m")}
	x, err := openAt(t, f.start(t))
	if err != nil {
		t.Fatal(err)
	}
	x.client.patience = 0
	put(t, x, document("a", "PUBLIC"), document("b", "PUBLIC"))
	if err := x.Embed(t.Context(), index.Embedding{Model: "m", Vectors: func(_ context.Context, texts []string) ([][]float32, error) {
		return slices.Repeat([][]float32{{1, 0}}, len(texts)), nil
	}}); err != nil {
		t.Fatal(err)
	}
	expect := func(class string) {
		t.Helper()
		if got, err := search(t, x, index.Access{All: true}); err != nil || !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("found %q, %v", got, err)
		}
		f.mutex.Lock()
		defer f.mutex.Unlock()
		if f.searched != class {
			t.Errorf("searched %s, not %s", f.searched, class)
		}
	}
	expect(className(""))
	if got := stats(t, x); !strings.Contains(got.Engine, "words only, while the collection of m is filled") {
		t.Errorf("stats %+v", got)
	}
	s, err := x.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hits, err := s.Nearest(t.Context(), index.Vector{Model: "m", Values: []float32{1, 0}}, index.Query{Limit: 1, Filter: index.Filter{Access: index.Access{All: true}}})
	if s.Close(); err != nil || len(hits) > 0 {
		t.Errorf("near in vectors of another model: %+v, %v", hits, err)
	}
	f.mutex.Lock()
	f.unfilled = ""
	f.mutex.Unlock()
	for removed := false; !removed; {
		next := x.following.Next()
		x.following.Wake()
		<-next
		f.mutex.Lock()
		removed = len(f.deleted) == 2
		f.mutex.Unlock()
	}
	if want := []string{"/v1/schema/" + className("") + "/tenants", "/v1/schema/" + className("")}; !slices.Equal(f.deleted, want) {
		t.Errorf("deleted %q, not %q", f.deleted, want)
	}
	expect(className("m"))
	if got := stats(t, x); strings.Contains(got.Engine, "words only") {
		t.Errorf("stats %+v", got)
	}
}
