package segment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"quarry/internal/guard"

	"github.com/RoaringBitmap/roaring/v2"
)

// Input is a segment to merge and the ordinals of its deleted documents (nil: none).
type Input struct {
	Reader  *Reader
	Deleted *roaring.Bitmap
}

// Merge makes one segment of several, without the deleted documents and without analysing anything again. remap[i][old]
// is the new ordinal of a document of input i, -1 where it was dropped. A document that is live in two inputs is an
// error.
func Merge(ctx context.Context, inputs []Input) (data []byte, remap [][]int32, err error) {
	m := &merger{ctx: ctx, inputs: inputs}
	name := func() string { return m.reading }
	if err := Protect(name, m.run); err != nil {
		return nil, nil, fmt.Errorf("merge segments: %w", err)
	}
	return m.data, m.remap, nil
}

type merger struct {
	ctx     context.Context
	inputs  []Input
	reading string // the segment that is being read
	w       *writer
	data    []byte

	remap  [][]int32 // documents
	chunks [][]int32 // the new number of a document's first chunk less the old one; valid where remap is
	values [][]uint32
	forms  map[string][]*mergedForm // by term, of those with several surfaces
}

func (m *merger) at(input int) *Reader {
	m.reading = m.inputs[input].Reader.Name()
	return m.inputs[input].Reader
}

func (m *merger) run() {
	for i := range m.inputs {
		if got, want := m.at(i).AnalyserVersion(), m.at(0).AnalyserVersion(); got != want {
			guard.Abort(fmt.Errorf("%s was made by analyser %d, %s by %d",
				m.at(i).Name(), got, m.at(0).Name(), want))
		} else if got < analyserOfForms {
			guard.Abort(fmt.Errorf("%s was made by analyser %d, which knows no forms of words", m.at(i).Name(), got))
		}
	}
	m.w = newWriter(m.at(0).AnalyserVersion())
	m.mapValues()
	m.documents()
	m.filters()
	m.countForms()
	m.terms()
	m.surfaces()
	m.data = m.w.finish()
}

// union calls yield for each key in a dictionary of the inputs, in order, with the cursors at it.
func (m *merger) union(pick func(*Reader) *dictionary, yield func(key []byte, at []*Cursor)) {
	dictionaries := make([]*dictionary, len(m.inputs))
	for i := range m.inputs {
		dictionaries[i] = pick(m.inputs[i].Reader)
	}
	n := 0
	union(dictionaries, nil, func(input int) { m.at(input) }, func(at []*Cursor) {
		if n%1024 == 0 {
			guard.Check(m.ctx.Err())
		}
		n++
		yield(at[0].key, at)
	})
}

// mapValues writes the facet values that live documents use, and says where each went.
func (m *merger) mapValues() {
	used := make([][]bool, len(m.inputs))
	m.values = make([][]uint32, len(m.inputs))
	for i, input := range m.inputs {
		r := m.at(i)
		used[i], m.values[i] = make([]bool, r.Values()), make([]uint32, r.Values())
		facets := r.FacetValues()
		for d := range r.Documents() {
			if input.deleted(d) {
				continue
			}
			from, to := r.Facets(d)
			for f := from; f < to; f++ {
				used[i][facets.At(f)] = true
			}
		}
	}
	m.union(func(r *Reader) *dictionary { return &r.values }, func(key []byte, at []*Cursor) {
		for _, c := range at {
			m.values[c.Input][c.ordinal()] = uint32(m.w.values.count)
		}
		for _, c := range at {
			if used[c.Input][c.ordinal()] {
				m.w.values.add(string(key), nil)
				return
			}
		}
	})
}

func (in Input) deleted(document int) bool {
	return in.Deleted != nil && in.Deleted.Contains(uint32(document))
}

// live is the number of documents that contain a surface and are not deleted.
func (in Input) live(s Surface) (n int) {
	if in.Deleted == nil {
		return s.Documents
	}
	for document := range s.each(nil) {
		if !in.deleted(document) {
			n++
		}
	}
	return n
}

var errTwice = errors.New("it is live in two segments")

// documents writes the documents and their chunks in the order of ids.
func (m *merger) documents() {
	for i := range m.inputs {
		r := m.at(i)
		m.remap = append(m.remap, make([]int32, r.Documents()))
		m.chunks = append(m.chunks, make([]int32, r.Documents()))
	}
	m.union(func(r *Reader) *dictionary { return &r.documents }, func(key []byte, at []*Cursor) {
		live := 0
		for _, c := range at {
			ordinal := c.ordinal()
			if m.inputs[c.Input].deleted(ordinal) {
				m.remap[c.Input][ordinal] = -1
				continue
			}
			if live++; live > 1 {
				guard.Abort(fmt.Errorf("document %q: %w", key, errTwice))
			}
			m.document(c.Input, ordinal, string(key))
		}
	})
}

