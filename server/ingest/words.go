package ingest

import (
	"hash/maphash"
	"math"
	"strings"
	"unicode"

	"quarry/server/index"
)

// distinctWords estimates the number of different words of a document, from the bits that their hashes set (Whang,
// Vander-Zanden and Taylor, A linear-time probabilistic counting algorithm, 1990). The index of a document takes memory
// for each of them.
func distinctWords(doc *index.Document) int {
	const size = 1 << 23
	seed, bits, set := maphash.MakeSeed(), make([]uint64, size/64), 0
	for i := range doc.Chunks {
		for word := range strings.FieldsFuncSeq(doc.Chunks[i].Text, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			at := maphash.String(seed, word) % size
			if bit := uint64(1) << (at % 64); bits[at/64]&bit == 0 {
				bits[at/64] |= bit
				set++
			}
		}
	}
	return int(-size * math.Log1p(-float64(set)/(size+1)))
}
