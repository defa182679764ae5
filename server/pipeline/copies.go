package pipeline

import (
	"slices"

	"quarry/client/wire"
)

// maxCopies bounds the documents that a result lists as copies.
const maxCopies = 50

// foldCopies keeps one of several near-duplicate passages of different documents, in the place of the best-ranked one.
// All of them passed the caller's rights and filters, so what the filters rule out is neither shown nor named. Passages
// of a document that is shown already are preferred: a copied document does not alternate with its original.
func (r *run) foldCopies(ranked []fusedChunk) []fusedChunk {
	r.copies = map[chunkID][]string{}
	shown := map[string]bool{}
	groups := groupCopies(ranked)
	kept := make([]fusedChunk, 0, len(groups))
	for _, group := range groups {
		chosen := r.chooseCopy(group, shown)
		shown[chosen.document] = true
		kept = append(kept, chosen)
		var others []string
		for _, c := range group {
			if c.document != chosen.document && !slices.Contains(others, c.document) {
				others = append(others, c.document)
			}
		}
		if len(others) > 0 {
			r.copies[chosen.chunkID] = others
		}
	}
	return kept
}

// groupCopies groups passages with the first one that they are copies of, in the order of the ranking. Passages of one
// document are never copies of each other: they are parts of one text.
func groupCopies(ranked []fusedChunk) [][]fusedChunk {
	groups := make([][]fusedChunk, 0, len(ranked))
	for i, c := range ranked {
		of := -1
		if c.print != 0 {
			of = slices.IndexFunc(groups, func(group []fusedChunk) bool {
				return group[0].document != c.document && group[0].print.CopyOf(c.print)
			})
		}
		if of < 0 {
			groups = append(groups, ranked[i:i+1:i+1])
			continue
		}
		groups[of] = append(groups[of], c)
	}
	return groups
}

// chooseCopy returns the passage of a group to show: that of the latest version of the document, else one of a document
// that is shown anyway, else the best-ranked one.
func (r *run) chooseCopy(group []fusedChunk, shown map[string]bool) fusedChunk {
	latest := r.newer[group[0].document]
	if at := slices.IndexFunc(group, func(c fusedChunk) bool { return c.document == latest }); at >= 0 {
		return group[at]
	}
	if at := slices.IndexFunc(group, func(c fusedChunk) bool { return shown[c.document] }); at >= 0 {
		return group[at]
	}
	return group[0]
}

// copiesOf returns the ids of documents with copies of a section's passages.
func (r *run) copiesOf(s section) (ids []string) {
	for chunk := s.start; chunk <= s.end && len(r.copies) > 0; chunk++ {
		for _, id := range r.copies[chunkID{s.document, chunk}] {
			if id != s.document && !slices.Contains(ids, id) && len(ids) < maxCopies {
				ids = append(ids, id)
			}
		}
	}
	return ids
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
	if d := r.described[r.newer[s.document]]; d != nil {
		result.Newer = &wire.NewerDocument{DocumentID: d.ID, Title: d.Title, UpdatedAt: Timestamp(d.UpdatedAt)}
	}
}
