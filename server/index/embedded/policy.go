package embedded

import (
	"cmp"
	"slices"

	"quarry/server/index/analysis"
)

// mergePolicy decides which segments become one. Segments of similar size are merged when there are enough of them, so that
// each document is written again only as often as the library grows tenfold, and a search looks at few segments.
type mergePolicy struct {
	fanOut      int     // segments of one tier that are merged
	floor       int64   // bytes; below it sizes do not differ
	largest     int64   // bytes of the inputs of a merge, which also bounds its memory
	deletedPart float64 // of a segment's documents, above which it is written again without them
}

func defaultMergePolicy() mergePolicy {
	return mergePolicy{fanOut: 8, floor: 512 << 10, largest: 128 << 20, deletedPart: 0.3}
}

// job is work on some segments of a state, which yields at most one segment in their place.
type job struct {
	parts []*part
	// analyse makes the segment from the stored texts: the analyser has changed since it was written.
	analyse bool
}

// pick returns the most useful job; ok is false when all is well.
func (m mergePolicy) pick(parts []*part) (work job, ok bool) {
	alone := func(fits func(*part) bool) bool {
		if i := slices.IndexFunc(parts, fits); i >= 0 {
			work = job{parts: parts[i : i+1], analyse: parts[i].live() > 0 && stale(parts[i])}
			return true
		}
		return false
	}
	if alone(func(p *part) bool { return p.live() == 0 }) {
		return work, true
	}
	if group := m.fullTier(parts); group != nil {
		return job{parts: group}, true
	}
	return work, alone(func(p *part) bool {
		return float64(p.documents-p.live()) > m.deletedPart*float64(p.documents)
	}) || alone(stale)
}

func stale(p *part) bool { return p.segment.reader.AnalyserVersion() != analysis.Version }

// fullTier finds enough segments of similar size and the same analyser, the smallest tier first.
func (m mergePolicy) fullTier(parts []*part) []*part {
	type tier struct{ level, analyser int }
	tiers := make(map[tier][]*part)
	for _, p := range parts {
		if size := m.liveBytes(p); size*2 <= m.largest {
			key := tier{m.level(size), p.segment.reader.AnalyserVersion()}
			tiers[key] = append(tiers[key], p)
		}
	}
	keys := make([]tier, 0, len(tiers))
	for key, group := range tiers {
		if len(group) >= m.fanOut {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	smallest := slices.MinFunc(keys, func(a, b tier) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.analyser, b.analyser))
	})
	return m.fitting(tiers[smallest])
}

// fitting takes the smallest segments of a tier whose sum is within the limit; all of them, as a backlog is merged at
// the price of one merge.
func (m mergePolicy) fitting(group []*part) []*part {
	slices.SortStableFunc(group, func(a, b *part) int { return cmp.Compare(m.liveBytes(a), m.liveBytes(b)) })
	sum := int64(0)
	for i, p := range group {
		if sum += m.liveBytes(p); sum > m.largest {
			return group[:i]
		}
	}
	return group
}

func (m mergePolicy) level(size int64) int {
	level := 0
	for limit := max(m.floor, 1); size > limit; limit *= int64(max(m.fanOut, 2)) {
		level++
	}
	return level
}

// liveBytes estimates the size of a segment without what was deleted from it.
func (m mergePolicy) liveBytes(p *part) int64 {
	if p.documents == 0 {
		return 0
	}
	bytes := p.bytes
	if p.vectors != nil {
		bytes += p.vectors.bytes / 2 // they are copied, not computed again
	}
	return bytes * int64(p.live()) / int64(p.documents)
}
