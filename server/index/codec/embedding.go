package codec

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"

	"quarry/server/index"
	"quarry/server/index/vector"
)

// EmbeddedText returns the text of a chunk below its title and headings, which is what the model embeds.
func EmbeddedText(d *index.Document, chunk int) string {
	c := &d.Chunks[chunk]
	head := d.Title
	if len(c.Headings) > 0 {
		head = strings.TrimSpace(head + "\n" + strings.Join(c.Headings, " > "))
	}
	return strings.TrimSpace(head + "\n\n" + c.Text)
}

// KeyOf identifies the vector of a text.
func KeyOf(text string) (key vector.Key) {
	sum := sha256.Sum256([]byte(text))
	copy(key[:], sum[:])
	return key
}

// AppendVector appends a vector as it is stored: float32, little endian.
func AppendVector(dst []byte, values []float32) []byte {
	for _, value := range values {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(value))
	}
	return dst
}

// Vector reads what AppendVector wrote.
func Vector(data []byte) []float32 {
	values := make([]float32, len(data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return values
}
