package pipeline

import (
	"strings"

	"quarry/internal/guard"
	"quarry/server/fault"
)

// like prepares a search for passages like one: the question is that passage's rarest words, beside its vector where
// there is one and a model is configured. Its own document is left out. The error is fault.ErrNotFound for a passage
// that the caller may not see.
func (r *run) like() {
	if r.Search.SimilarTo == "" {
		return
	}
	named := r.sectionsNamed([]string{r.Search.SimilarTo})
	if len(named) == 0 {
		guard.Abort(fault.ErrNotFound)
	}
	like := named[0].center
	found, err := r.snapshot.Like(r.ctx, like.document, like.chunk, r.Access)
	guard.While("look for its words", err)
	r.Search.Query = strings.TrimSpace(r.Search.Query + " " + strings.Join(found.Words, " "))
	r.Search.Prefix, r.Search.Instant, r.Search.Browse = false, false, false // its words are whole, and searched for
	r.filter.NoDocuments = append(r.filter.NoDocuments, like.document)
	if r.Embedder != nil && len(found.Vector.Values) > 0 && !r.inTime() {
		r.similar = found.Vector
	}
}
