package segment

import (
	"bytes"
	"encoding/binary"
	"sort"
)

// Term is a term of a segment with its statistics, deleted documents included.
type Term struct {
	r *Reader
	// Chunks contains it in any field, Documents in any chunk, Titles in the title.
	Chunks, Documents, Titles int

	postings, positions []byte // with padding behind them
	size                int    // of postings
	full                int    // full blocks
	entrySize           int    // of the table of blocks; more than blockEntrySize before formatWords
	heads               int    // bytes in front of a block
}

// Term looks a term up. Like all methods that return no error it must be called within Protect.
func (r *Reader) Term(term string) (Term, bool) {
	e, ok := r.terms.find(term)
	if !ok {
		return Term{}, false
	}
	return r.termOf(&e), true
}

// EachTerm calls yield with the terms that begin with prefix.
func (r *Reader) EachTerm(prefix string, yield func(term string)) {
	for e, ok := r.terms.seek([]byte(prefix)); ok && bytes.HasPrefix(e.key, []byte(prefix)); ok = e.next() {
		yield(string(e.key))
	}
}

func (r *Reader) termOf(e *entries) Term {
	at, value, chunks := e.places, e.value, e.count
	if e.d.layout < layoutTerms {
		chunks, value = uvarint(r, value)
	}
	short := e.d.layout != layoutPlain && chunks&1 != 0
	if e.d.layout != layoutPlain {
		chunks >>= 1
	}
	documents, titles := chunks, uint64(0)
	if !short {
		documents, value = uvarint(r, value)
		titles, value = uvarint(r, value)
	}
	if e.d.layout == layoutPlain {
		for _, field := range []*uint64{&at.postings, &at.postingsSize, &at.positions, &at.positionsSize} {
			*field, value = uvarint(r, value)
		}
	}
	t := Term{
		r: r, Chunks: int(chunks), Documents: int(documents), Titles: int(titles),
		postings: r.part(sectionPostings, at.postings, at.postingsSize), size: int(at.postingsSize),
		positions: r.part(sectionPositions, at.positions, at.positionsSize),
		full:      int(chunks) / BlockSize, entrySize: blockEntrySize, heads: blockHeads,
	}
	if r.footer.format < formatPatched {
		t.heads = blockWidths
	}
	if r.footer.format < formatWords {
		t.entrySize = boundedEntrySize
	}
	if chunks > uint64(r.Chunks()) || documents > chunks || titles > documents ||
		t.full > 0 && t.full*t.entrySize+8 > t.size {
		panic(r.damaged("a term's record is wrong"))
	}
	return t
}

// Block contains up to BlockSize postings, unpacked.
type Block struct {
	N      int
	Chunks [BlockSize]uint32
	Body   [BlockSize]uint32
	// Headings and Titles are valid only with HasHeadings and HasTitles; otherwise all are zero.
	Headings, Titles       [BlockSize]uint32
	HasHeadings, HasTitles bool

	// where the positions are
	positions     []byte
	firstWidth    int // of a posting's first position
	positionWidth int // of the gaps to others; -1: all are uvarints
	// passed postings have skipped positions
	passed, skipped int
	forms           []byte // of all positions, bit-packed; nil: not looked for yet
	formWidth       int
}

// Blocks is the number of blocks of the term's postings.
func (t *Term) Blocks() int {
	if t.Chunks%BlockSize != 0 {
		return t.full + 1
	}
	return t.full
}

func (t *Term) entry(i int) []byte { return t.postings[i*t.entrySize:] }

// Last is the last chunk of full block i.
func (t *Term) Last(i int) uint32 { return binary.LittleEndian.Uint32(t.entry(i)) }

// BlockOf returns the first block that may contain chunk or a later one; Blocks if there is none. from is a block known
// not to lie behind it.
func (t *Term) BlockOf(chunk uint32, from int) int {
	if from < t.full && t.Last(from) >= chunk {
		return from
	}
	if from >= t.full {
		return from
	}
	return from + sort.Search(t.full-from, func(i int) bool { return t.Last(from+i) >= chunk })
}

