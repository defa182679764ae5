package segment

import "math/bits"

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

// Each calls yield for each number, ascending.
func (b Bits) Each(yield func(i int)) {
	for at, word := range b {
		for ; word != 0; word &= word - 1 {
			yield(at*64 + bits.TrailingZeros64(word))
		}
	}
}
