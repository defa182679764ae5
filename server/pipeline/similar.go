package pipeline

import (
	"fmt"
	"strings"

	"quarry/server/fault"
)

// like prepares a search for passages like one: the question is that passage's rarest words, beside its vector where
// there is one and a model is configured. Its own document is left out. The error is fault.ErrNotFound for a passage
// that the caller may not see.
func (r *run) like() error {
	if r.Search.SimilarTo == "" {
		return nil
	}
	named, err := r.sectionsNamed([]string{r.Search.SimilarTo})
	if err == nil && len(named) == 0 {
		err = fault.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("similar_to: %w", err)
	}
	like := named[0].center
	found, err := r.snapshot.Like(r.ctx, like.document, like.chunk, r.Access)
	if err != nil {
		return fmt.Errorf("similar_to: %w", err)
	}
	r.Search.Query = strings.TrimSpace(r.Search.Query + " " + strings.Join(found.Words, " "))
	r.Search.Prefix, r.Search.Instant, r.Search.Browse = false, false, false // its words are whole, and searched for
	r.filter.NoDocuments = append(r.filter.NoDocuments, like.document)
	if r.Embedder != nil && len(found.Vector.Values) > 0 && !r.inTime() {
		r.similar = found.Vector
	}
	return nil
}