// Load unpacks block i.
func (t *Term) Load(i int, b *Block) {
	b.passed, b.skipped, b.forms = 0, 0, nil
	next := uint32(0)
	if i > 0 {
		next = t.Last(i-1) + 1
	}
	if i < t.full {
		t.loadFull(i, next, b)
		return
	}
	t.loadTail(next, b)
}

// loadChunks unpacks the chunks of block i alone.
func (t *Term) loadChunks(i int, b *Block) {
	if i >= t.full {
		t.Load(i, b)
		return
	}
	next := uint32(0)
	if i > 0 {
		next = t.Last(i-1) + 1
	}
	data := t.postings[binary.LittleEndian.Uint32(t.entry(i)[4:]):]
	b.N = BlockSize
	t.unpackGaps(&b.Chunks, data[t.heads:], data[0], next)
}

func (t *Term) loadFull(i int, next uint32, b *Block) {
	entry := t.entry(i)
	data := t.postings[binary.LittleEndian.Uint32(entry[4:]):]
	b.positions = t.positions[binary.LittleEndian.Uint32(entry[8:]):]
	heads := data[:t.heads]
	b.firstWidth, b.positionWidth = int(heads[4]), int(heads[t.heads-1])
	t.r.require(b.firstWidth <= 32 && b.positionWidth <= 32, "the positions of a term have a wrong width")
	b.N = BlockSize
	data = t.unpackGaps(&b.Chunks, data[t.heads:], heads[0], next)
	data = t.unpackPatched(&b.Body, data, heads[1])
	b.HasHeadings, b.HasTitles = heads[2] != 0, heads[3] != 0
	if b.HasHeadings {
		data = t.unpackPatched(&b.Headings, data, heads[2])
	}
	if b.HasTitles {
		t.unpackPatched(&b.Titles, data, heads[3])
	}
}

// unpackGaps unpacks gaps to the chunks that they lead to, and returns what follows them.
func (t *Term) unpackGaps(dst *[BlockSize]uint32, src []byte, head byte, next uint32) []byte {
	if head == 0 {
		for i := range dst {
			dst[i] = next + uint32(i)
		}
		return src
	}
	src = t.unpackPatched(dst, src, head)
	for i, gap := range dst {
		next += gap
		dst[i] = next
		next++
	}
	return src
}

func (t *Term) loadTail(next uint32, b *Block) {
	data := t.postings[:t.size]
	b.positions = t.positions
	if t.full > 0 {
		entry := t.entry(t.full)
		data = data[binary.LittleEndian.Uint32(entry):]
		b.positions = b.positions[binary.LittleEndian.Uint32(entry[4:]):]
	}
	b.positionWidth = -1
	b.N = t.Chunks % BlockSize
	b.HasHeadings, b.HasTitles = true, true
	all := uint64(0)
	for i := range b.N {
		var head uint64
		head, data = uvarint(t.r, data)
		next += uint32(head >> 1)
		b.Chunks[i] = next
		next++
		body, headings, titles := uint64(1), uint64(0), uint64(0)
		if head&1 == 0 {
			body, headings, titles, data = t.frequencies(data)
		}
		b.Body[i], b.Headings[i], b.Titles[i] = uint32(body), uint32(headings), uint32(titles)
		all += body + headings + titles
	}
	if t.entrySize == blockEntrySize && all >= packedTail {
		b.positionWidth = int(b.positions[0])
		t.r.require(b.positionWidth <= 32, "the positions of a term have a wrong width")
		b.firstWidth = b.positionWidth
		b.positions = b.positions[1:]
	}
}

