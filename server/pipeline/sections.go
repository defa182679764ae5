package pipeline

import (
	"cmp"
	"slices"
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
	selected   bool
}

// chunks is the length of the section.
func (s section) chunks() int { return s.end - s.start + 1 }

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
	type placed struct {
		rank int
		fusedChunk
	}
	byDocument := map[string][]placed{}
	for rank, c := range ranked {
		byDocument[c.document] = append(byDocument[c.document], placed{rank, c})
	}
	type placedSection struct {
		rank int
		section
	}
	var all []placedSection
	for document, chunks := range byDocument {
		slices.SortFunc(chunks, func(a, b placed) int { return cmp.Compare(a.chunk, b.chunk) })
		for i := 0; i < len(chunks); {
			best, j := chunks[i], i+1
			for j < len(chunks) && chunks[j].chunk == chunks[j-1].chunk+1 {
				if chunks[j].rank < best.rank {
					best = chunks[j]
				}
				j++
			}
			all = append(all, placedSection{best.rank, section{
				document: document, start: chunks[i].chunk, end: chunks[j-1].chunk, center: best.fusedChunk,
			}})
			i = j
		}
	}
	slices.SortFunc(all, func(a, b placedSection) int { return cmp.Compare(a.rank, b.rank) })
	sections := make([]section, 0, min(len(all), limit))
	for _, s := range all[:min(len(all), limit)] {
		sections = append(sections, s.section)
	}
	return sections
}

// selectFirst marks the first sections as selected: what a search without a selecting model keeps. It returns only
// those when wanted is nil, else the first *wanted sections, the rest of them unselected.
func selectFirst(sections []section, wanted *int) []section {
	count := maxSelected
	if wanted != nil {
		count = *wanted
	}
	kept := slices.Clone(sections[:min(len(sections), count)])
	for i := range kept {
		kept[i].selected = i < maxSelected
	}
	return kept
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
		for s.selected && total > limit && s.chunks() > 1 {
			s.dropFarthest()
			total--
		}
	}
	for i := len(bounded) - 1; i >= 0 && total > limit; i-- {
		if bounded[i].selected {
			bounded[i].selected = false
			total--
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
