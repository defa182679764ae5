package pipeline

import (
	"context"
	"testing"

	"quarry/client/wire"
	"quarry/server/index"
)

func (s *shelf) Like(context.Context, string, int, index.Access) (index.Likeness, error) {
	return index.Likeness{Words: []string{"roll", "rota"}, Vector: index.Vector{Model: "nomic", Values: []float32{1, 0}}}, nil
}

// TestSimilarIsNotMeasuredByItself: the document that others shall be like has all of its own words. It must not decide
// how many of them a match has, or nothing else matches.
func TestSimilarIsNotMeasuredByItself(t *testing.T) {
	s := newShelf()
	search(t, s, wire.SearchRequest{SimilarTo: "a"})
	for _, asked := range s.asked {
		for name, filter := range map[string]index.Filter{"documents": asked.Filter, "scope": asked.ScopeFilter()} {
			if len(filter.NoDocuments) != 1 || filter.NoDocuments[0] != "a" {
				t.Errorf("%s leave out %v, want a", name, filter.NoDocuments)
			}
		}
	}
	if len(s.asked) == 0 {
		t.Error("nothing was searched")
	}
}
