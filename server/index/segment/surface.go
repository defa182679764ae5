package segment

import (
	"bytes"
	"encoding/binary"
)

// Surface is a word as it occurs, lower-cased and folded, with the term that it is indexed under.
type Surface struct {
	r       *Reader
	Surface string
	Term    string
	// Documents is the number that hold it, deleted ones included.
	Documents int

	own []byte // location of its own set; nil: the term's documents are its
}

// appendSurface encodes a dictionary value: uvarint documents, uvarint bytes that the term shares with the surface,
// uvarint length of the term's rest, the rest, and the location of the documents unless they are those of the term.
func appendSurface(dst []byte, surface, term string, documents int) []byte {
	shared := 0
	for shared < len(surface) && shared < len(term) && surface[shared] == term[shared] {
		shared++
	}
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

// SurfaceCursor walks over the surfaces that begin with a prefix, in order, without making strings of them.
type SurfaceCursor struct {
	entries
	prefix []byte
	open   bool // the current entry was not given yet
}

// WithPrefix returns a cursor in front of the first surface that begins with prefix.
func (r *Reader) WithPrefix(prefix string) *SurfaceCursor {
	c := &SurfaceCursor{prefix: []byte(prefix)}
	c.entries, c.open = r.surfaces.seek(c.prefix)
	if !c.open {
		c.left = 0
	}
	return c
}

// Next moves on to the next surface.
func (c *SurfaceCursor) Next() bool {
	if c.open {
		c.open = false
	} else if !c.next() {
		return false
	}
	if !bytes.HasPrefix(c.key, c.prefix) {
		c.left, c.key = 0, nil
		return false
	}
	return true
}

// Key is the surface, valid until Next.
func (c *SurfaceCursor) Key() []byte { return c.key }

// Documents is the number that hold the surface, deleted ones included.
func (c *SurfaceCursor) Documents() int {
	documents, _ := uvarint(c.d.r, c.value)
	return int(documents)
}

// Surface is the whole entry.
func (c *SurfaceCursor) Surface() Surface { return c.d.r.surfaceOf(c.key, c.value) }

// Automaton accepts words, byte by byte; vellum's automata are such.
type Automaton interface {
	Start() int
	IsMatch(state int) bool
	CanMatch(state int) bool
	Accept(state int, b byte) int
}

// Matching calls yield with every surface that the automaton accepts, in order.
func (r *Reader) Matching(automaton Automaton, yield func(Surface)) {
	states := []int{automaton.Start()} // states[i] is reached after i bytes of the key; cut where nothing can match
	for e := r.surfaces.from(0); e.next(); {
		states = states[:min(len(states), e.shared+1)]
		for len(states) <= len(e.key) {
			i := len(states) - 1
			state := automaton.Accept(states[i], e.key[i])
			if !automaton.CanMatch(state) {
				break
			}
			states = append(states, state)
		}
		if len(states) == len(e.key)+1 && automaton.IsMatch(states[len(e.key)]) {
			yield(r.surfaceOf(e.key, e.value))
		}
	}
}

// Union adds the documents of the surface to a bitmap.
func (s Surface) Union(bitmap []uint64) {
	if len(s.own) > 0 {
		s.r.setAt(s.own).Union(bitmap)
		return
	}
	s.r.TermDocuments(s.Term, bitmap)
}

// HeldIn reports whether a document of the surface is in bitmap.
func (s Surface) HeldIn(bitmap []uint64) bool {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).CountIn(bitmap) > 0
	}
	return s.r.TermHeldIn(s.Term, bitmap)
}

// CountIn is the number of documents of the surface that are in bitmap.
func (s Surface) CountIn(bitmap []uint64) int {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).CountIn(bitmap)
	}
	n := 0
	s.r.eachDocument(s.Term, func(document int) bool {
		n += int(bitmap[document/64] >> (document % 64) & 1)
		return true
	})
	return n
}

// documents appends the ordinals of the surface's documents.
func (s Surface) documents(dst []uint32) []uint32 {
	if len(s.own) > 0 {
		return s.r.setAt(s.own).AppendTo(dst)
	}
	s.r.eachDocument(s.Term, func(document int) bool {
		dst = append(dst, uint32(document))
		return true
	})
	return dst
}

// eachDocument calls yield with every document that holds a term, in order, until it returns false.
func (r *Reader) eachDocument(term string, yield func(document int) bool) {
	t, ok := r.Term(term)
	if !ok {
		panic(r.damaged("a surface has no term"))
	}
	var b Block
	end, document := 0, -1
	for i := range t.Blocks() {
		t.Load(i, &b)
		for _, chunk := range b.Chunks[:b.N] {
			if int(chunk) < end {
				continue
			}
			document, end = r.documentAfter(int(chunk), document+1)
			if !yield(document) {
				return
			}
		}
	}
}

// documentAfter returns the document that holds chunk, looking from document from on, and the end of its chunks.
func (r *Reader) documentAfter(chunk, from int) (document, end int) {
	if chunk >= r.Chunks() {
		panic(r.damaged("a posting names a chunk that does not exist"))
	}
	ends := r.loaded().firstChunks
	step := 1
	low := from // ends.At(low) ≤ chunk
	for low+step < r.Documents() && int(ends.At(low+step)) <= chunk {
		low += step
		step *= 2
	}
	high := min(low+step, r.Documents()) // ends.At(high) > chunk
	for high-low > 1 {
		middle := (low + high) / 2
		if int(ends.At(middle)) <= chunk {
			low = middle
		} else {
			high = middle
		}
	}
	return low, int(ends.At(low + 1))
}

// TermDocuments adds the documents that hold a term to a bitmap. The segment must hold the term.
func (r *Reader) TermDocuments(term string, bitmap []uint64) {
	r.eachDocument(term, func(document int) bool {
		bitmap[document/64] |= 1 << (document % 64)
		return true
	})
}

// TermHeldIn reports whether a document in bitmap holds a term. The segment must hold the term.
func (r *Reader) TermHeldIn(term string, bitmap []uint64) (held bool) {
	r.eachDocument(term, func(document int) bool {
		held = bitmap[document/64]>>(document%64)&1 != 0
		return !held
	})
	return held
}

// TitledDocuments adds the documents that hold a term in their title or path to a bitmap.
func (r *Reader) TitledDocuments(term string, bitmap []uint64) {
	t, ok := r.Term(term)
	if !ok || t.Titles == 0 {
		return
	}
	owners := r.ChunkDocuments()
	var b Block
	for i := range t.Blocks() {
		t.Load(i, &b)
		if !b.HasTitles {
			continue
		}
		for j, chunk := range b.Chunks[:b.N] {
			if b.Titles[j] == 0 {
				continue
			}
			document := chunk
			if owners != nil {
				document = owners[chunk]
			}
			bitmap[document/64] |= 1 << (document % 64)
		}
	}
}
