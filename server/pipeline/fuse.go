package pipeline

import (
	"cmp"
	"slices"

	"quarry/server/index"
)

// rrfK damps the advantage of the first ranks in reciprocal rank fusion (Onyx: RRF_K_VALUE).
const rrfK = 50

// rankedList is what one query found, best first.
type rankedList struct {
	query  string // with byVector behind it, where it was searched for by its vector
	weight float64
	hits   []index.Hit
}

// chunkID names a chunk.
type chunkID struct {
	document string
	chunk    int
}

// fusedChunk is a chunk with its place in the fused ranking.
type fusedChunk struct {
	chunkID
	remote  *remotePassage // nil: ours
	fused   float64        // Σ weight / (rrfK + rank)
	score   float64        // the engine's, of the list that holds it at the highest weight
	weight  float64        // of the list that score comes from
	firstAt int            // rank in the list where it first appeared
	firstIn int            // index of that list
}

// side is 0 for our chunks and 1 for passages of federated sources.
func (c fusedChunk) side() int {
	if c.remote == nil {
		return 0
	}
	return 1
}

// fuse merges rankings by weighted reciprocal rank fusion: Σ weight / (50 + rank), ranks from 1. Ties go to the better
// rank in the list where a chunk first appeared, then to the earlier list.
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

// ranksOf are the ranks of a chunk, from 1, by the queries that found it.
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
