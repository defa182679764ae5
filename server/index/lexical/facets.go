package lexical

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"quarry/client/field"
	"quarry/server/index"
	"quarry/server/index/segment"
)

// partMatches are the documents of a part that contain enough of the query.
type partMatches struct {
	pass    segment.Bits // they pass the whole filter
	passing int
	all     int      // of those, the ones that contain all words
	failing []uint32 // they fail one field of it
	fails   []uint8  // that field, as a bit
}

// sort divides documents into those that pass the filter and, with keep, those that fail one field.
func (f *partFilter) sort(documents segment.Bits, keep bool) (m partMatches) {
	m.pass = documents
	if f.bounded {
		for i, word := range documents {
			none, one := word, uint64(0) // fail none, one
			for _, passing := range f.byField {
				if passing != nil {
					one = one&passing[i] | none&^passing[i]
					none &= passing[i]
				}
			}
			m.pass[i] = none
			for ; keep && one != 0; one &= one - 1 {
				d := i*64 + bits.TrailingZeros64(one)
				m.failing, m.fails = append(m.failing, uint32(d)), append(m.fails, f.fails(d))
			}
		}
	}
	m.passing = m.pass.Count()
	return m
}

// matched implements index.Matched.
type matched struct {
	s      *Searcher
	filter index.Filter
	parts  []partMatches
}

// Count implements index.Matched.
func (m *matched) Count(ctx context.Context) (index.Counts, error) {
	return answer(ctx, m.s, "count what matched", m.count)
}

func (m *matched) count(r *run) index.Counts {
	var mutex sync.Mutex
	add := func(counts func()) { // which may read a segment that is broken
		mutex.Lock()
		defer mutex.Unlock()
		counts()
	}
	t, documents := r.tally(), 0
	var named *tally
	if len(m.filter.Documents) > 0 {
		named = r.tally()
	}
	for _, matches := range m.parts {
		documents += matches.passing + len(matches.failing)
	}
	r.eachPart(int64(documents), func(r *run, part int) {
		matches, counter := &m.parts[part], r.counter(part)
		if matches.pass == nil { // of Extend
			matches = &partMatches{pass: r.filter(part, &m.filter).pass}
		}
		for i, d := range matches.failing {
			counter.add(int(d), matches.fails[i])
		}
		counter.passing(matches.pass)
		add(func() {
			t.add(part, counter)
			t.addWide(r, part, matches, counter)
		})
		if named == nil {
			return
		}
		counter = r.counter(part)
		for _, id := range m.filter.Documents {
			if d, ok := r.reader(part).Lookup(id); ok && matches.pass.Has(d) {
				counter.add(d, 0)
			}
		}
		add(func() { named.add(part, counter) })
	})
	if named != nil {
		t.addNamed(named)
	}
	return t.counts()
}

// Has implements index.Matched.
func (m *matched) Has(ctx context.Context, ids []string) (map[string]bool, error) {
	return answer(ctx, m.s, "look up what matched", func(r *run) map[string]bool {
		has := make(map[string]bool, len(ids))
		for part := range m.parts {
			for _, id := range ids {
				if d, ok := r.reader(part).Lookup(id); ok && (m.parts[part].pass == nil || m.parts[part].pass.Has(d)) {
					has[id] = true
				}
			}
		}
		return has
	})
}

