package segment

import (
	"encoding/binary"
	"math/bits"
)

// The postings of a term are full blocks of BlockSize, described by a table in front of them, and a tail of what is
// left:
//
//	table  per full block: last chunk u32, offset of the block u32, offset of its positions u32 (before formatWords also
//	       12 bytes that nothing reads); then the tail's two offsets, u32 each. No table where there is no full block.
//	block  widths of chunk gaps, body, heading, title frequencies and position gaps u8 each; the first four bit-packed
//	tail   uvarint gap << 1 | 1 where the only occurrence is one in the body, otherwise uvarint gap << 1 and a byte, body
//	       | headings << 4 | title << 6; 0 if they do not fit, or before formatWords no byte: uvarint body, headings, title
//
// A gap is the distance to the posting before, less one. Positions are kept apart: bit-packed gaps per block, those of
// a posting starting at zero again; first the title's, then the headings', then the body's. The tail has the width of
// its gaps u8 in front of them; where they are fewer than packedTail, or before formatWords, uvarint gaps. Behind them
// a block or tail of a term with several surfaces has the width of forms u8, and for each position the number of its
// surface among the term's, bit-packed.

// BlockSize is the number of postings in a full block.
const BlockSize = 128

const (
	blockEntrySize   = 12
	boundedEntrySize = 24 // before formatWords
	blockWidths      = 5
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

// add encodes a list and returns where it lies.
func (w *postingsWriter) add(l *list) (postings, postingsSize, positions, positionsSize int) {
	postings, positions = len(w.postings), len(w.positions)
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
	return postings, len(w.postings) - postings, positions, len(w.positions) - positions
}

// block encodes the postings from…to and their positions; it returns how far positions have been used.
func (w *postingsWriter) block(l *list, from, to int, next uint32, at int) int {
	var gaps [BlockSize]uint32
	for i := from; i < to; i++ {
		gaps[i-from] = l.chunks[i] - next
		next = l.chunks[i] + 1
	}
	end := w.positionGaps(l, from, to, at)
	arrays := [][]uint32{gaps[:], l.body[from:to], l.headings[from:to], l.titles[from:to]}
	for _, array := range arrays {
		w.postings = append(w.postings, byte(widthOf(array)))
	}
	width := widthOf(w.gaps)
	w.postings = append(w.postings, byte(width))
	for _, array := range arrays {
		w.postings = appendPacked(w.postings, array, widthOf(array))
	}
	w.positions = appendPacked(w.positions, w.gaps, width)
	w.forms(l, at, end)
	return end
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

// widthOf is the number of bits that the largest of values needs.
func widthOf(values []uint32) int {
	var all uint32
	for _, v := range values {
		all |= v
	}
	return bits.Len32(all)
}

// packedSize is the number of bytes that n values of the width take.
func packedSize(n, width int) int { return (n*width + 7) / 8 }

// appendPacked appends values, width bits each.
func appendPacked(dst []byte, values []uint32, width int) []byte {
	if width == 0 {
		return dst
	}
	var buffer uint64
	filled := 0
	for _, v := range values {
		buffer |= uint64(v) << filled
		filled += width
		for filled >= 8 {
			dst = append(dst, byte(buffer))
			buffer >>= 8
			filled -= 8
		}
	}
	if filled > 0 {
		dst = append(dst, byte(buffer))
	}
	return dst
}

// unpack reads values of the width from src, which must go on for eight bytes behind them.
func unpack(dst *[BlockSize]uint32, src []byte, width int) {
	mask := uint64(1)<<width - 1
	if width > 8 {
		at := 0
		for i := range dst {
			dst[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & mask)
			at += width
		}
		return
	}
	shift := width & 63
	for i := 0; i < BlockSize; i += 8 { // eight values fill width bytes and fit into one load
		v := binary.LittleEndian.Uint64(src[i>>3*width:])
		group := dst[i : i+8 : i+8]
		group[0] = uint32(v & mask)
		v >>= shift
		group[1] = uint32(v & mask)
		v >>= shift
		group[2] = uint32(v & mask)
		v >>= shift
		group[3] = uint32(v & mask)
		v >>= shift
		group[4] = uint32(v & mask)
		v >>= shift
		group[5] = uint32(v & mask)
		v >>= shift
		group[6] = uint32(v & mask)
		v >>= shift
		group[7] = uint32(v & mask)
	}
}

// unpackOne reads the value with the given index.
func unpackOne(src []byte, index, width int) uint32 {
	if width == 0 {
		return 0
	}
	at := index * width
	return uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & (1<<width - 1))
}
