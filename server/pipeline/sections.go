package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"quarry/client/wire"
)

// defaultSections bounds the sections that go on from the fused ranking, and is the number of hits that they are made
// of at first (Onyx: NUM_RETURNED_HITS).
const defaultSections = 50

const (
	// hitsPerSection is how many hits are asked of each query for each section: neighbours merge, and what is wanted
	// should still be reached.
	hitsPerSection = 4
	// hitsPerDocument keeps one long document from being all that is found.
	hitsPerDocument = 8
	// hitsAtATime is how many further hits are taken while sections are wanting.
	hitsAtATime = 25
)

// maxSelected is how many sections may be kept as the answer (Onyx: the selector's limit).
const maxSelected = 10

// section is a run of neighbouring chunks of one document.
type section struct {
	document   string
	start, end int // chunks, inclusive
	center     fusedChunk
	rank       int // place in the fused order, from 0
	selected   bool
	whole      bool // all of its document was asked for
}

// chunks is the length of the section.
func (s section) chunks() int {
	if s.center.remote != nil {
		return s.center.remote.chunks()
	}
	return s.end - s.start + 1
}

// aroundCenter gives up to three chunks of the section: its center with one on either side, or with two on the side
// where there are any (Onyx: MAX_CHUNKS_FOR_RELEVANCE).
func (s section) aroundCenter() (from, to int) {
	const most = 3
	from = max(s.start, min(s.center.chunk-1, s.end-most+1))
	return from, min(s.end, from+most-1)
}

// sectionsOf makes sections of the first defaultSections hits, and of as many more as it takes to reach the number
// wanted: hits beyond would only lengthen the sections that there are.
func sectionsOf(ranked []fusedChunk, wanted int) []section {
	limit := max(defaultSections, wanted)
	for hits := min(limit, len(ranked)); ; hits = min(hits+hitsAtATime, len(ranked)) {
		sections := mergeAdjacent(ranked[:hits], limit)
		if len(sections) >= wanted || hits == len(ranked) {
			return sections
		}
	}
}

// mergeAdjacent joins chunks of one document with consecutive numbers to sections. The center of a section is its
// best-ranked chunk, and its place is that chunk's. At most limit sections are returned.
func mergeAdjacent(ranked []fusedChunk, limit int) []section {
	ranks := make([]int, len(ranked)) // by document, ours first, and chunk
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
		sections = append(sections, section{document: c.document, start: c.chunk, end: c.chunk, center: c, rank: rank})
	}
	sections = sortByRank(sections)
	sections = sections[:min(len(sections), limit)]
	for i := range sections {
		sections[i].rank = i
	}
	return sections
}

// precedes reports whether a chunk is the next of the section's document. Passages of federated sources stand by
// themselves.
func (s section) precedes(c fusedChunk) bool {
	return s.document == c.document && s.end+1 == c.chunk && s.center.remote == nil && c.remote == nil
}

// choose splits sections into those that were picked, in the order of the picks, and the others in their own order. Of
// what was picked at most *wanted are chosen.
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

// firstSections chooses the first ten: what a search without a choosing model keeps.
func firstSections(sections []section, wanted *int) (chosen, rest []section) {
	picks := make([]pick, min(len(sections), maxSelected))
	for i := range picks {
		picks[i].section = i
	}
	return choose(sections, picks, wanted)
}

// inFusedOrder brings sections back into the order of the fused ranking.
func sortByRank(sections []section) []section {
	slices.SortStableFunc(sections, func(a, b section) int { return cmp.Compare(a.rank, b.rank) })
	return sections
}

// arrange makes the answer's list of sections: the chosen ones, merged where they meet and kept within the caller's
// bound on context; then, where a number of results was asked for, others until there are as many.
func arrange(chosen, rest []section, search wire.SearchRequest) []section {
	limit := wire.DefaultContextLimit
	if search.MaxContextChunks != nil {
		limit = *search.MaxContextChunks
	}
	bounded := boundContext(mergeOverlapping(chosen), limit)
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

// mergeOverlapping joins sections of one document that overlap or touch. They stand where the first of them stood, and
// its center is theirs.
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
		// What s bridges may be several sections that were apart until now; they go to the first of them.
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

// meets reports whether two sections overlap or touch.
func (s section) touches(other section) bool {
	return s.sameDocument(other) && s.start <= other.end+1 && other.start <= s.end+1
}

// sameDocument reports whether both are parts of one document here. Passages of federated sources stand by themselves.
func (s section) sameDocument(other section) bool {
	return s.document == other.document && s.center.remote == other.center.remote
}

// beyond cuts off a section what others already show; shown says that its center is among it.
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

// boundContext keeps the selected sections within limit chunks. Chunks around the centers go first, from the
// lowest-ranked section up and from the end that lies farther from the center; sections that still do not fit are
// unselected and reduced to their center.
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