// Facets implements index.Snapshot.
func (s *Searcher) Facets(ctx context.Context, filter index.Filter) (index.Counts, error) {
	return answer(ctx, s, "count facets", func(r *run) index.Counts {
		m := &matched{s: s, filter: filter}
		for part := range s.parts {
			r.check()
			f := r.filter(part, &filter)
			m.parts = append(m.parts, f.sort(f.required, true))
		}
		return m.count(r)
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
}

func (r *run) counter(part int) *counter {
	reader := r.reader(part)
	type key struct{}
	own := segment.Derived(reader, key{}, func() (own [fields][2]int) {
		for id := range field.N {
			own[id][0], own[id][1] = reader.FieldRange(segment.FacetOf(id))
		}
		own[fieldTime][0], own[fieldTime][1] = reader.FieldRange(segment.FacetMonth)
		return own
	})
	r.counts = resize(r.counts, reader.Values())
	return &counter{reader: reader, values: reader.FacetValues(), ends: reader.FacetEnds(),
		own: own, counts: r.counts}
}

// add counts a document that fails at most the given field.
func (c *counter) add(document int, fails uint8) {
	from, to := int(c.ends.At(document)), int(c.ends.At(document+1))
	if fails == 0 {
		c.documents++
		c.values.CountInto(c.counts, from, to, 1)
		return
	}
	own := c.own[bits.TrailingZeros8(fails)]
	for f := from; f < to; f++ {
		if value := int(c.values.At(f)); value >= own[0] && value < own[1] {
			c.counts[value]++
		}
	}
}

// passing counts documents that fail nothing: where they are most of the segment, all without the others.
func (c *counter) passing(documents segment.Bits) {
	n := documents.Count()
	c.documents += n
	if 2*n < c.reader.Documents() {
		c.each(documents, 1)
		return
	}
	for value, count := range everyCount(c.reader) {
		c.counts[value] += count
	}
	others := segment.NewBits(c.reader.Documents())
	others.AddRange(0, c.reader.Documents())
	others.AndNot(documents)
	c.each(others, ^uint32(0))
}

// everyCount returns how many documents of a segment have each value, by ordinal.
func everyCount(reader *segment.Reader) []uint32 {
	type key struct{}
	return segment.Derived(reader, key{}, func() []uint32 {
		counts, values := make([]uint32, reader.Values()), reader.FacetValues()
		values.CountInto(counts, 0, values.Len(), 1)
		return counts
	})
}

// each adds n to the counts of the values of each document; ^0 takes one away.
func (c *counter) each(documents segment.Bits, n uint32) {
	var ends [65]uint64 // where the values of 64 documents begin, and where the last ones end
	for word, left := range documents {
		if left == 0 {
			continue
		}
		few := bits.OnesCount64(left) <= 8
		if !few {
			c.ends.Copy(ends[:], 64*word)
		}
		for ; left != 0; left &= left - 1 {
			at := bits.TrailingZeros64(left)
			if few {
				ends[at], ends[at+1] = c.ends.At(64*word+at), c.ends.At(64*word+at+1)
			}
			c.values.CountInto(c.counts, int(ends[at]), int(ends[at+1]), n)
		}
	}
}

// facetValues are the facet values of all parts.
type facetValues struct {
	values []segment.FacetValue // in order
	of     [][]uint32           // by part and ordinal: the index in values
	wide   [][]wideValue        // by part
}

// wideValue is a value by which a filter finds documents of a part that do not have it: the author "Jo" finds "Jo
// March".
type wideValue struct {
	id      field.ID
	value   uint32 // the index in values
	ordinal int    // in the part; -1: no document has it
	found   segment.Set
}

// facetValues returns them; the first call reads them.
func (r *run) facetValues() *facetValues {
	if known := r.s.values.Load(); known != nil {
		return known
	}
	all := &facetValues{of: make([][]uint32, len(r.s.parts))}
	at := make(map[segment.FacetValue]uint32)
	for part := range r.s.parts {
		r.reader(part).EachValue(func(_ int, value segment.FacetValue) {
			i, known := at[value]
			if !known {
				i = uint32(len(all.values))
				at[value] = i
				all.values = append(all.values, value)
			}
			all.of[part] = append(all.of[part], i)
		})
	}
	all.sort()
	r.widen(all)
	r.s.values.Store(all)
	return all
}

// widen fills in the wide values of each part.
func (r *run) widen(all *facetValues) {
	all.wide = make([][]wideValue, len(r.s.parts))
	for id := range field.N {
		if index.ColumnOf(id).Counted == "" { // a filter finds what is counted
			continue
		}
		// Looked up for each filter: a store elsewhere has a small part for each candidate.
		ambiguous := all.ambiguous(id)
		for part := range r.s.parts {
			reader := r.reader(part)
			reader.EachFilter(id, func(key []byte, found segment.Set) {
				for _, i := range ambiguous[string(key)] {
					w := wideValue{id, i, slices.Index(all.of[part], i), found}
					if w.ordinal < 0 || found.Count() != int(everyCount(reader)[w.ordinal]) {
						all.wide[part] = append(all.wide[part], w)
					}
				}
			})
		}
	}
}

// ambiguous returns the values of a field that may be wide, by the keys of filters by them: what a filter finds of
// longer names are single words of them.
func (v *facetValues) ambiguous(id field.ID) map[string][]uint32 {
	byKey := make(map[string][]uint32)
	for i, value := range v.values {
		if value.Field == segment.FacetOf(id) {
			key := index.KeyOf(id, value.Value)
			byKey[key] = append(byKey[key], uint32(i))
		}
	}
	maps.DeleteFunc(byKey, func(key string, same []uint32) bool { return len(same) == 1 && strings.Contains(key, " ") })
	return byKey
}

// sort puts the values in order.
func (v *facetValues) sort() {
	order := make([]uint32, len(v.values))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(i, j uint32) int {
		a, b := &v.values[i], &v.values[j]
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Value, b.Value))
	})
	sorted, to := make([]segment.FacetValue, len(order)), make([]uint32, len(order))
	for i, from := range order {
		sorted[i], to[from] = v.values[from], uint32(i)
	}
	v.values = sorted
	for _, of := range v.of {
		for i, from := range of {
			of[i] = to[from]
		}
	}
}

