package lexical

import (
	"cmp"
	"context"
	"math/bits"
	"slices"

	"quarry/server/index"
	"quarry/server/index/segment"
)

// partMatches are the documents of a part that contain enough of the query and that fail at most one field of the filter.
type partMatches struct {
	documents []uint32
	fails     []uint8 // the field that a document fails, as a bit; 0: none
	passing   int     // documents that fail none
}

// match finds the documents of a part that count as matched. Without keep they are only counted.
func (s *scoring) match(f *partFilter, keep bool) (m partMatches) {
	if s.plan.need == 0 {
		return m
	}
	chunks, next, need := s.reader.Chunks(), 0, s.plan.need
	for page, touched := range s.r.pages {
		if !touched {
			continue
		}
		from := page * pageChunks
		first, last := s.owners.Of(from), s.owners.Of(min(from+pageChunks, chunks)-1)
		first = max(first, next)
		for i, mass := range s.r.masses[first : last+1] {
			d := first + i
			if mass < need || !f.required.Has(d) {
				continue
			}
			fails := uint8(0)
			if f.bounded {
				fails = f.fails(d)
			}
			if fails == 0 {
				m.passing++
			}
			if keep && bits.OnesCount8(fails) <= 1 {
				m.documents = append(m.documents, uint32(d))
				m.fails = append(m.fails, fails)
			}
		}
		next = max(next, last+1)
	}
	return m
}

// matched implements index.Matched.
type matched struct {
	s      *Searcher
	filter index.Filter
	parts  []partMatches
}

// Count implements index.Matched.
func (m *matched) Count(ctx context.Context, returned []string) (index.Counts, error) {
	return answer(ctx, m.s, "count what matched", func(r *run) (index.Counts, error) { return m.count(r, returned) })
}

func (m *matched) count(r *run, returned []string) (index.Counts, error) {
	t := newTally()
	for part := range m.parts {
		if err := r.ctx.Err(); err != nil {
			return index.Counts{}, err
		}
		matches := &m.parts[part]
		counter := r.counter(part)
		for i, d := range matches.documents {
			counter.add(int(d), matches.fails[i])
		}
		var f *partFilter
		for _, id := range returned {
			d, ok := r.reader(part).Lookup(id)
			if !ok || !r.s.parts[part].live(d) {
				continue
			}
			at, known := slices.BinarySearch(matches.documents, uint32(d))
			if known && matches.fails[at] == 0 || counter.seen[d] {
				continue
			}
			if f == nil {
				f = r.filter(part, &m.filter)
			}
			if f.pass.Has(d) {
				counter.seen[d] = true
				counter.add(d, 0)
			}
		}
		counter.flush(t)
	}
	return t.counts(), nil
}

// Facets implements index.Snapshot.
func (s *Searcher) Facets(ctx context.Context, filter index.Filter) (index.Counts, error) {
	return answer(ctx, s, "count facets", func(r *run) (index.Counts, error) {
		t := newTally()
		for part := range s.parts {
			if err := r.ctx.Err(); err != nil {
				return index.Counts{}, err
			}
			f := r.filter(part, &filter)
			counter := r.counter(part)
			f.required.Each(func(d int) {
				if fails := f.fails(d); bits.OnesCount8(fails) <= 1 {
					counter.add(d, fails)
				}
			})
			counter.flush(t)
		}
		return t.counts(), nil
	})
}

// counter counts the facet values of one part by ordinal.
type counter struct {
	reader    *segment.Reader
	values    segment.Column
	ends      segment.Column
	own       [fields][2]int // the ordinals of the values that belong to a field of the filter
	counts    []uint32
	documents int
	seen      map[int]bool // returned documents that were counted beside the matched ones
}

func (r *run) counter(part int) *counter {
	reader := r.reader(part)
	type key struct{}
	own := segment.Derived(reader, key{}, func() (own [fields][2]int) {
		for field, facet := range [fields]segment.FacetField{
			fieldSource: segment.FacetSource, fieldAuthor: segment.FacetAuthor, fieldType: segment.FacetType,
			fieldTag: segment.FacetTag, fieldScope: segment.FacetSet, fieldTime: segment.FacetMonth,
		} {
			own[field][0], own[field][1] = reader.FieldRange(facet)
		}
		return own
	})
	r.counts = resize(r.counts, reader.Values())
	return &counter{reader: reader, values: reader.FacetValues(), ends: reader.FacetEnds(), seen: make(map[int]bool),
		own: own, counts: r.counts}
}

// add counts a document that fails at most the given field.
func (c *counter) add(document int, fails uint8) {
	from, to := int(c.ends.At(document)), int(c.ends.At(document+1))
	if fails == 0 {
		c.documents++
		c.values.CountInto(c.counts, from, to)
		return
	}
	own := c.own[bits.TrailingZeros8(fails)]
	for f := from; f < to; f++ {
		if value := int(c.values.At(f)); value >= own[0] && value < own[1] {
			c.counts[value]++
		}
	}
}

// cachedValues is up to how many facet values of a segment stay in memory, decoded.
const cachedValues = 1 << 14

// flush adds the counts of a part to those of all.
func (c *counter) flush(t *tally) {
	t.documents += c.documents
	if len(c.counts) <= cachedValues {
		type key struct{}
		all := segment.Derived(c.reader, key{}, func() []segment.FacetValue {
			all := make([]segment.FacetValue, 0, c.reader.Values())
			c.reader.EachValue(func(_ int, value segment.FacetValue) { all = append(all, value) })
			return all
		})
		for ordinal, n := range c.counts {
			if n > 0 {
				t.values[all[ordinal]] += int(n)
			}
		}
		return
	}
	c.reader.EachValue(func(ordinal int, value segment.FacetValue) {
		if n := c.counts[ordinal]; n > 0 {
			t.values[value] += int(n)
		}
	})
}

// tally adds up the facet values of all parts.
type tally struct {
	documents int
	values    map[segment.FacetValue]int
}

func newTally() *tally { return &tally{values: make(map[segment.FacetValue]int)} }

func (t *tally) counts() index.Counts {
	out := index.Counts{Documents: t.documents}
	lists := [...]*[]index.ValueCount{
		segment.FacetSource: &out.Sources, segment.FacetAuthor: &out.Authors, segment.FacetType: &out.Types,
		segment.FacetSet: &out.Sets, segment.FacetMonth: &out.Months,
	}
	for value, n := range t.values {
		switch {
		case value.Field == segment.FacetTag:
			tag := index.Tag{Key: value.Key, Value: value.Value}
			out.Tags = append(out.Tags, index.TagCount{Tag: tag, Count: n})
		case value.Field == segment.FacetMonth && value.Value == "":
			out.Undated = n
		default:
			if field := int(value.Field); field < len(lists) && lists[field] != nil {
				*lists[field] = append(*lists[field], index.ValueCount{Value: value.Value, Count: n})
			}
		}
	}
	for _, list := range []*[]index.ValueCount{&out.Sources, &out.Authors, &out.Types, &out.Sets} {
		slices.SortFunc(*list, func(a, b index.ValueCount) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
	}
	slices.SortFunc(out.Months, func(a, b index.ValueCount) int { return cmp.Compare(a.Value, b.Value) })
	slices.SortFunc(out.Tags, func(a, b index.TagCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
	})
	return out
}
