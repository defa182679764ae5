package segment

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// A block of numbers is bit-packed, in the width that most of them need; what larger ones have above it are exceptions:
//
//	head     u8: width; lessOne where one was taken off each number; patched where there are exceptions
//	numbers  BlockSize of the width, 0 to 32 bits
//	patched  exceptions u8, for each the index of its number u8 and what it has above the width u8
const (
	widthBits = 0x3f
	lessOne   = 0x40
	patched   = 0x80 // never before formatPatched
)

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
	p := packer{dst: dst}
	p.add(values, width)
	return p.finish()
}

// packer appends numbers to dst.
type packer struct {
	dst    []byte
	buffer uint64
	filled int // bits
}

// add appends values, width bits each.
func (p *packer) add(values []uint32, width int) {
	if width == 0 {
		return
	}
	for _, v := range values {
		p.buffer |= uint64(v) << p.filled
		p.filled += width
		for p.filled >= 8 {
			p.dst = append(p.dst, byte(p.buffer))
			p.buffer >>= 8
			p.filled -= 8
		}
	}
}

// finish fills the last byte.
func (p *packer) finish() []byte {
	if p.filled > 0 {
		p.dst = append(p.dst, byte(p.buffer))
	}
	return p.dst
}

// appendPatched appends a block of values and returns its head.
func appendPatched(dst []byte, values []uint32) (head byte, out []byte) {
	var stored [BlockSize]uint32
	copy(stored[:], values)
	if slices.Min(values) > 0 {
		head = lessOne
		for i := range stored {
			stored[i]--
		}
	}
	width := patchedWidth(stored[:])
	exceptions := make([]byte, 1, 1+2*BlockSize)
	for i, v := range stored {
		if high := v >> width; high > 0 {
			exceptions = append(exceptions, byte(i), byte(high))
			stored[i] &= 1<<width - 1
		}
	}
	head |= byte(width)
	dst = appendPacked(dst, stored[:], width)
	if n := len(exceptions) / 2; n > 0 {
		exceptions[0] = byte(n)
		return head | patched, append(dst, exceptions...)
	}
	return head, dst
}

// patchedWidth returns the width in which values take the fewest bytes; the others have a byte above it.
func patchedWidth(values []uint32) int {
	var counts [33]int // of values that have so many bits
	for _, v := range values {
		counts[bits.Len32(v)]++
	}
	all := widthOf(values)
	width, least, over := all, packedSize(len(values), all), 0
	for w := all - 1; w >= max(0, all-8); w-- {
		over += counts[w+1]
		if size := packedSize(len(values), w) + 1 + 2*over; size < least {
			width, least = w, size
		}
	}
	return width
}

// unpackPatched reads a block of values with a head from src, and returns what follows them.
func (t *Term) unpackPatched(dst *[BlockSize]uint32, src []byte, head byte) []byte {
	width := int(head & widthBits)
	t.r.require(width <= 32, "a block of postings has a wrong width")
	if width == 0 && head&lessOne == 0 {
		*dst = [BlockSize]uint32{}
	} else {
		unpack(dst, src, width, uint32(head&lessOne)/lessOne)
	}
	src = src[packedSize(BlockSize, width):]
	if head&patched == 0 {
		return src
	}
	n := 1 + 2*int(src[0])
	for exceptions := src[1:n]; len(exceptions) >= 2; exceptions = exceptions[2:] {
		dst[exceptions[0]%BlockSize] += uint32(exceptions[1]) << width
	}
	return src[n:]
}

// unpack reads values of the width, and adds base to each, from src, which must go on for eight bytes behind them.
func unpack(dst *[BlockSize]uint32, src []byte, width int, base uint32) {
	mask := uint64(1)<<width - 1
	if width > 8 {
		at := 0
		for i := range dst {
			dst[i] = uint32(binary.LittleEndian.Uint64(src[at>>3:])>>(at&7)&mask) + base
			at += width
		}
		return
	}
	shift := width & 63
	for i := 0; i < BlockSize; i += 8 { // eight values fill width bytes and fit into one load
		v := binary.LittleEndian.Uint64(src[i>>3*width:])
		group := dst[i : i+8 : i+8]
		group[0] = uint32(v&mask) + base
		v >>= shift
		group[1] = uint32(v&mask) + base
		v >>= shift
		group[2] = uint32(v&mask) + base
		v >>= shift
		group[3] = uint32(v&mask) + base
		v >>= shift
		group[4] = uint32(v&mask) + base
		v >>= shift
		group[5] = uint32(v&mask) + base
		v >>= shift
		group[6] = uint32(v&mask) + base
		v >>= shift
		group[7] = uint32(v&mask) + base
	}
}

// unpackOne reads the value with the given index.
func unpackOne(src []byte, index, width int) uint32 {
	return bitsAt(src, index*width, width)
}

// bitsAt reads a value of the width behind at bits.
func bitsAt(src []byte, at, width int) uint32 {
	if width == 0 {
		return 0
	}
	return uint32(binary.LittleEndian.Uint64(src[at>>3:]) >> (at & 7) & (1<<width - 1))
}
