package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/index"
)

// rrfK dampens the advantage of the first ranks in reciprocal rank fusion (Onyx: RRF_K_VALUE).
const rrfK = 50

// rankedList is the result of one query, best first.
type rankedList struct {
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
	print   index.Fingerprint
	passed  int // documents that match between the chunk before this one and it, and are on other pages
}

// side returns 0 for our chunks and 1 for passages of federated sources.
func (c fusedChunk) side() int {
	if c.remote == nil {
		return 0
	}
	return 1
}

// fuse merges rankings by weighted reciprocal rank fusion (Cormack, Clarke and Büttcher, Reciprocal rank fusion
// outperforms Condorcet and individual rank learning methods, SIGIR 2009): Σ weight / (50 + rank), with ranks from 1.
// Ties are broken by the rank in the list where a chunk appeared first, then by that list's position.
func fuse(lists []rankedList) []fusedChunk {
	hits := 0
	for _, list := range lists {
		hits += len(list.hits)
	}
	fused, at := make([]fusedChunk, 0, hits), map[chunkID]int(nil)
	if len(lists) > 1 { // in one list each chunk stands once
		at = make(map[chunkID]int, hits)
	}
	for l, list := range lists {
		for i, hit := range list.hits {
			rank := i + 1
			id := chunkID{hit.DocumentID, hit.Chunk}
			place, known := at[id]
			if !known {
				if place = len(fused); at != nil {
					at[id] = place
				}
				fused = append(fused, fusedChunk{chunkID: id, firstAt: rank, firstIn: l, print: hit.Fingerprint})
			}
			c := &fused[place]
			c.fused += list.weight / float64(rrfK+rank)
			if list.weight > c.weight {
				c.weight, c.score = list.weight, hit.Score
			}
		}
	}
	slices.SortStableFunc(fused, func(a, b fusedChunk) int {
		return cmp.Or(cmp.Compare(b.fused, a.fused), cmp.Compare(a.firstAt, b.firstAt),
			cmp.Compare(a.firstIn, b.firstIn))
	})
	return fused
}

// listedSections makes a section of each document of a list.
func listedSections(hits []index.Hit) []section {
	sections := make([]section, len(hits))
	for i, hit := range hits {
		sections[i] = sectionOf(fusedChunk{chunkID: chunkID{hit.DocumentID, hit.Chunk}, score: hit.Score}, i)
		sections[i].selected = true
	}
	return sections
}

// ranksOf returns the ranks of a chunk, from 1, by query, for its hits by words and by vector.
func (r *run) ranksOf(id chunkID) map[string]int {
	ranks := map[string]int{}
	add := func(name string, hits []index.Hit) {
		at := slices.IndexFunc(hits, func(hit index.Hit) bool { return chunkID{hit.DocumentID, hit.Chunk} == id })
		if _, known := ranks[name]; at >= 0 && !known {
			ranks[name] = at + 1
		}
	}
	for i, q := range r.queries {
		add(q.Query, r.found[i].Hits)
		add(q.Query+byVector, r.nearTo(i))
	}
	return ranks
}

// defaultSections bounds the sections after the fusion, and is the number of hits that they are first made from (Onyx:
// NUM_RETURNED_HITS).
const defaultSections = 50

const (
	// hitsPerQuery does not depend on the number of results, so that the order does not: four times as many as
	// sections, since neighbouring hits merge.
	hitsPerQuery = 4 * defaultSections
	// hitsPerDocument keeps one long document from filling the results.
	hitsPerDocument = 8
	// hitsAtATime is the number of hits to add while sections are missing.
	hitsAtATime = 25
)

// maxSelected bounds the selected sections (Onyx: the selector's limit).
const maxSelected = 10

// section is a run of adjacent chunks of one document.
type section struct {
	document   string
	start, end int // chunks, inclusive
	center     fusedChunk
	rank       int // in fused order, from 0
	selected   bool
	whole      bool // shown as the whole document
}

// sectionOf returns the section of one chunk.
func sectionOf(c fusedChunk, rank int) section {
	return section{document: c.document, start: c.chunk, end: c.chunk, center: c, rank: rank}
}

// chunks returns the number of chunks.
func (s section) chunks() int {
	if s.center.remote != nil {
		return s.center.remote.chunks()
	}
	return s.end - s.start + 1
}

// aroundCenter returns up to three chunks: the center with its neighbours, or two on one side at the end of the section
// (Onyx: MAX_CHUNKS_FOR_RELEVANCE).
func (s section) aroundCenter() (from, to int) {
	const most = 3
	from = max(s.start, min(s.center.chunk-1, s.end-most+1))
	return from, min(s.end, from+most-1)
}

// sectionsOf makes sections from the first defaultSections hits, and from more only while there are fewer than wanted:
// further hits would only lengthen them.
func sectionsOf(ranked []fusedChunk, wanted int) []section {
	limit := max(defaultSections, wanted)
	for hits := min(limit, len(ranked)); ; hits = min(hits+hitsAtATime, len(ranked)) {
		sections := mergeAdjacent(ranked[:hits], limit)
		if len(sections) >= wanted || hits == len(ranked) {
			return sections
		}
	}
}

