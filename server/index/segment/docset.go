package segment

import (
	"encoding/binary"
	"math/bits"
)

// A document set is either runs, uvarint (gap << 1 | 1, length − 2) or (gap << 1) for a single document, or a bitmap of
// 64-bit words, whichever is shorter. The first byte says which.
const (
	setRuns   = 0
	setBitmap = 1
)

// appendSet encodes ascending ordinals below documents.
func appendSet(dst []byte, ordinals []uint32, documents int) []byte {
	start := len(dst)
	words := (documents + 63) / 64
	dst = append(dst, setRuns)
	next := uint32(0)
	for i := 0; i < len(ordinals); {
		length := 1
		for i+length < len(ordinals) && ordinals[i+length] == ordinals[i]+uint32(length) {
			length++
		}
		gap := uint64(ordinals[i] - next)
		if length == 1 {
			dst = binary.AppendUvarint(dst, gap<<1)
		} else {
			dst = binary.AppendUvarint(dst, gap<<1|1)
			dst = binary.AppendUvarint(dst, uint64(length-2))
		}
		next = ordinals[i] + uint32(length)
		i += length
	}
	if len(dst)-start <= 1+8*words {
		return dst
	}
	set := NewBits(documents)
	for _, ordinal := range ordinals {
		set.Add(int(ordinal))
	}
	dst = append(dst[:start], setBitmap)
	for _, word := range set {
		dst = binary.LittleEndian.AppendUint64(dst, word)
	}
	return dst
}

// Set is an encoded set of documents.
type Set struct {
	r    *Reader
	n    int // its members are below it
	data []byte
}

// runs calls yield with every run [from, to) of the set.
func (s Set) runs(yield func(from, to int)) {
	if len(s.data) == 0 {
		return
	}
	documents := uint64(s.n)
	rest := s.data[1:]
	next := uint64(0)
	for len(rest) > 0 {
		var head, length uint64
		head, rest = uvarint(s.r, rest)
		from := next + head>>1
		length = 1
		if head&1 != 0 {
			length, rest = uvarint(s.r, rest)
			length += 2
		}
		if from > documents || length > documents-from {
			panic(s.r.damaged("a set names a document that does not exist"))
		}
		next = from + length
		yield(int(from), int(next))
	}
}

func (s Set) bitmap() bool { return len(s.data) > 0 && s.data[0] == setBitmap }

func (s Set) word(i int) uint64 { return binary.LittleEndian.Uint64(s.data[1+8*i:]) }

// Union adds the set to a set of documents.
func (s Set) Union(documents Bits) {
	if s.bitmap() {
		for i := range documents {
			documents[i] |= s.word(i)
		}
		return
	}
	s.runs(documents.AddRange)
}

// bits returns the documents of the set.
func (s Set) bits() Bits {
	documents := NewBits(s.n)
	s.Union(documents)
	return documents
}

// Count returns how many documents are in the set.
func (s Set) Count() int { return s.bits().Count() }

// each yields the ordinals of the set, ascending.
func (s Set) each(yield func(int) bool) { s.bits().Each(yield) }

// Bits is a set of small numbers, one bit for each.
type Bits []uint64

// NewBits returns an empty set with room for the numbers below n.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Has reports whether i is in the set.
func (b Bits) Has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// Add adds i.
func (b Bits) Add(i int) { b[i/64] |= 1 << (i % 64) }

// Remove removes i.
func (b Bits) Remove(i int) { b[i/64] &^= 1 << (i % 64) }

// AddRange adds the numbers from from up to, but without, to.
func (b Bits) AddRange(from, to int) {
	for i := from; i < to; {
		if i%64 == 0 && to-i >= 64 {
			b[i/64] = ^uint64(0)
			i += 64
			continue
		}
		b.Add(i)
		i++
	}
}

// And keeps the numbers that are in other, too.
func (b Bits) And(other Bits) {
	for i := range b {
		b[i] &= other[i]
	}
}

// Or adds the numbers that are in other.
func (b Bits) Or(other Bits) {
	for i := range b {
		b[i] |= other[i]
	}
}

// AndNot removes the numbers that are in other.
func (b Bits) AndNot(other Bits) {
	for i := range b {
		b[i] &^= other[i]
	}
}

// Count returns how many numbers are in the set.
func (b Bits) Count() (n int) {
	for _, word := range b {
		n += bits.OnesCount64(word)
	}
	return n
}

// Each yields each number, ascending.
func (b Bits) Each(yield func(i int) bool) {
	for at, word := range b {
		for ; word != 0; word &= word - 1 {
			if !yield(at*64 + bits.TrailingZeros64(word)) {
				return
			}
		}
	}
}