// tally adds up the facet values of all parts.
type tally struct {
	*facetValues
	documents int
	totals    []int
	beyond    []int // what the wide values find beside the documents that have them
}

func (r *run) tally() *tally {
	all := r.facetValues()
	return &tally{facetValues: all, totals: make([]int, len(all.values)), beyond: make([]int, len(all.values))}
}

// add adds the counts of a part.
func (t *tally) add(part int, c *counter) {
	t.documents += c.documents
	for ordinal, n := range c.counts {
		if n > 0 {
			t.totals[t.of[part][ordinal]] += int(n)
		}
	}
}

// addWide adds what the wide values of a part find.
func (t *tally) addWide(r *run, part int, matches *partMatches, c *counter) {
	for _, w := range t.wide[part] {
		found := r.documents(part)
		w.found.Union(found)
		n := 0
		for i, d := range matches.failing {
			if matches.fails[i] == 1<<w.id && found.Has(int(d)) {
				n++
			}
		}
		found.And(matches.pass)
		if n += found.Count(); w.ordinal >= 0 {
			n -= int(c.counts[w.ordinal])
		}
		t.beyond[w.value] += n
	}
}

// addNamed counts the documents that a filter names for every set: they match whichever one is chosen.
func (t *tally) addNamed(named *tally) {
	for i := range t.values {
		if t.values[i].Field == segment.FacetOf(field.Set) && t.totals[i] > 0 {
			t.totals[i] += named.documents - named.totals[i]
		}
	}
}

func (t *tally) counts() index.Counts {
	out := index.Counts{Documents: t.documents, Months: t.list(segment.FacetMonth, false)}
	for id := range field.N {
		out.Values[id] = t.list(segment.FacetOf(id), true)
	}
	if len(out.Months) > 0 && out.Months[0].Value == "" {
		out.Undated, out.Months = out.Months[0].Count, out.Months[1:]
	}
	return out
}

// list returns the counts of a field, with mostFirst the greatest first; those of the same size stay in order.
func (t *tally) list(of segment.FacetField, mostFirst bool) (list []index.ValueCount) {
	var ranks []uint64 // greater counts are smaller
	i, _ := slices.BinarySearchFunc(t.values, of, func(v segment.FacetValue, of segment.FacetField) int {
		return cmp.Compare(v.Field, of)
	})
	for ; i < len(t.values) && t.values[i].Field == of; i++ {
		if t.totals[i] != 0 {
			ranks = append(ranks, uint64(math.MaxUint32-t.totals[i]-t.beyond[i])<<32|uint64(i))
		}
	}
	if mostFirst {
		slices.Sort(ranks)
	}
	list = slices.Grow(list, len(ranks))
	for _, rank := range ranks {
		at := uint32(rank)
		list = append(list, index.ValueCount{Value: t.values[at].Value, Count: t.totals[at] + t.beyond[at]})
	}
	return list
}
