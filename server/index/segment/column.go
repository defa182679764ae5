package segment

import (
	"encoding/binary"
	"math/bits"
)

// A column is an array of numbers, each of 0, 1, 2, 4 or 8 bytes: width u8, seven zero bytes, count u64, the numbers.
const columnHeader = 16

// encodeColumn writes the narrowest column that contains values.
func encodeColumn(values []uint64) []byte {
	var all uint64
	for _, v := range values {
		all |= v
	}
	width := (bits.Len64(all) + 7) / 8
	if width > 2 {
		width = 1 << bits.Len(uint(width-1))
	}
	out := make([]byte, columnHeader, columnHeader+len(values)*width+padding)
	out[0] = byte(width)
	binary.LittleEndian.PutUint64(out[8:], uint64(len(values)))
	for _, v := range values {
		out = binary.LittleEndian.AppendUint64(out, v)[:len(out)+width]
	}
	return out
}

// Column is a read column.
type Column struct {
	width int
	count int
	data  []byte
}

// column reads the column in a section; it checks the section's blocks and that it has count numbers (-1: any number).
func (r *Reader) column(id section, count int) Column {
	e := r.footer.extents[id]
	data := r.bytes(e.offset, e.length)
	if len(data) < columnHeader {
		panic(r.damaged("a column is too short"))
	}
	c := Column{width: int(data[0]), data: data[columnHeader:]}
	n := binary.LittleEndian.Uint64(data[8:])
	switch c.width {
	case 0:
		if n > 1<<32 {
			panic(r.damaged("a column is too long"))
		}
	case 1, 2, 4, 8:
		if n > uint64(len(c.data)/c.width) {
			panic(r.damaged("a column is cut off"))
		}
	default:
		panic(r.damaged("a column has an unknown width"))
	}
	c.count = int(n)
	if count >= 0 && c.count != count {
		panic(r.damaged("a column has a wrong length"))
	}
	return c
}

// Len is the number of numbers.
func (c Column) Len() int { return c.count }

// At returns number i, which must be smaller than Len.
func (c Column) At(i int) uint64 {
	switch c.width {
	case 1:
		return uint64(c.data[i])
	case 2:
		return uint64(binary.LittleEndian.Uint16(c.data[2*i:]))
	case 4:
		return uint64(binary.LittleEndian.Uint32(c.data[4*i:]))
	case 8:
		return binary.LittleEndian.Uint64(c.data[8*i:])
	}
	return 0
}

// CountInto adds n to counts[v] for every number v from from to to; ^0 takes one away.
func (c Column) CountInto(counts []uint32, from, to int, n uint32) {
	switch c.width {
	case 1:
		for _, v := range c.data[from:to] {
			counts[v] += n
		}
	case 2:
		for data := c.data[2*from : 2*to]; len(data) >= 2; data = data[2:] {
			counts[binary.LittleEndian.Uint16(data)] += n
		}
	default:
		for i := from; i < to; i++ {
			counts[c.At(i)] += n
		}
	}
}

// Between adds to found the indexes of the numbers v with low ≤ v ≤ high.
func (c Column) Between(low, high uint64, found Bits) {
	if high < low {
		return
	}
	span := high - low
	if c.width != 8 {
		for i := range c.count {
			if c.At(i)-low <= span {
				found.Add(i)
			}
		}
		return
	}
	for from := 0; from < c.count; from += 64 { // without branches: which numbers pass cannot be foreseen
		var word uint64
		data := c.data[8*from : 8*min(from+64, c.count)]
		for i := 0; len(data) >= 8; i++ {
			_, beyond := bits.Sub64(span, binary.LittleEndian.Uint64(data)-low, 0)
			word |= (beyond ^ 1) << (i & 63)
			data = data[8:]
		}
		found[from/64] |= word
	}
}