func (m *merger) document(input, ordinal int, id string) {
	r := m.at(input)
	from, to := r.DocumentChunks(ordinal)
	m.remap[input][ordinal] = int32(m.w.documents())
	m.chunks[input][ordinal] = int32(m.w.chunks() - from)
	d := documentInfo{
		id: id, title: r.Title(ordinal), updated: r.Updated(ordinal),
		titleLength: r.TitleLength(ordinal), chunks: to - from,
	}
	facets := r.FacetValues()
	first, last := r.Facets(ordinal)
	for f := first; f < last; f++ {
		d.values = append(d.values, m.values[input][facets.At(f)])
	}
	m.w.document(d)
	for chunk := from; chunk < to; chunk++ {
		m.w.chunk(r.BodyLength(chunk), r.HeadingLength(chunk), r.Fingerprint(chunk))
	}
}

// move appends the new ordinals of documents of an input, without those that are deleted.
func (m *merger) move(input int, dst []uint32, documents iter.Seq[int]) []uint32 {
	for old := range documents {
		if to := m.remap[input][old]; to >= 0 {
			dst = append(dst, uint32(to))
		}
	}
	return dst
}

// filters merges the filters' document sets.
func (m *merger) filters() {
	m.union(func(r *Reader) *dictionary { return &r.filters }, func(key []byte, at []*Cursor) {
		var documents []uint32
		for _, c := range at {
			set := m.at(c.Input).setAt(c.value)
			documents = m.move(c.Input, documents, set.each)
		}
		if len(documents) > 0 {
			slices.Sort(documents)
			m.w.filter(string(key), documents)
		}
	})
}

// terms merges the postings.
func (m *merger) terms() {
	lists := make([]list, len(m.inputs))
	numbers := make([]func(chunk uint32) int32, len(m.inputs))
	for i := range m.inputs {
		owners := m.at(i).Owners()
		numbers[i] = func(chunk uint32) int32 {
			document := owners.Of(int(chunk))
			if m.remap[i][document] < 0 {
				return -1
			}
			return int32(chunk) + m.chunks[i][document]
		}
	}
	heads := make([]head, 0, len(m.inputs))
	var merged list
	m.union(func(r *Reader) *dictionary { return &r.terms }, func(key []byte, at []*Cursor) {
		heads = heads[:0]
		for _, c := range at {
			l := &lists[c.Input]
			l.reset()
			t := m.at(c.Input).termOf(&c.entries)
			t.appendTo(l, numbers[c.Input], renumbered(m.forms[string(key)], c.Input))
			if len(l.chunks) > 0 {
				heads = append(heads, head{list: l})
			}
		}
		switch len(heads) {
		case 0:
		case 1:
			m.w.term(string(key), heads[0].list)
		default:
			merged.reset()
			interleave(&merged, heads)
			if forms := len(merged.forms); forms > 0 && forms != len(merged.positions) {
				guard.Abort(fmt.Errorf("term %q: %d of %d positions have a form", key, forms, len(merged.positions)))
			}
			m.w.term(string(key), &merged)
		}
	})
}

// head is how far a list has been merged.
type head struct {
	list         *list
	next, offset int
}

// interleave merges lists by chunk.
func interleave(merged *list, heads []head) {
	for len(heads) > 0 {
		best := 0
		for i := range heads {
			if heads[i].chunk() < heads[best].chunk() {
				best = i
			}
		}
		h := &heads[best]
		l, i := h.list, h.next
		count := l.frequency(i)
		merged.add(l.chunks[i], l.body[i], l.headings[i], l.titles[i])
		merged.positions = append(merged.positions, l.positions[h.offset:h.offset+count]...)
		if len(l.forms) > 0 {
			merged.forms = append(merged.forms, l.forms[h.offset:h.offset+count]...)
		}
		h.next++
		h.offset += count
		if h.next == len(l.chunks) {
			heads = slices.Delete(heads, best, best+1)
		}
	}
}

func (h *head) chunk() uint32 { return h.list.chunks[h.next] }

// surfaces adds up the surfaces' documents.
func (m *merger) surfaces() {
	m.union(func(r *Reader) *dictionary { return &r.surfaces }, func(key []byte, at []*Cursor) {
		documents, term := 0, ""
		for _, c := range at {
			m.at(c.Input)
			s := c.Surface()
			documents += m.inputs[c.Input].live(s)
			term = s.Term
		}
		if documents > 0 {
			m.w.surface(string(key), term, uint32(documents), numberOf(m.forms[term], string(key)))
		}
	})
}