// frequencies reads those of a posting in the tail, and returns what follows them.
func (t *Term) frequencies(data []byte) (body, headings, titles uint64, rest []byte) {
	if t.entrySize == blockEntrySize {
		if few := uint64(data[0]); few != 0 {
			return few & 15, few >> 4 & 3, few >> 6, data[1:]
		}
		data = data[1:]
	}
	body, data = uvarint(t.r, data)
	headings, data = uvarint(t.r, data)
	titles, data = uvarint(t.r, data)
	return body, headings, titles, data
}

// frequency is the number of positions of posting i.
func (b *Block) frequency(i int) int {
	body, headings, title := b.Frequencies(i)
	return int(body) + int(headings) + int(title)
}

// Frequencies returns how often posting i occurs in each field.
func (b *Block) Frequencies(i int) (body, headings, title uint32) {
	body = b.Body[i]
	if b.HasHeadings {
		headings = b.Headings[i]
	}
	if b.HasTitles {
		title = b.Titles[i]
	}
	return body, headings, title
}

// gaps reads the positions of a block's postings, one posting after the other.
type gaps struct {
	r            *Reader
	data         []byte
	first, width int // of a gap in bits; width -1: uvarints
	at           int // the bit of the next gap in data, unless they are uvarints
}

func (t *Term) gaps(b *Block) gaps { return gaps{t.r, b.positions, b.firstWidth, b.positionWidth, 0} }

// skip passes over postings with n positions.
func (g *gaps) skip(postings, n int) {
	if g.width >= 0 {
		g.at += postings*g.first + (n-postings)*g.width
		return
	}
	for range n {
		_, g.data = uvarint(g.r, g.data)
	}
}

// appendTo appends the n positions of the next posting.
func (g *gaps) appendTo(dst []uint32, n int) []uint32 {
	position := uint32(0)
	if g.width >= 0 {
		width := g.first
		for range n {
			position += bitsAt(g.data, g.at, width)
			g.at += width
			width = g.width
			dst = append(dst, position)
		}
		return dst
	}
	for range n {
		var gap uint64
		gap, g.data = uvarint(g.r, g.data)
		position += uint32(gap)
		dst = append(dst, position)
	}
	return dst
}

// seek finds how many positions precede those of posting i.
func (b *Block) seek(i int) {
	if i < b.passed {
		b.passed, b.skipped = 0, 0
	}
	for ; b.passed < i; b.passed++ {
		b.skipped += b.frequency(b.passed)
	}
}

// Positions appends the positions of posting i of b, ascending. It is quick for one posting after another.
func (t *Term) Positions(b *Block, i int, dst []uint32) []uint32 {
	b.seek(i)
	t.r.require(b.skipped <= 3*maxFrequency*BlockSize, "a term occurs too often")
	in := t.gaps(b)
	in.skip(b.passed, b.skipped)
	return in.appendTo(dst, t.frequency(b, i))
}

// frequency is that of a posting of a block, checked.
func (t *Term) frequency(b *Block, i int) int {
	n := b.frequency(i)
	t.r.require(n <= 3*maxFrequency, "a term occurs too often")
	return n
}

// appendTo decodes the postings of the term, with the new numbers of their chunks and of their forms (nil: it is to
// have one surface). Chunks whose new number is negative are left out.
func (t *Term) appendTo(l *list, number func(chunk uint32) int32, forms renumbering) {
	var b Block
	for i := range t.Blocks() {
		t.Load(i, &b)
		in, at := t.gaps(&b), 0
		for j := range b.N {
			frequency, chunk := t.frequency(&b, j), number(b.Chunks[j])
			at += frequency
			if chunk < 0 {
				in.skip(1, frequency)
				continue
			}
			body, headings, title := b.Frequencies(j)
			l.add(uint32(chunk), body, headings, title)
			l.positions = in.appendTo(l.positions, frequency)
			if forms != nil {
				l.forms = forms.appendTo(l.forms, t, &b, at-frequency, frequency)
			}
		}
	}
}
