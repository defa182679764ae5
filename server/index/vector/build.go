package vector

import (
	"encoding/binary"
	"math"

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
}

// NewBuilder returns an empty builder of vectors with that many dimensions, with room for some.
func NewBuilder(dimensions, room int) *Builder {
	return &Builder{dimensions: dimensions, sum: make([]float64, dimensions),
		codes: make([]byte, 0, codeBytes*dimensions*room)}
}

// Len is the number of vectors so far.
func (b *Builder) Len() int { return len(b.chunks) }

// Add appends the vector of a chunk, which must be of length 1. Chunks must ascend.
func (b *Builder) Add(chunk uint32, key Key, vector []float32) {
	largest := float32(0)
	for _, x := range vector {
		largest = max(largest, x, -x)
	}
	scale := largest / math.MaxInt16
	for i, x := range vector {
		code := int16(0)
		if scale > 0 {
			code = int16(math.RoundToEven(float64(x / scale)))
		}
		b.codes = binary.LittleEndian.AppendUint16(b.codes, uint16(code))
		b.sum[i] += float64(x)
	}
	b.enter(chunk, key, scale)
}

// Copy appends vector i of a file as that of a chunk.
func (b *Builder) Copy(chunk uint32, from *File, i int) {
	codes, scale := from.vectorCodes(i), from.loaded().scales[i]
	b.codes = append(b.codes, codes...)
	for d := range b.sum {
		b.sum[d] += float64(codeAt(codes, d) * scale)
	}
	b.enter(chunk, from.Key(i), scale)
}

func (b *Builder) enter(chunk uint32, key Key, scale float32) {
	b.chunks = append(b.chunks, chunk)
	b.keys = append(b.keys, key[:]...)
	b.scales = append(b.scales, scale)
}

// Build returns the file. How far a search must look by sign bits alone is measured on the vectors themselves.
func (b *Builder) Build() []byte {
	l := layoutOf(b.dimensions, len(b.chunks))
	out := make([]byte, l.content, l.content+segment.ChecksumBytes(l.content)+footerSize)
	copy(out, magic)
	binary.LittleEndian.PutUint32(out[8:], FormatVersion)
	binary.LittleEndian.PutUint32(out[12:], uint32(b.dimensions))
	mean := b.mean()
	for i, m := range mean {
		binary.LittleEndian.PutUint32(out[l.mean+4*i:], math.Float32bits(m))
	}
	row := make([]float32, b.dimensions)
	for i, scale := range b.scales {
		codes := l.row(b.codes, i)
		for d := range row {
			row[d] = codeAt(codes, d) * scale
		}
		for w, word := range signs(row, mean) {
			binary.LittleEndian.PutUint64(out[l.bits+8*(i*l.words+w):], word)
		}
		binary.LittleEndian.PutUint32(out[l.chunks+4*i:], b.chunks[i])
		binary.LittleEndian.PutUint32(out[l.scales+4*i:], math.Float32bits(scale))
	}
	copy(out[l.keys:], b.keys)
	copy(out[l.codes:], b.codes)
	depth := calibrate(l, out, mean, b.scales)
	out = segment.AppendChecksums(out)
	sums := segment.Checksum(out[l.content:])
	start := len(out)
	out = binary.LittleEndian.AppendUint64(out, uint64(l.count))
	out = binary.LittleEndian.AppendUint64(out, uint64(b.Missing))
	out = binary.LittleEndian.AppendUint64(out, uint64(depth))
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
	return codes[i*codeBytes*l.dimensions : (i+1)*codeBytes*l.dimensions]
}

func codeAt(codes []byte, d int) float32 {
	return float32(int16(binary.LittleEndian.Uint16(codes[codeBytes*d:])))
}
