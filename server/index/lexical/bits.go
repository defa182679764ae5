package lexical

import "math/bits"

// each calls yield with every bit that is set, ascending.
func each(bitmap []uint64, yield func(i int)) {
	for at, word := range bitmap {
		for ; word != 0; word &= word - 1 {
			yield(at*64 + bits.TrailingZeros64(word))
		}
	}
}
