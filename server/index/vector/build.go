package vector

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"quarry/server/index/segment"
)

// Builder makes a file.
type Builder struct {
	// Missing is how many chunks have no vector.
	Missing int

	dimensions int
	chunks     []uint32
	keys       []byte
	scales     []float32
	codes      []byte
	sum        []float64
	exact      int // codes that are measured one by one by any processor
}

// NewBuilder returns an empty builder of vectors with that many dimensions, with room for some.
func NewBuilder(dimensions, room int) *Builder {
	return &Builder{dimensions: dimensions, sum: make([]float64, dimensions), exact: plainWork,
		codes: make([]byte, 0, dimensions*room)}
}

// Len is the number of vectors so far.
func (b *Builder) Len() int { return len(b.chunks) }

// Add appends the vector of a chunk, which must be of length 1. Chunks must ascend.
func (b *Builder) Add(chunk uint32, key Key, vector []float32) {
	packed := Pack(vector)
	b.codes = append(b.codes, packed[packedScale:]...)
	for i, x := range vector {
		b.sum[i] += float64(x)
	}
	b.chunks = append(b.chunks, chunk)
	b.keys = append(b.keys, key[:]...)
	b.scales = append(b.scales, math.Float32frombits(binary.LittleEndian.Uint32(packed)))
}

// packedScale are the bytes of the scale of a packed vector, a float32. Its codes follow, an int8 for each dimension.
const packedScale = 4

// Pack returns a vector as 8-bit integers and what they are multiplied by.
func Pack(vector []float32) []byte {
	largest := float32(0)
	for _, x := range vector {
		largest = max(largest, x, -x)
	}
	scale := largest / math.MaxInt8
	packed := binary.LittleEndian.AppendUint32(make([]byte, 0, packedScale+len(vector)), math.Float32bits(scale))
	for _, x := range vector {
		code := int8(0)
		if scale > 0 {
			code = int8(math.RoundToEven(float64(x / scale)))
		}
		packed = append(packed, byte(code))
	}
	return packed
}

// PackedBytes is the length of a packed vector.
func PackedBytes(dimensions int) int { return packedScale + dimensions }

// Unpack returns the vector of PackedBytes bytes.
func Unpack(packed []byte) []float32 {
	scale := math.Float32frombits(binary.LittleEndian.Uint32(packed))
	vector := make([]float32, len(packed)-packedScale)
	for i, code := range packed[packedScale:] {
		vector[i] = scale * float32(int8(code))
	}
	return vector
}

// Copy appends vector i of a file as that of a chunk.
func (b *Builder) Copy(chunk uint32, from *File, i int) {
	vector := make([]float32, from.dimensions)
	codes := from.row(from.blocks.Bytes(from.codes+from.width*from.dimensions*i, from.width*from.dimensions), 0)
	for d := range vector {
		vector[d] = from.loaded().scales[i] * from.codeAt(codes, d)
	}
	b.Add(chunk, from.Key(i), vector)
}

// Build returns the file. How far a search must look by sign bits alone is measured on the vectors themselves.
func (b *Builder) Build() []byte {
	l := layoutOf(FormatVersion, b.dimensions, len(b.chunks))
	out := make([]byte, l.content, l.content+segment.ChecksumBytes(l.content)+footerSize)
	copy(out, magic)
	binary.LittleEndian.PutUint32(out[8:], FormatVersion)
	binary.LittleEndian.PutUint32(out[12:], uint32(b.dimensions))
	mean := b.mean()
	put := func(at int, numbers any) { _, _ = binary.Encode(out[at:], binary.LittleEndian, numbers) } // they fit
	put(l.mean, mean)
	put(l.chunks, b.chunks)
	put(l.scales, b.scales)
	row := make([]float32, b.dimensions)
	for i, scale := range b.scales {
		codes := l.row(b.codes, i)
		for d := range row {
			row[d] = l.codeAt(codes, d) * scale
		}
		put(l.bits+8*i*l.words, []uint64(signs(row, mean)))
	}
	copy(out[l.keys:], b.keys)
	copy(out[l.codes:], b.codes)
	depth := 0
	if len(b.codes) > b.exact {
		depth = calibrate(l, out, mean, b.scales)
	}
	out = segment.AppendChecksums(out)
	sums := segment.Checksum(out[l.content:])
	start := len(out)
	out, _ = binary.Append(out, binary.LittleEndian, []uint64{uint64(l.count), uint64(b.Missing), uint64(depth)})
	out = binary.LittleEndian.AppendUint32(out, sums)
	out = binary.LittleEndian.AppendUint32(out, segment.Checksum(out[start:]))
	return append(out, magic...)
}

