package vector

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"quarry/server/index/segment"
)

const (
	// plainWork and quickWork are how many codes are compared one by one, in Go and by the processor's own
	// instructions, which takes 10 ms; of more vectors the likely ones are sorted out by their signs.
	plainWork, quickWork = 12_000_000, 40_000_000
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
// must be of length 1. It returns the depth best of them, those as good as the last, and a few more, in ascending order
// of their index.
func (f *File) Nearest(query []float32, admitted segment.Bits, depth int) []Near {
	wanted := admitted
	if n := admitted.Count(); n > depth && n*f.dimensions > f.exact {
		wanted = f.likeliest(query, admitted, depth)
	}
	measure := f.measure(query, f.loaded().scales, f.blocks.Bytes(f.codes, f.content-f.codes))
	found := make([]Near, 0, wanted.Count())
	for i := range wanted.Each {
		found = append(found, Near{i, measure(i)})
	}
	return best(found, depth)
}

// best returns the vectors with the n best scores, and those within a thousandth of them, in the order in which they
// are. To sort all would take longer than to measure them.
func best(found []Near, n int) []Near {
	if len(found) <= n {
		return found
	}
	var histogram [2048]int // of scores from -1 to 1
	place := func(near Near) int { return max(0, min(len(histogram)-1, int((near.Score+1)*1024))) }
	for _, near := range found {
		histogram[place(near)]++
	}
	last := len(histogram) - 1
	for sum := histogram[last]; sum < n && last > 0; sum += histogram[last] {
		last--
	}
	return slices.DeleteFunc(found, func(near Near) bool { return place(near) < last })
}

// measure returns a function for the cosine of a query and vector i. The query becomes 16-bit integers, small enough
// that no sum overflows 32 bits.
func (l *layout) measure(query, scales []float32, codes []byte) func(i int) float32 {
	if l.width == 2 {
		return func(i int) float32 {
			sum := float32(0)
			for d, row := 0, l.row(codes, i); d < len(query); d++ {
				sum += query[d] * l.codeAt(row, d)
			}
			return scales[i] * sum
		}
	}
	largest := float32(math.SmallestNonzeroFloat32)
	for _, x := range query {
		largest = max(largest, x, -x)
	}
	most := min(math.MaxInt16, math.MaxInt32/(-math.MinInt8*len(query)))
	integers, dot := make([]int16, len(query)), kernel()
	for d, x := range query {
		integers[d] = int16(math.RoundToEven(float64(x / largest * float32(most))))
	}
	by := largest / float32(most)
	return func(i int) float32 { return by * scales[i] * float32(dot(integers, l.row(codes, i))) }
}

// likeliest returns the vectors that differ from the query in the fewest signs: depth of them, and those that differ
// in as many.
func (f *File) likeliest(query []float32, admitted segment.Bits, depth int) segment.Bits {
	like := signs(query, f.loaded().mean)
	rows := f.blocks.Bytes(f.bits, 8*f.words*f.count)
	distances := make([]uint16, f.count)
	histogram := make([]int, f.dimensions+1)
	stride := 8 * f.words
	for i := range admitted.Each {
		d := differing(like, rows[i*stride:(i+1)*stride])
		distances[i] = uint16(d)
		histogram[d]++
	}
	limit := 0
	for sum := histogram[0]; sum < depth && limit < f.dimensions; sum += histogram[limit] {
		limit++
	}
	wanted := segment.NewBits(f.count)
	for i := range admitted.Each {
		if int(distances[i]) <= limit {
			wanted.Add(i)
		}
	}
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

// dotPlain multiplies integers with as many codes, which are int8.
func dotPlain(query []int16, codes []byte) (sum int32) {
	codes = codes[:len(query)]
	for i, q := range query {
		sum += int32(q) * int32(int8(codes[i]))
	}
	return sum
}
