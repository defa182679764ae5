package vector

import (
	"encoding/binary"
	"math/bits"
	"quarry/server/index/segment"
)

const (
	// exactBelow is the number of vectors that are measured one by one: sorting them out by their signs saves nothing.
	exactBelow = 2_000
	// leastDepth vectors are measured, however well signs separated them when the file was written: questions lie
	// further off than the vectors themselves. perHit more are for each one that is asked for beyond the ten that were
	// checked; of those that are so far down some may be missed.
	perHit, leastDepth = 8, 200
)

// Near is a vector that was found.
type Near struct {
	Index int     // of the vector
	Score float32 // the cosine of the angle to the query
}

// Depth is how many vectors to measure for the limit nearest.
func (f *File) Depth(limit int) int {
	return max(leastDepth, f.depth) + perHit*max(0, limit-checkedHits)
}

// Nearest measures, as Yamada, Asai and Hajishirzi do (Efficient passage retrieval with hashing, ACL 2021), among the
// vectors whose bit is set in admitted, at least the depth ones whose signs are most like those of the query, which
// must be of length 1. They come in ascending order of their index.
func (f *File) Nearest(query []float32, admitted segment.Bits, depth int) []Near {
	wanted := admitted
	if admitted.Count() > max(depth, exactBelow) {
		wanted = f.likeliest(query, admitted, depth)
	}
	c := f.loaded()
	codes := f.blocks.Bytes(f.codes, f.content-f.codes)
	found := make([]Near, 0, wanted.Count())
	wanted.Each(func(i int) { found = append(found, Near{i, c.scales[i] * dot(query, f.row(codes, i))}) })
	return found
}

// likeliest returns the vectors that differ from the query in the fewest signs: depth of them, and those that differ
// in as many.
func (f *File) likeliest(query []float32, admitted segment.Bits, depth int) segment.Bits {
	like := signs(query, f.loaded().mean)
	rows := f.blocks.Bytes(f.bits, 8*f.words*f.count)
	distances := make([]uint16, f.count)
	histogram := make([]int, f.dimensions+1)
	stride := 8 * f.words
	admitted.Each(func(i int) {
		d := differing(like, rows[i*stride:(i+1)*stride])
		distances[i] = uint16(d)
		histogram[d]++
	})
	limit := 0
	for sum := histogram[0]; sum < depth && limit < f.dimensions; sum += histogram[limit] {
		limit++
	}
	wanted := segment.NewBits(f.count)
	admitted.Each(func(i int) {
		if int(distances[i]) <= limit {
			wanted.Add(i)
		}
	})
	return wanted
}

// differing counts the signs in which a row differs from like.
func differing(like []uint64, row []byte) (n int) {
	for _, word := range like {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(row[:8]) ^ word)
		row = row[8:]
	}
	return n
}

// dot multiplies a vector with codes. Four sums keep the processor from waiting for each addition.
func dot(query []float32, codes []byte) float32 {
	var a, b, c, d float32
	for len(query) >= 4 && len(codes) >= 4*codeBytes {
		four := binary.LittleEndian.Uint64(codes)
		a += query[0] * float32(int16(four))
		b += query[1] * float32(int16(four>>16))
		c += query[2] * float32(int16(four>>32))
		d += query[3] * float32(int16(four>>48))
		query, codes = query[4:], codes[4*codeBytes:]
	}
	for i, q := range query {
		a += q * codeAt(codes, i)
	}
	return a + b + c + d
}
