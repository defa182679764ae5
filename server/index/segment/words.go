package segment

import "encoding/binary"

// The dictionary of words has terms and surfaces, most of which are both. A value is
//
//	kind      uvarint kind | count << 2. The count of a surface that is no term are its documents; of a term its
//	          chunks << 1 | 1 where each is another document and no title contains it, otherwise chunks << 1
//	places    of the first entry of a block, see places
//	term      uvarint length of postings | length of positions << 3, or 0 | length of positions << 3 and uvarint
//	          length of postings; unless the last bit of the count is set uvarint documents, titles. Nothing of
//	          wordSurface
//	surface   of wordBoth uvarint documents << 1 | 1 where its term is written like it, otherwise documents << 1;
//	          uvarint form, see forms.go; unless the term is written like it uvarint bytes that both share, uvarint
//	          length of the term's rest, the rest; before formatPatched the location of a set of the term's documents,
//	          by their places among them, unless the surface's are all of them. Nothing of wordTerm and wordWhole
type wordKind byte

const (
	wordSurface wordKind = iota
	wordTerm
	wordWhole // the term's only surface, which has all of its documents
	wordBoth
)

// layout is what the values of a dictionary are.
type layout byte

const (
	layoutPlain layout = iota
	layoutPlaced
	layoutTerms    // of a dictionary of words, whose other entries are passed over
	layoutSurfaces // likewise
)

// kindOf is the kind of a word by its value.
func kindOf(value []byte) wordKind { return wordKind(value[0] & 3) }

// readTerm reads what the value of a word has of a term, up to its numbers of documents and titles.
func (e *entries) readTerm() {
	kind := kindOf(e.value)
	if v := e.value; !e.first && len(v) > 1 && v[0]|v[1] < 0x80 && v[1]&7 != 0 && kind != wordSurface { // as most are
		e.count = uint64(v[0] >> 2)
		e.postings += e.postingsSize
		e.positions += e.positionsSize
		e.postingsSize, e.positionsSize = uint64(v[1]&7), uint64(v[1]>>3)
		e.value = v[2:]
		return
	}
	e.count, e.value = e.places.read(e.d.r, e.value, e.first)
	e.has = kind != wordSurface
}

// read moves on to the places of the next word, and returns its count and what follows in its value.
func (p *places) read(r *Reader, value []byte, first bool) (count uint64, rest []byte) {
	kind := kindOf(value)
	count, rest = uvarint(r, value)
	rest = p.move(r, rest, first)
	p.postingsSize, p.positionsSize = 0, 0
	if kind != wordSurface {
		var sizes uint64
		sizes, rest = uvarint(r, rest)
		if p.postingsSize, p.positionsSize = sizes&7, sizes>>3; p.postingsSize == 0 {
			p.postingsSize, rest = uvarint(r, rest)
		}
	}
	return count >> 2, rest
}

// documents returns how many contain the surface of the entry, what follows in the value, and whether the term is
// written like it, so that nothing of it follows.
func (e *entries) documents() (n uint64, rest []byte, same bool) {
	r := e.d.r
	if e.d.layout != layoutSurfaces {
		n, rest = uvarint(r, e.value)
		if r.footer.format < formatPlaced {
			return n, rest, false
		}
		return n >> 1, rest, n&1 != 0
	}
	kind := kindOf(e.value)
	var unused places
	if n, rest = unused.read(r, e.value, e.first); kind == wordSurface {
		return n, rest, false
	}
	if short := n&1 != 0; short {
		n >>= 1
	} else {
		n, rest = uvarint(r, rest)
		_, rest = uvarint(r, rest)
	}
	if kind == wordBoth {
		n, rest = uvarint(r, rest)
		return n >> 1, rest, n&1 != 0
	}
	return n, rest, true
}

