package pipeline

import (
	"errors"
	"fmt"
	"strings"

	"quarry/client/wire"
	"quarry/server/fault"
	"quarry/server/index"
)

// like prepares a search for passages like one: the question is that passage's rarest words, beside its vector where
// there is one and a model is configured. Its own document is left out. The error is fault.ErrNotFound for a passage
// that the caller may not see.
func (r *run) like() error {
	if r.Search.SimilarTo == "" {
		return nil
	}
	found, id, err := r.passageNamed(r.Search.SimilarTo)
	if err != nil {
		return fmt.Errorf("similar_to: %w", err)
	}
	r.Search.Query = strings.TrimSpace(r.Search.Query + " " + strings.Join(found.Words, " "))
	r.Search.Prefix, r.Search.Instant, r.Search.Browse = false, false, false // its words are whole, and searched for
	r.filter.NoDocuments = append(r.filter.NoDocuments, id)
	if r.Embedder != nil && len(found.Vector.Values) > 0 && !r.inTime() {
		r.similar = found.Vector
	}
	return nil
}

// passageNamed reads a ref: an id that exists whole wins, and means the document's first passage.
func (r *run) passageNamed(ref string) (found index.Likeness, id string, err error) {
	found, err = r.snapshot.Like(r.ctx, ref, 0, r.Access)
	if !errors.Is(err, fault.ErrNotFound) {
		return found, ref, err
	}
	id, chunk, ok := wire.SplitRef(ref)
	if ok {
		found, err = r.snapshot.Like(r.ctx, id, chunk, r.Access)
	}
	return found, id, err
}
