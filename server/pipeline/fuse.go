package pipeline

import (
	"cmp"
	"slices"

	"quarry/server/index"
)

// rrfK dampens the advantage of the first ranks in reciprocal rank fusion (Onyx: RRF_K_VALUE).
const rrfK = 50

// rankedList is the result of one query, best first.
type rankedList struct {
	query  string // followed by byVector for a search by vector
	weight float64
	hits   []index.Hit
}

type chunkID struct {
	document string
	chunk    int
}

// fusedChunk is a chunk in the fused ranking.
type fusedChunk struct {
	chunkID
	remote  *remotePassage // nil: ours
	fused   float64        // Σ weight / (rrfK + rank)
	score   float64        // the engine's, from the list with the highest weight
	weight  float64        // of the list of score
	firstAt int            // rank in the list where it first appeared
	firstIn int            // index of that list
}

// side returns 0 for our chunks and 1 for passages of federated sources.
func (c fusedChunk) side() int {
	if c.remote == nil {
		return 0
	}
	return 1
}

// fuse merges rankings by weighted reciprocal rank fusion: Σ weight / (50 + rank), with ranks from 1. Ties are broken
// by the rank in the list where a chunk appeared first, then by that list's position.
func fuse(lists []rankedList) []fusedChunk {
	hits := 0
	for _, list := range lists {
		hits += len(list.hits)
	}
	fused, at := make([]fusedChunk, 0, hits), make(map[chunkID]int, hits)
	for l, list := range lists {
		for i, hit := range list.hits {
			rank := i + 1
			id := chunkID{hit.DocumentID, hit.Chunk}
			place, known := at[id]
			if !known {
				place = len(fused)
				at[id] = place
				fused = append(fused, fusedChunk{chunkID: id, firstAt: rank, firstIn: l})
			}
			c := &fused[place]
			c.fused += list.weight / float64(rrfK+rank)
			if list.weight > c.weight {
				c.weight, c.score = list.weight, hit.Score
			}
		}
	}
	slices.SortStableFunc(fused, func(a, b fusedChunk) int {
		return cmp.Or(cmp.Compare(b.fused, a.fused), cmp.Compare(a.firstAt, b.firstAt), cmp.Compare(a.firstIn, b.firstIn))
	})
	return fused
}

// ranksOf returns the ranks of a chunk, from 1, by query.
func ranksOf(id chunkID, lists []rankedList) map[string]int {
	ranks := map[string]int{}
	for _, list := range lists {
		at := slices.IndexFunc(list.hits, func(hit index.Hit) bool { return chunkID{hit.DocumentID, hit.Chunk} == id })
		if _, known := ranks[list.query]; at >= 0 && !known {
			ranks[list.query] = at + 1
		}
	}
	return ranks
}
