package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quarry/client/wire"
	"quarry/server/fault"
	"quarry/server/index"
)

// maxCopies bounds the documents that a result lists as copies.
const maxCopies = 50

// foldCopies keeps one of several documents with the same text, the best-ranked one: of the latest version, if there
// are several. All of them passed the caller's rights and filters, and all match or none does, so what the filters rule
// out is neither shown nor named. Fingerprints tell which texts are worth comparing.
func (r *run) foldCopies(ctx context.Context, ranked []fusedChunk) ([]fusedChunk, error) {
	type place struct {
		print   index.Fingerprint
		chunk   int
		matches bool
	}
	r.copies = map[string][]string{}
	first, folded := map[place][]string{}, map[string]bool{} // by document: whether it is folded
	for _, c := range ranked {
		at := place{c.print, c.chunk, r.matches[c.document]}
		_, compared := folded[c.document]
		if folded[c.document] || c.print == 0 {
			continue
		}
		for i := 0; i < len(first[at]) && !compared && !folded[c.document]; i++ {
			of := first[at][i]
			same, err := r.sameText(ctx, of, c.document)
			if err != nil {
				return nil, err
			}
			if same {
				folded[c.document] = true
				r.copies[of] = append(r.copies[of], c.document)
			}
		}
		if !folded[c.document] {
			folded[c.document] = false
			first[at] = append(first[at], c.document)
		}
	}
	return slices.DeleteFunc(ranked, func(c fusedChunk) bool { return folded[c.document] }), nil
}

// sameText reports whether two documents have the same text; false for one that cannot be read.
func (r *run) sameText(ctx context.Context, a, b string) (bool, error) {
	documents, err := r.documents(ctx, []section{{document: a}, {document: b}})
	if err != nil {
		return false, err
	}
	if documents[a] == nil || documents[b] == nil || documents[a].ChunkCount != documents[b].ChunkCount {
		return false, nil
	}
	var texts [2][]index.Chunk
	for i, id := range []string{a, b} {
		texts[i], err = r.snapshot.Chunks(ctx, id, 0, documents[id].ChunkCount-1, r.Access)
		if errors.Is(err, fault.ErrNotFound) || errors.Is(err, fault.ErrDamaged) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("compare copies: %w", err)
		}
	}
	return slices.EqualFunc(texts[0], texts[1], func(a, b index.Chunk) bool {
		return a.Text == b.Text && !a.Damaged && !b.Damaged
	}), nil
}

// copiesOf returns the ids of documents with the text of a section's document, as many as a result lists.
func (r *run) copiesOf(s section) []string {
	copies := r.copies[s.document]
	return copies[:min(len(copies), maxCopies)]
}

// relate adds to a result the documents with copies of it, and the newer version of its own. Those that the caller may
// not see were never found; those removed meanwhile are left out.
func (r *run) relate(result *wire.SearchResult, s section) {
	for _, id := range r.copiesOf(s) {
		if d := r.described[id]; d != nil {
			result.AlsoIn = append(result.AlsoIn, wire.DocumentCopy{DocumentID: id, Title: d.Title,
				Link: Link(r.FileLinks, d.Link), SourceType: d.Source})
		}
	}
	result.AlsoInCount = len(r.copies[s.document])
	if d := r.described[r.newer[s.document]]; d != nil {
		result.Newer = &wire.NewerDocument{DocumentID: d.ID, Title: d.Title, UpdatedAt: Timestamp(d.UpdatedAt)}
	}
}
