package encoder

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// maxHeader bounds the description of the tensors, which is a few hundred bytes in models of this kind.
const maxHeader = 1 << 20

// tensor is an array of numbers in a file of safetensors: u64 length of a JSON header, the header, the data.
type tensor struct {
	Type  string `json:"dtype"`
	Shape []int  `json:"shape"`
	Range []int  `json:"data_offsets"` // in what follows the header
	data  []byte
}

// tensors are those of a file by their names.
type tensors map[string]tensor

// parseTensors reads a file of safetensors.
func parseTensors(file []byte) tensors {
	require(len(file) >= 8, "it is too short")
	size := binary.LittleEndian.Uint64(file)
	require(size <= maxHeader && size <= uint64(len(file)-8), "the length of its header is wrong")
	content := file[8+size:]
	var entries map[string]json.RawMessage
	guard.While("its header is damaged", wire.Unmarshal(file[8:8+size], &entries))
	all := tensors{}
	for name, entry := range entries {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		guard.While(fmt.Sprintf("tensor %q is damaged", name), wire.Unmarshal(entry, &t))
		require(len(t.Range) == 2 && t.Range[0] >= 0 && t.Range[0] <= t.Range[1] && t.Range[1] <= len(content),
			"tensor %q is outside of the file", name)
		t.data = content[t.Range[0]:t.Range[1]]
		all[name] = t
	}
	return all
}

// floats returns the numbers of a tensor of a shape.
func (t tensor) floats(shape ...int) (values []float32) {
	t.numbers(shape, func(i int, value float64) {
		if i == 0 {
			width, _ := t.format()
			values = make([]float32, 0, len(t.data)/width)
		}
		values = append(values, float32(value))
	})
	return values
}

// numbers calls each for the numbers of a tensor of a shape, in order.
func (t tensor) numbers(shape []int, each func(i int, value float64)) {
	width, read := t.format()
	require(width > 0, "its type %q is not supported", t.Type)
	require(slices.Equal(t.Shape, shape), "its shape is %v, not %v", t.Shape, shape)
	const unfit = "its shape does not fit its data"
	count := 1
	for _, n := range shape {
		require(n > 0 && n <= len(t.data) && count*n <= len(t.data), unfit)
		count *= n
	}
	require(count*width == len(t.data), unfit)
	for i := range count {
		value := read(t.data[i*width:])
		if math.IsNaN(value) || math.Abs(value) > math.MaxFloat32 {
			guard.Abort(errors.New("one of its numbers is not finite"))
		}
		each(i, value)
	}
}

// format returns the bytes of a number and a function that reads it; 0 if its type is not supported.
func (t tensor) format() (width int, read func([]byte) float64) {
	order := binary.LittleEndian
	switch t.Type {
	case "F16":
		return 2, func(b []byte) float64 { return float64(half(order.Uint16(b))) }
	case "F32":
		return 4, func(b []byte) float64 { return float64(math.Float32frombits(order.Uint32(b))) }
	case "F64":
		return 8, func(b []byte) float64 { return math.Float64frombits(order.Uint64(b)) }
	case "I32":
		return 4, func(b []byte) float64 { return float64(int32(order.Uint32(b))) }
	case "I64":
		return 8, func(b []byte) float64 { return float64(int64(order.Uint64(b))) }
	}
	return 0, nil
}

// half converts a number of 16 bits (IEEE 754 binary16).
func half(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0: // too small for an exponent
		return float32(math.Copysign(math.Ldexp(float64(fraction), -24), float64(int32(sign)|1)))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
