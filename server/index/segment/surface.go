package segment

import (
	"encoding/binary"
	"iter"
)

// Surface is a word as it occurs, lower-cased and folded, with the term that it is indexed under.
type Surface struct {
	r       *Reader
	Surface string
	Term    string
	// Documents is the number that contain it, deleted ones included.
	Documents int

	own []byte // location of its own set; nil: the term's documents are its
}

// appendSurface encodes a dictionary value: uvarint documents, uvarint bytes that the term shares with the surface,
// uvarint length of the term's rest, the rest, and the location of the documents unless they are those of the term.
func appendSurface(dst []byte, surface, term string, documents int) []byte {
	shared := sharedPrefix(surface, term)
	dst = binary.AppendUvarint(dst, uint64(documents))
	dst = binary.AppendUvarint(dst, uint64(shared))
	dst = binary.AppendUvarint(dst, uint64(len(term)-shared))
	return append(dst, term[shared:]...)
}

func (r *Reader) surfaceOf(key, value []byte) Surface {
	documents, rest := uvarint(r, value)
	shared, rest := uvarint(r, rest)
	length, rest := uvarint(r, rest)
	if shared > uint64(len(key)) || length > uint64(len(rest)) || documents > uint64(r.Documents()) {
		panic(r.damaged("a surface is wrong"))
	}
	s := Surface{r: r, Surface: string(key), Documents: int(documents), own: rest[length:]}
	if int(shared) == len(key) && length == 0 {
		s.Term = s.Surface
	} else {
		s.Term = s.Surface[:shared] + string(rest[:length])
	}
	return s
}

// Surface looks a surface up.
func (r *Reader) Surface(surface string) (Surface, bool) {
	_, value, ok := r.surfaces.find([]byte(surface))
	if !ok {
		return Surface{}, false
	}
	return r.surfaceOf([]byte(surface), value), true
}

// Key is the surface, valid until the cursor moves on.
func (c *Cursor) Key() []byte { return c.key }

// Documents is the number that contain a surface, deleted ones included.
func (c *Cursor) Documents() int64 {
	documents, _ := uvarint(c.d.r, c.value)
	return int64(documents)
}

// Surface is the whole entry of a surface.
func (c *Cursor) Surface() Surface { return c.d.r.surfaceOf(c.key, c.value) }

// EachSurface calls yield for each surface that begins with prefix in one of several segments, in order, with the cursors
// at it. reading is called with the number of the segment that is read next.
func EachSurface(readers []*Reader, prefix string, reading func(input int), yield func(at []*Cursor)) {
	dictionaries := make([]*dictionary, len(readers))
	for i, r := range readers {
		dictionaries[i] = &r.surfaces
	}
	_ = union(dictionaries, []byte(prefix), reading, func(at []*Cursor) error {
		yield(at)
		return nil
	})
}

// In reports whether one of documents contains the surface.
func (s Surface) In(documents Bits) bool {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).CountIn(documents) > 0
	}
	return s.r.TermIn(s.Term, documents)
}

// CountIn is the number of documents that contain the surface.
func (s Surface) CountIn(documents Bits) (n int) {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).CountIn(documents)
	}
	for document := range s.r.documentsWith(s.Term) {
		n += int(documents[document/64] >> (document % 64) & 1)
	}
	return n
}

// documents appends the ordinals of the surface's documents.
func (s Surface) documents(dst []uint32) []uint32 {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).AppendTo(dst)
	}
	for document := range s.r.documentsWith(s.Term) {
		dst = append(dst, uint32(document))
	}
	return dst
}

// documentsWith returns the documents that contain a term, ascending. The segment must contain the term.
func (r *Reader) documentsWith(term string) iter.Seq[int] {
	return func(yield func(document int) bool) {
		t, ok := r.Term(term)
		if !ok {
			panic(r.damaged("a surface has no term"))
		}
		owners, last := r.Owners(), -1
		var b Block
		for i := range t.Blocks() {
			t.Load(i, &b)
			for _, chunk := range b.Chunks[:b.N] {
				document := owners.Of(int(chunk))
				if document != last && !yield(document) {
					return
				}
				last = document
			}
		}
	}
}

// TermIn reports whether one of documents contains a term. The segment must contain the term.
func (r *Reader) TermIn(term string, documents Bits) bool {
	for document := range r.documentsWith(term) {
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