func (b *Builder) mean() []float32 {
	mean := make([]float32, b.dimensions)
	for i, sum := range b.sum {
		mean[i] = float32(sum / float64(max(1, len(b.chunks))))
	}
	return mean
}

// signs has one bit per dimension: whether the vector is above the mean.
func signs(vector, mean []float32) segment.Bits {
	above := segment.NewBits(len(vector))
	for i, x := range vector {
		if x > mean[i] {
			above.Add(i)
		}
	}
	return above
}

// row returns the codes of vector i.
func (l *layout) row(codes []byte, i int) []byte {
	size := l.width * l.dimensions
	return codes[i*size : (i+1)*size]
}

func (l *layout) codeAt(codes []byte, d int) float32 {
	if l.width == 1 {
		return float32(int8(codes[d]))
	}
	return float32(int16(binary.LittleEndian.Uint16(codes[2*d:])))
}

const (
	// checkedHits are the nearest vectors that must be found for a sample of queries.
	checkedHits = 10
	// checkedShare of them must be.
	checkedShare = 0.99
	// checkedWork bounds what the check costs, in multiplications: half a second.
	checkedWork    = 500_000_000
	fewestChecks   = 8
	mostChecks     = 32
	checkedOffset  = 0.35 // how far off the sample queries lie from vectors, as a length
	checkedReserve = 1.5
)

// calibrate measures how many vectors, in the order of their signs, hold the checkedHits nearest of queries that lie
// near vectors of the file. raw is the content of the file.
func calibrate(l layout, raw []byte, mean, scales []float32) int {
	random := rand.New(rand.NewPCG(uint64(l.count), uint64(l.dimensions)))
	rows, codes := raw[l.bits:l.keys], raw[l.codes:l.content]
	checks := min(max(checkedWork/(l.count*l.dimensions), fewestChecks), mostChecks)
	var needed []int
	scores := make([]Near, l.count)
	for range checks {
		query := l.near(random, l.row(codes, random.IntN(l.count)))
		measure := l.measure(query, scales, codes)
		for i := range scores {
			scores[i] = Near{i, measure(i)}
		}
		histogram := make([]int, l.dimensions+1)
		like, stride := signs(query, mean), 8*l.words
		for i := range l.count {
			histogram[differing(like, rows[i*stride:(i+1)*stride])]++
		}
		for i := 1; i < len(histogram); i++ {
			histogram[i] += histogram[i-1]
		}
		for _, best := range nearest(scores, checkedHits) {
			needed = append(needed, histogram[differing(like, rows[best.Index*stride:(best.Index+1)*stride])])
		}
	}
	slices.Sort(needed)
	at := min(int(math.Ceil(checkedShare*float64(len(needed)))), len(needed)) - 1
	return min(l.count, int(checkedReserve*float64(needed[at])))
}

// near makes a query that lies near a vector.
func (l *layout) near(random *rand.Rand, codes []byte) []float32 {
	query := make([]float32, l.dimensions)
	length := 0.0
	for d := range query {
		query[d] = l.codeAt(codes, d)
		length += float64(query[d]) * float64(query[d])
	}
	noise := checkedOffset * math.Sqrt(length/float64(len(query)))
	moved := 0.0
	for d := range query {
		query[d] += float32(noise * random.NormFloat64())
		moved += float64(query[d]) * float64(query[d])
	}
	for d := range query {
		query[d] /= float32(max(math.Sqrt(moved), math.SmallestNonzeroFloat32))
	}
	return query
}

// nearest returns the n best, in no particular order; all changes its order.
func nearest(all []Near, n int) []Near {
	slices.SortFunc(all[:min(n, len(all))], func(a, b Near) int { return cmp.Compare(a.Score, b.Score) })
	best := slices.Clone(all[:min(n, len(all))]) // worst first
	for _, candidate := range all[len(best):] {
		if candidate.Score <= best[0].Score {
			continue
		}
		best[0] = candidate
		for i := 1; i < len(best) && best[i].Score < best[i-1].Score; i++ {
			best[i], best[i-1] = best[i-1], best[i]
		}
	}
	return best
}
