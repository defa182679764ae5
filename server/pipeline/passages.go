package pipeline

import (
	"context"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/index"
)

// Passages returns passages by their refs, in the order of the refs; adjacent ones are one result. Refs of what does
// not exist, or what the caller may not see, are left out.
func Passages(ctx context.Context, snapshot index.Snapshot, request Request,
	refs []string) (_ *wire.SearchResponse, err error) {
	defer guard.EndWhile("read the passages", &err)
	r := &run{Request: request, ctx: ctx, snapshot: snapshot, response: &wire.SearchResponse{},
		described: map[string]*index.Stored{}, found: make([]index.Result, 1)}
	wire.FillEmpty(r.response)
	r.response.Searched = []string{request.Profile}
	r.write(r.response, mergeOverlapping(r.sectionsNamed(refs)))
	r.noteDamage()
	return r.response, nil
}

// sectionsNamed returns the passages that refs name: an id that exists whole wins, and means the document's first
// passage.
func (r *run) sectionsNamed(refs []string) []section {
	var candidates []string
	for _, ref := range refs {
		id, _, _ := wire.SplitRef(ref)
		candidates = append(candidates, ref, id)
	}
	r.look(candidates)
	var hits []index.Hit
	for _, ref := range refs {
		id, chunk := ref, 0
		if r.described[ref] == nil {
			id, chunk, _ = wire.SplitRef(ref)
		}
		if d := r.described[id]; d != nil && chunk < d.ChunkCount {
			hits = append(hits, index.Hit{DocumentID: id, Chunk: chunk})
		}
	}
	return listedSections(hits)
}
