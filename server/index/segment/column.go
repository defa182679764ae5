package segment

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A column is an array of numbers, each of 0, 1, 2, 4 or 8 bytes: width u8, shape u8, six zero bytes, count u64, unless
// it is plain base u64 and step u64, the numbers.
const (
	columnHeader       = 16
	shapedColumnHeader = columnHeader + 16
)

// shape is how the numbers of a column are stored.
type shape byte

const (
	shapePlain  shape = iota
	shapeAbove        // less base, which is below all but 0; 0 is stored as it is
	shapeRising       // number i less base + i × step
)

// shapeOf is the shape that makes a column narrow.
func shapeOf(id section) shape {
	switch id {
	case sectionSeconds:
		return shapeAbove
	case sectionFirstChunks, sectionTitleEnds, sectionFacetEnds:
		return shapeRising
	}
	return shapePlain
}

// fit returns the line of values; of a rising column, base + i × step is never above value i.
func (s shape) fit(values []uint64) line {
	var base, step uint64
	switch {
	case s == shapeAbove:
		base = math.MaxUint64
		for _, v := range values {
			if v > 0 {
				base = min(base, v-1)
			}
		}
	case s == shapeRising && len(values) > 1:
		step = (values[len(values)-1] - values[0]) / uint64(len(values)-1)
		least := int64(math.MaxInt64)
		for i, v := range values {
			least = min(least, int64(v-uint64(i)*step))
		}
		base = uint64(least)
	}
	return line{s, base, step}
}

// encodeColumn writes the narrowest column of a shape that contains values.
func encodeColumn(values []uint64, s shape) []byte {
	l := s.fit(values)
	stored := make([]uint64, len(values))
	var all uint64
	for i, v := range values {
		if s != shapeAbove || v > 0 {
			v -= l.base + uint64(i)*l.step
		}
		stored[i] = v
		all |= v
	}
	width := (bits.Len64(all) + 7) / 8
	if width > 2 {
		width = 1 << bits.Len(uint(width-1))
	}
	out := make([]byte, columnHeader, shapedColumnHeader+len(values)*width+padding)
	out[0], out[1] = byte(width), byte(s)
	binary.LittleEndian.PutUint64(out[8:], uint64(len(values)))
	if s != shapePlain {
		out = binary.LittleEndian.AppendUint64(out, l.base)
		out = binary.LittleEndian.AppendUint64(out, l.step)
	}
	for _, v := range stored {
		out = binary.LittleEndian.AppendUint64(out, v)[:len(out)+width]
	}
	return out
}

// Column is a read column.
type Column struct {
	width int
	count int
	data  []byte
	line  *line // nil: it is plain
}

// line is what the numbers of a column are stored relative to.
type line struct {
	shape      shape
	base, step uint64
}

// value returns number i of a column by what is stored of it.
func (l *line) value(i int, stored uint64) uint64 {
	if l.shape == shapeAbove && stored == 0 {
		return 0
	}
	return stored + l.base + uint64(i)*l.step
}

// column reads the column in a section; it checks the section's blocks and that it has count numbers (-1: any number).
func (r *Reader) column(id section, count int) Column {
	e := r.footer.extents[id]
	data := r.bytes(e.offset, e.length)
	r.require(len(data) >= columnHeader, "a column is too short")
	c := Column{width: int(data[0]), data: data[columnHeader:]}
	n := binary.LittleEndian.Uint64(data[8:])
	if s := shape(data[1]); s != shapePlain {
		r.require(s == shapeOf(id) && len(data) >= shapedColumnHeader, "a column has an unknown shape")
		c.line = &line{s, binary.LittleEndian.Uint64(c.data), binary.LittleEndian.Uint64(c.data[8:])}
		c.data = data[shapedColumnHeader:]
	}
	switch c.width {
	case 0:
		r.require(n <= 1<<32, "a column is too long")
	case 1, 2, 4, 8:
		r.require(n <= uint64(len(c.data)/c.width), "a column is cut off")
	default:
		r.require(false, "a column has an unknown width")
	}
	c.count = int(n)
	r.require(count < 0 || c.count == count, "a column has a wrong length")
	return c
}

// Len is the number of numbers.
func (c Column) Len() int { return c.count }

// At returns number i, which must be smaller than Len.
func (c Column) At(i int) uint64 {
	if c.line != nil {
		return c.line.value(i, c.stored(i))
	}
	return c.stored(i)
}

func (c Column) stored(i int) uint64 {
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

// Copy copies the numbers from number from on, as many as there are and fit.
func (c Column) Copy(to []uint64, from int) {
	to = to[:min(len(to), c.count-from)]
	switch c.width {
	case 0:
		clear(to)
	case 1:
		for i, v := range c.data[from:][:len(to)] {
			to[i] = uint64(v)
		}
	case 2:
		for i, data := 0, c.data[2*from:]; i < len(to); i, data = i+1, data[2:] {
			to[i] = uint64(binary.LittleEndian.Uint16(data))
		}
	default:
		for i := range to {
			to[i] = c.stored(from + i)
		}
	}
	switch {
	case c.line == nil:
	case c.line.shape == shapeRising:
		for i, at := range to {
			to[i] = at + c.line.base + uint64(from+i)*c.line.step
		}
	default:
		for i, stored := range to {
			to[i] = c.line.value(from+i, stored)
		}
	}
}

// CountInto adds n to counts[v] for every number v from from to to of a plain column; ^0 takes one away.
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

// Between adds to found the indexes of the numbers v with low ≤ v ≤ high, of a column that is not rising.
func (c Column) Between(low, high uint64, found Bits) {
	if c.line != nil { // 0 and what is above base are stored in order
		base := c.line.base
		if high <= base && low > 0 {
			return
		}
		if low > 0 {
			low = max(low, base+1) - base
		}
		high = max(high, base) - base
	}
	if high < low {
		return
	}
	span := high - low
	if c.width < 4 {
		for i := range c.count {
			if c.stored(i)-low <= span {
				found.Add(i)
			}
		}
		return
	}
	for from := 0; from < c.count; from += 64 { // without branches: which numbers pass cannot be foreseen
		var word uint64
		for i := from; i < min(from+64, c.count); i++ {
			var v uint64
			if c.width == 8 {
				v = binary.LittleEndian.Uint64(c.data[8*i:])
			} else {
				v = uint64(binary.LittleEndian.Uint32(c.data[4*i:]))
			}
			_, beyond := bits.Sub64(span, v-low, 0)
			word |= (beyond ^ 1) << (i & 63)
		}
		found[from/64] |= word
	}
}
