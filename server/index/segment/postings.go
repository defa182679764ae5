package segment

import (
	"encoding/binary"
	"math/bits"
)

// The postings of a term are full blocks of BlockSize, described by a table in front of them, and a tail of what is
// left:
//
//	table  per full block: last chunk u32, offset of the block u32, offset of its positions u32 (before formatWords
//	       also 12 bytes that nothing reads); then the tail's two offsets, u32 each. No table where there is no full
//	       block.
//	block  heads of chunk gaps, body, heading and title frequencies, widths of first positions and of the gaps between
//	       others u8 each (before formatPatched one width for all); the first four packed, see packing.go
//	tail   uvarint gap << 1 | 1 where the only occurrence is one in the body, otherwise uvarint gap << 1 and a byte,
//	       body | headings << 4 | title << 6; 0 if they do not fit, or before formatWords no byte: uvarint body,
//	       headings, title
//
// A gap is the distance to the posting before, less one. Positions are kept apart: bit-packed gaps per block, of each
// posting the first position in front; first the title's, then the headings', then the body's. The tail has the width
// of its gaps u8 in front of them; where they are fewer than packedTail, or before formatWords, uvarint gaps. Behind
// them a block or tail of a term with several surfaces has the width of forms u8, and for each position the number of
// its surface among the term's, bit-packed.

// BlockSize is the number of postings in a full block.
const BlockSize = 128

const (
	blockEntrySize   = 12
	boundedEntrySize = 24 // before formatWords
	blockHeads       = 6
	blockWidths      = 5 // before formatPatched
	// packedTail positions take less space with a width than as uvarints.
	packedTail = 3
)

// maxFrequency bounds how often a term counts in one field of one chunk.
const maxFrequency = 1 << 20

// list is a term's postings in memory.
type list struct {
	chunks, body, headings, titles []uint32
	positions                      []uint32 // of all postings, one after the other
	forms                          []uint32 // of the positions; empty: the term has one surface
}

func (l *list) reset() {
	l.chunks, l.body, l.headings = l.chunks[:0], l.body[:0], l.headings[:0]
	l.titles, l.positions, l.forms = l.titles[:0], l.positions[:0], l.forms[:0]
}

func (l *list) add(chunk, body, headings, titles uint32) {
	l.chunks = append(l.chunks, chunk)
	l.body = append(l.body, body)
	l.headings = append(l.headings, headings)
	l.titles = append(l.titles, titles)
}

// frequency is the number of positions of posting i.
func (l *list) frequency(i int) int { return int(l.body[i] + l.headings[i] + l.titles[i]) }

// postingsWriter encodes lists.
type postingsWriter struct {
	postings, positions []byte
	gaps                []uint32
}

// add encodes a list and returns how many bytes it takes.
func (w *postingsWriter) add(l *list) (postingsSize, positionsSize int) {
	postings, positions := len(w.postings), len(w.positions)
	full := len(l.chunks) / BlockSize
	table := len(w.postings)
	if full > 0 {
		w.postings = append(w.postings, make([]byte, full*blockEntrySize+8)...)
	}
	at := 0 // in l.positions
	next := uint32(0)
	for b := range full {
		from, to := b*BlockSize, (b+1)*BlockSize
		entry := w.postings[table+b*blockEntrySize:]
		binary.LittleEndian.PutUint32(entry, l.chunks[to-1])
		binary.LittleEndian.PutUint32(entry[4:], uint32(len(w.postings)-postings))
		binary.LittleEndian.PutUint32(entry[8:], uint32(len(w.positions)-positions))
		at = w.block(l, from, to, next, at)
		next = l.chunks[to-1] + 1
	}
	if full > 0 {
		entry := w.postings[table+full*blockEntrySize:]
		binary.LittleEndian.PutUint32(entry, uint32(len(w.postings)-postings))
		binary.LittleEndian.PutUint32(entry[4:], uint32(len(w.positions)-positions))
	}
	w.tail(l, full*BlockSize, next, at)
	return len(w.postings) - postings, len(w.positions) - positions
}