// Surface returns that of the entry.
func (e *entries) Surface() Surface {
	r := e.d.r
	documents, rest, same := e.documents()
	form := uint64(0)
	switch {
	case e.d.layout != layoutSurfaces:
		form = uint64(r.form(e.ordinal()))
	case kindOf(e.value) != wordWhole:
		form, rest = uvarint(r, rest)
	}
	shared, length := uint64(len(e.key)), uint64(0)
	if !same {
		shared, rest = uvarint(r, rest)
		length, rest = uvarint(r, rest)
	}
	if shared > uint64(len(e.key)) || length > uint64(len(rest)) || documents > uint64(r.Documents()) {
		panic(r.damaged("a surface is wrong"))
	}
	s := Surface{r: r, Surface: string(e.key), Documents: int(documents), Form: int(form), own: rest[length:]}
	if s.Term = s.Surface; !same {
		s.Term = s.Surface[:shared] + string(rest[:length])
	}
	return s
}

// writtenTerm is a term whose postings were written.
type writtenTerm struct {
	term                        string
	chunks, documents, titles   uint32
	postingsSize, positionsSize uint32
}

// surface appends a surface of a term with its number of documents and its form, behind the terms before it.
func (w *writer) surface(surface, term string, documents, form uint32) {
	w.termsBefore(surface)
	var named *writtenTerm // the term that is written like it
	if w.listed < len(w.terms) && w.terms[w.listed].term == surface {
		named = &w.terms[w.listed]
		w.listed++
	}
	same := named != nil && term == surface
	if same && form == 0 {
		w.word(surface, wordWhole, 0, named, nil)
		return
	}
	kind, value := wordSurface, w.value[:0]
	switch {
	case same:
		kind, value = wordBoth, binary.AppendUvarint(value, uint64(documents)<<1|1)
	case named != nil:
		kind, value = wordBoth, binary.AppendUvarint(value, uint64(documents)<<1)
	}
	value = binary.AppendUvarint(value, uint64(form))
	if !same {
		shared := sharedPrefix(surface, term)
		value = binary.AppendUvarint(value, uint64(shared))
		value = binary.AppendUvarint(value, uint64(len(term)-shared))
		value = append(value, term[shared:]...)
	}
	w.value = value
	w.word(surface, kind, int(documents), named, value)
}

// termsBefore appends the terms that are no surfaces and come before one; "": all that are left.
func (w *writer) termsBefore(surface string) {
	for ; w.listed < len(w.terms) && (surface == "" || w.terms[w.listed].term < surface); w.listed++ {
		w.word(w.terms[w.listed].term, wordTerm, 0, &w.terms[w.listed], nil)
	}
}

// word appends an entry of the dictionary of words: what surface has of it, behind the documents of one that is no
// term.
func (w *writer) word(word string, kind wordKind, documents int, term *writtenTerm, surface []byte) {
	count := uint64(documents)
	if term != nil {
		if count = uint64(term.chunks) << 1; term.chunks == term.documents && term.titles == 0 {
			count |= 1
		}
	}
	value := binary.AppendUvarint(w.scratch[:0], count<<2|uint64(kind))
	if w.words.count%dictionaryBlock == 0 {
		value = binary.AppendUvarint(value, w.place.postings)
		value = binary.AppendUvarint(value, w.place.positions)
	}
	if term != nil {
		sizes := uint64(term.positionsSize) << 3
		if term.postingsSize < 8 {
			value = binary.AppendUvarint(value, sizes|uint64(term.postingsSize))
		} else {
			value = binary.AppendUvarint(binary.AppendUvarint(value, sizes), uint64(term.postingsSize))
		}
		if count&1 == 0 {
			value = binary.AppendUvarint(binary.AppendUvarint(value, uint64(term.documents)), uint64(term.titles))
		}
		w.place.postings += uint64(term.postingsSize)
		w.place.positions += uint64(term.positionsSize)
	}
	w.scratch = append(value, surface...)
	w.words.add(word, w.scratch)
}
