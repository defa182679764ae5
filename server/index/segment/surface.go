package segment

import "iter"

// Surface is a word as it occurs, lower-cased and folded, with the term that it is indexed under.
type Surface struct {
	r       *Reader
	Surface string
	Term    string
	// Documents is the number that contain it, deleted ones included.
	Documents int
	// Form tells its occurrences from those of its term's other surfaces, see Term.PositionsOf; 0: they are all of it,
	// or the segment does not say.
	Form int

	own []byte // before formatPatched: location of its own set; empty: the term's documents are its
}

// Surface looks a surface up.
func (r *Reader) Surface(surface string) (Surface, bool) {
	e, ok := r.surfaces.find(surface)
	if !ok {
		return Surface{}, false
	}
	return e.Surface(), true
}

// Key is the surface, valid until the cursor moves on.
func (c *Cursor) Key() []byte { return c.key }

// Documents is the number that contain a surface, deleted ones included.
func (c *Cursor) Documents() int64 {
	n, _, _ := c.documents()
	return int64(n)
}

// EachSurface calls yield for each surface that begins with prefix in one of several segments, in order, with the
// cursors at it. reading is called with the number of the segment that is read next.
func EachSurface(readers []*Reader, prefix string, reading func(input int), yield func(at []*Cursor)) {
	dictionaries := make([]*dictionary, len(readers))
	for i, r := range readers {
		dictionaries[i] = &r.surfaces
	}
	union(dictionaries, []byte(prefix), reading, yield)
}

// In reports whether one of documents contains the surface.
func (s Surface) In(documents Bits) bool { return anyIn(s.each(documents), documents) }

// CountIn is the number of documents that contain the surface.
func (s Surface) CountIn(documents Bits) (n int) {
	if (s.lacks() || s.Documents > s.r.Documents()/1024) && documents.Count() == s.r.Documents() {
		return s.Documents // looking at all of them takes longer
	}
	for document := range s.each(documents) {
		n += int(documents[document/64] >> (document % 64) & 1)
	}
	return n
}

// lacks reports whether the surface may lack documents of its term.
func (s Surface) lacks() bool {
	return len(s.own) > 0 || s.Form > 0 && s.r.footer.format >= formatPatched
}

// each yields the surface's documents, ascending: those of its term, or some of them, perhaps without those that are
// not in (nil: all are). Before formatPlaced a set of its own had documents instead of their places.
func (s Surface) each(in Bits) iter.Seq[int] {
	if len(s.own) > 0 && s.r.footer.format < formatPlaced {
		return s.r.setAt(s.own).each
	}
	t, ok := s.r.Term(s.Term)
	switch {
	case !ok:
		panic(s.r.damaged("a surface has no term"))
	case len(s.own) == 0 && s.lacks():
		return t.documents(s.Form, in)
	case len(s.own) == 0:
		return t.documents(0, nil)
	}
	some := NewBits(t.Documents)
	s.r.setOf(s.own, t.Documents).Union(some)
	return func(yield func(document int) bool) {
		n := 0
		for document := range t.documents(0, nil) {
			if n >= t.Documents {
				panic(s.r.damaged("a term has too many documents"))
			}
			if some.Has(n) && !yield(document) {
				return
			}
			n++
		}
	}
}

// documents yields the documents that contain the term, ascending; of its surface with a form (0: any) only those in
// some documents (nil: all), as it takes longer to find what positions have.
func (t *Term) documents(form int, in Bits) iter.Seq[int] {
	owners := t.r.Owners()
	return func(yield func(document int) bool) {
		last := -1
		var b Block
		for i := range t.Blocks() {
			if form == 0 {
				t.loadChunks(i, &b)
			} else {
				t.Load(i, &b)
			}
			for j, chunk := range b.Chunks[:b.N] {
				document := owners.Of(int(chunk))
				if document == last || form > 0 && (in != nil && !in.Has(document) || !t.hasForm(&b, j, form)) {
					continue
				}
				if !yield(document) {
					return
				}
				last = document
			}
		}
	}
}

// In reports whether one of documents contains the term.
func (t *Term) In(documents Bits) bool { return anyIn(t.documents(0, nil), documents) }

// anyIn reports whether one of some is among documents.
func anyIn(some iter.Seq[int], documents Bits) bool {
	for document := range some {
		if documents.Has(document) {
			return true
		}
	}
	return false
}

// AddTitled adds the documents that contain a term in their title or path.
func (r *Reader) AddTitled(term string, documents Bits) {
	t, ok := r.Term(term)
	if !ok || t.Titles == 0 {
		return
	}
	owners := r.Owners()
	var b Block
	for i := range t.Blocks() {
		t.Load(i, &b)
		for j, chunk := range b.Chunks[:b.N] {
			if b.HasTitles && b.Titles[j] > 0 {
				documents.Add(owners.Of(int(chunk)))
			}
		}
	}
}