// mergeAdjacent merges adjacent chunks of a document into sections. The center of a section is its best chunk, and its
// rank is that chunk's. It returns at most limit sections.
func mergeAdjacent(ranked []fusedChunk, limit int) []section {
	ranks := make([]int, len(ranked)) // sorted by document, ours first, and chunk
	for i := range ranks {
		ranks[i] = i
	}
	slices.SortFunc(ranks, func(i, j int) int {
		a, b := ranked[i], ranked[j]
		return cmp.Or(strings.Compare(a.document, b.document), a.side()-b.side(), a.chunk-b.chunk, i-j)
	})
	var sections []section
	for _, rank := range ranks {
		c := ranked[rank]
		if n := len(sections); n > 0 && sections[n-1].precedes(c) {
			s := &sections[n-1]
			if s.end = c.chunk; rank < s.rank {
				s.center, s.rank = c, rank
			}
			continue
		}
		sections = append(sections, sectionOf(c, rank))
	}
	sections = sortByRank(sections)
	sections = sections[:min(len(sections), limit)]
	for i := range sections {
		sections[i].rank = i
	}
	return sections
}

// precedes reports whether a chunk directly follows the section. Passages of federated sources are never merged.
func (s section) precedes(c fusedChunk) bool {
	return s.document == c.document && s.end+1 == c.chunk && s.center.remote == nil && c.remote == nil
}

// choose splits sections into the picked ones, at most *wanted and in the order of the picks, and the rest.
func choose(sections []section, picks []pick, wanted *int) (chosen, rest []section) {
	if wanted != nil {
		picks = picks[:min(len(picks), *wanted)]
	}
	taken := make([]bool, len(sections))
	chosen, rest = make([]section, 0, len(picks)), make([]section, 0, len(sections))
	for _, p := range picks {
		s := sections[p.section]
		s.selected, s.whole = true, p.whole
		chosen = append(chosen, s)
		taken[p.section] = true
	}
	for i, s := range sections {
		if !taken[i] {
			rest = append(rest, s)
		}
	}
	return chosen, rest
}

// firstSections chooses the first ten, for searches without a model.
func firstSections(sections []section, wanted *int) (chosen, rest []section) {
	picks := make([]pick, min(len(sections), maxSelected))
	for i := range picks {
		picks[i].section = i
	}
	return choose(sections, picks, wanted)
}

// sortByRank restores the fused order.
func sortByRank(sections []section) []section {
	slices.SortStableFunc(sections, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	return sections
}

// arrange returns the sections of the answer: the chosen ones, merged and within the caller's context limit, followed
// by others up to the requested number of results.
func arrange(chosen, rest []section, search wire.SearchRequest) []section {
	bounded := boundContext(mergeOverlapping(chosen), contextLimit(search))
	if search.NumResults == nil {
		return slices.DeleteFunc(bounded, func(s section) bool { return !s.selected })
	}
	for _, s := range rest {
		if len(bounded) >= *search.NumResults {
			break
		}
		if s, shown := withoutShown(s, bounded); !shown {
			bounded = append(bounded, s)
		}
	}
	return bounded
}

func contextLimit(search wire.SearchRequest) int {
	if search.MaxContextChunks != nil {
		return *search.MaxContextChunks
	}
	return wire.DefaultContextLimit
}

// mergeOverlapping merges overlapping and adjacent sections of a document. The result has the place and the center of
// the first one.
func mergeOverlapping(sections []section) []section {
	var merged []section
	for _, s := range sections {
		at := slices.IndexFunc(merged, s.touches)
		if at < 0 {
			merged = append(merged, s)
			continue
		}
		first := &merged[at]
		first.extend(s)
		// s may connect several separate sections.
		for i := at + 1; i < len(merged); {
			if !merged[i].touches(*first) {
				i++
				continue
			}
			first.extend(merged[i])
			merged = slices.Delete(merged, i, i+1)
		}
	}
	return merged
}

func (s *section) extend(other section) {
	s.start, s.end = min(s.start, other.start), max(s.end, other.end)
}

// touches reports whether two sections overlap or are adjacent.
func (s section) touches(other section) bool {
	return s.sameDocument(other) && s.start <= other.end+1 && other.start <= s.end+1
}

// sameDocument reports whether both belong to one document of this library. Passages of federated sources belong to
// none.
func (s section) sameDocument(other section) bool {
	return s.document == other.document && s.center.remote == other.center.remote
}

// withoutShown removes chunks from a section that others show; shown reports whether its center is one of them.
func withoutShown(s section, others []section) (rest section, shown bool) {
	for _, o := range others {
		switch {
		case !o.sameDocument(s):
		case o.end < s.center.chunk:
			s.start = max(s.start, o.end+1)
		case o.start > s.center.chunk:
			s.end = min(s.end, o.start-1)
		default:
			return s, true
		}
	}
	return s, false
}

// boundContext keeps the selected sections within limit chunks. It first removes chunks far from the centers, starting
// with the lowest-ranked section; sections that still do not fit are unselected and reduced to their center.
func boundContext(sections []section, limit int) []section {
	bounded := slices.Clone(sections)
	total := 0
	for _, s := range bounded {
		if s.selected {
			total += s.chunks()
		}
	}
	for i := len(bounded) - 1; i >= 0 && total > limit; i-- {
		s := &bounded[i]
		for s.selected && total > limit && s.chunks() > 1 && s.center.remote == nil {
			s.dropFarthest()
			total--
		}
	}
	for i := len(bounded) - 1; i >= 0 && total > limit; i-- {
		if bounded[i].selected {
			bounded[i].selected = false
			total -= bounded[i].chunks()
		}
	}
	return bounded
}

func (s *section) dropFarthest() {
	if s.end-s.center.chunk >= s.center.chunk-s.start {
		s.end--
	} else {
		s.start++
	}
}
