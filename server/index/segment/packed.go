package segment

import (
	"encoding/binary"
	"math/bits"
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
