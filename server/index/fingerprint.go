package index

import (
	"hash/fnv"
	"math/bits"
	"strings"
	"unicode"
)

// Fingerprint identifies what a passage says, so that near-duplicates are found without reading their texts: a SimHash
// (Charikar, Similarity Estimation Techniques from Rounding Algorithms, STOC 2002) of overlapping triples of words, as
// Manku, Jain and Das Sarma use it (Detecting Near-Duplicates for Web Crawling, WWW 2007). The first byte is a digest
// of the words with digits: passages that differ in a number, a date or an identifier do not say the same. 0 is that of
// a passage too short to be compared.
type Fingerprint uint64

const (
	simBits = 56
	// alikeBits is about a third of the triples. Of ten thousand pairs of unrelated passages, one differs in as few.
	alikeBits = 14
	// minTriples is the length of the shortest passage with a fingerprint.
	minTriples = 8
)

// Alike reports whether two texts have most of their triples of words in common, whatever their numbers.
func (f Fingerprint) Alike(other Fingerprint) bool { return f.Distance(other) <= alikeBits }

// Distance is the number of bits in which the words differ; that of passages without a fingerprint is the largest.
func (f Fingerprint) Distance(other Fingerprint) int {
	if f == 0 || other == 0 {
		return simBits
	}
	return bits.OnesCount64(uint64(f^other) << (64 - simBits))
}

// WordHash returns the hash of a word for SimHash.Add. Its last bit says whether the word has a digit.
func WordHash(word string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(word))
	hash := scramble(sum.Sum64()) &^ 1
	if strings.ContainsFunc(word, unicode.IsDigit) {
		hash |= 1
	}
	return hash
}

// SimHash makes the fingerprint of a passage from the hashes of its words.
type SimHash struct {
	before  [2]uint64 // the last words
	words   int
	numbers uint64
	lanes   [8]uint64 // of each byte of a hash: how often each of its bits was set, in a byte each
	counts  [64]uint32
}

// Add adds the next word.
func (s *SimHash) Add(word uint64) {
	if s.words++; word&1 != 0 {
		s.numbers += word >> 1
	}
	hash := scramble(word ^ bits.RotateLeft64(s.before[1], 21) ^ bits.RotateLeft64(s.before[0], 42))
	s.before[0], s.before[1] = s.before[1], word
	if s.words < 3 {
		return
	}
	for i := range s.lanes { // each byte's bits are spread over eight bytes, and added at once
		spread := hash >> (8 * i) & 0xff * 0x0101010101010101 & 0x8040201008040201
		s.lanes[i] += (spread + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101
	}
	if s.words%255 == 0 {
		s.flush()
	}
}

// flush empties the lanes before they overflow.
func (s *SimHash) flush() {
	for i := range s.counts {
		s.counts[i] += uint32(s.lanes[i/8] >> (i % 8 * 8) & 0xff)
	}
	s.lanes = [8]uint64{}
}

// Sum returns the fingerprint of the words since the last call.
func (s *SimHash) Sum() (f Fingerprint) {
	s.flush()
	triples := s.words - 2
	if triples >= minTriples {
		for i, n := range s.counts[:simBits] {
			if 2*int(n) > triples {
				f |= 1 << i
			}
		}
		f = max(f|Fingerprint(s.numbers<<simBits), 1)
	}
	*s = SimHash{}
	return f
}

// scramble spreads what two hashes differ in over all bits (the finalizer of MurmurHash3).
func scramble(x uint64) uint64 {
	x = (x ^ x>>33) * 0xff51afd7ed558ccd
	x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