// block encodes the postings from…to and their positions; it returns how far positions have been used.
func (w *postingsWriter) block(l *list, from, to int, next uint32, at int) int {
	var gaps [BlockSize]uint32
	for i := from; i < to; i++ {
		gaps[i-from] = l.chunks[i] - next
		next = l.chunks[i] + 1
	}
	end := w.positionGaps(l, from, to, at)
	heads := len(w.postings)
	w.postings = append(w.postings, make([]byte, blockHeads)...)
	for i, array := range [][]uint32{gaps[:], l.body[from:to], l.headings[from:to], l.titles[from:to]} {
		head, out := appendPatched(w.postings, array)
		w.postings, out[heads+i] = out, head
	}
	first, others := w.packGaps(l, from, to)
	w.postings[heads+4], w.postings[heads+5] = byte(first), byte(others)
	w.forms(l, at, end)
	return end
}

// packGaps packs the gaps of the postings from…to, the first of each in a width of its own.
func (w *postingsWriter) packGaps(l *list, from, to int) (first, others int) {
	var firsts, rest uint32
	at := 0
	for i := from; i < to; i++ {
		end := at + l.frequency(i)
		firsts |= w.gaps[at]
		for _, gap := range w.gaps[at+1 : end] {
			rest |= gap
		}
		at = end
	}
	first, others = bits.Len32(firsts), bits.Len32(rest)
	p := packer{dst: w.positions}
	at = 0
	for i := from; i < to; i++ {
		end := at + l.frequency(i)
		p.add(w.gaps[at:at+1], first)
		p.add(w.gaps[at+1:end], others)
		at = end
	}
	w.positions = p.finish()
	return first, others
}

// positionGaps sets the gaps between the positions of the postings from…to; it returns how far positions have been
// used.
func (w *postingsWriter) positionGaps(l *list, from, to, at int) (end int) {
	w.gaps = w.gaps[:0]
	for i := from; i < to; i++ {
		before := uint32(0)
		for range l.frequency(i) {
			w.gaps = append(w.gaps, l.positions[at]-before)
			before = l.positions[at]
			at++
		}
	}
	return at
}

// forms encodes those of the positions from…to.
func (w *postingsWriter) forms(l *list, from, to int) {
	if len(l.forms) > 0 && from < to {
		width := widthOf(l.forms[from:to])
		w.positions = appendPacked(append(w.positions, byte(width)), l.forms[from:to], width)
	}
}

// tail encodes the postings from from on.
func (w *postingsWriter) tail(l *list, from int, next uint32, at int) {
	for i := from; i < len(l.chunks); i++ {
		gap := uint64(l.chunks[i]-next) << 1
		next = l.chunks[i] + 1
		body, headings, titles := l.body[i], l.headings[i], l.titles[i]
		if body == 1 && headings == 0 && titles == 0 {
			w.postings = binary.AppendUvarint(w.postings, gap|1)
			continue
		}
		w.postings = binary.AppendUvarint(w.postings, gap)
		if body < 16 && headings < 4 && titles < 4 {
			w.postings = append(w.postings, byte(body|headings<<4|titles<<6))
			continue
		}
		w.postings = append(w.postings, 0)
		for _, v := range []uint32{body, headings, titles} {
			w.postings = binary.AppendUvarint(w.postings, uint64(v))
		}
	}
	end := w.positionGaps(l, from, len(l.chunks), at)
	if len(w.gaps) >= packedTail {
		width := widthOf(w.gaps)
		w.positions = appendPacked(append(w.positions, byte(width)), w.gaps, width)
	} else {
		for _, gap := range w.gaps {
			w.positions = binary.AppendUvarint(w.positions, uint64(gap))
		}
	}
	w.forms(l, at, end)
}
