package encoder

import (
	"math"

	"quarry/internal/guard"
)

// How the linear maps are cut into tiles, and attention into rows and panels: what fits the registers of the kernels.
const (
	tileRows      = 8
	tileOutputs   = 32
	tileInputs    = 4 // multiplied by one instruction
	attentionRows = 4
	panel         = 16  // columns of a product of floats
	packedZero    = 128 // the input that offsets count with
)

// tileSums are the sums of a tile, row after row.
type tileSums = [tileRows * tileOutputs]int32

// linear is a map of rows of inputs to rows of outputs. Its weights are 8-bit integers with a factor for each output,
// in the order of the kernels: [outputs/32][inputs/4][32][4]. Inputs become unsigned bytes, with a factor for
// each row and a byte for 0; offsets has what packedZero adds to each output.
type linear struct {
	inputs, outputs int
	weights         []int8
	factors, bias   []float32
	offsets         []int32
	pairs           [][]uint16 // of each tile, see kernels.pair
}

// newLinear quantizes weights, [outputs][inputs].
func newLinear(inputs int, weights, bias []float32) linear {
	outputs := len(bias)
	l := linear{inputs, outputs, make([]int8, len(weights)), make([]float32, outputs), bias,
		make([]int32, outputs), nil}
	for o := range outputs {
		tile := o / tileOutputs * tileOutputs * inputs
		l.factors[o] = quantizeRow(weights[o*inputs:][:inputs], func(i int, q int8) {
			l.weights[tile+(i/tileInputs*tileOutputs+o%tileOutputs)*tileInputs+i%tileInputs] = q
			l.offsets[o] += packedZero * int32(q)
		})
	}
	return l
}

// quantizeRow calls set with the numbers of a row as integers, and returns the factor that turns them back.
func quantizeRow(row []float32, set func(i int, q int8)) (factor float32) {
	most := float32(0)
	for _, w := range row {
		most = max(most, w, -w)
	}
	if most == 0 {
		return 0
	}
	factor = most / math.MaxInt8
	for i, w := range row {
		set(i, int8(math.Round(float64(w/factor))))
	}
	return factor
}

// run maps count rows of x to rows of out.
func (l *linear) run(k *kernels, s *scratch, x []float32, count int, out []float32) {
	for r := range count {
		s.scales[r], s.zeros[r] = k.quantize(x[r*l.inputs:][:l.inputs], k.top, s.quantized[r*l.inputs:][:l.inputs])
	}
	for o := 0; o < l.outputs; o += tileOutputs {
		weights := l.weights[o*l.inputs:][:tileOutputs*l.inputs]
		for r := 0; r < count; r += tileRows {
			k.dot(s.quantized[r*l.inputs:][:tileRows*l.inputs], weights, l.pairs[o/tileOutputs], &s.sums)
			for i := 0; i < tileRows && r+i < count; i++ {
				k.finish(s.sums[i*tileOutputs:][:tileOutputs], l.offsets[o:][:tileOutputs], s.zeros[r+i],
					l.factors[o:][:tileOutputs], l.bias[o:][:tileOutputs], s.scales[r+i],
					out[(r+i)*l.outputs+o:][:tileOutputs])
			}
		}
	}
}

// find returns a tensor, whose name may begin with that of the family.
func (all tensors) find(name string) (tensor, bool) {
	for _, family := range []string{"", "bert.", "roberta."} {
		if t, ok := all[family+name]; ok {
			return t, true
		}
	}
	return tensor{}, false
}

// read calls use with a tensor.
func (all tensors) read(name string, use func(tensor)) {
	t, ok := all.find(name)
	require(ok, "it has no tensor %s", name)
	guard.While("tensor "+name, guard.Ended(func() { use(t) }))
}

// floats reads a tensor of a shape.
func (all tensors) floats(name string, shape ...int) (values []float32) {
	all.read(name, func(t tensor) { values = t.floats(shape...) })
	return values
}

// rows reads a table of vectors, one after the other: that of a model of many languages takes hundreds of megabytes.
func (all tensors) rows(name string, count, length int) (read rows) {
	all.read(name, func(t tensor) {
		row := make([]float32, length)
		t.numbers([]int{count, length}, func(i int, value float64) {
			if i == 0 {
				read = rows{make([]int8, count*length), make([]float32, count)}
			}
			if row[i%length] = float32(value); i%length == length-1 {
				to := read.bytes[i+1-length:]
				read.factors[i/length] = quantizeRow(row, func(j int, q int8) { to[j] = q })
			}
		})
	})
	return read
}

func (all tensors) norm(name string, size int) layerNorm {
	return layerNorm{all.floats(name+".weight", size), all.floats(name+".bias", size)}
}

// linear reads one or several linear maps of the same inputs, which become one.
func (all tensors) linear(inputs, outputs int, names ...string) linear {
	var weights, bias []float32
	for _, name := range names {
		weights = append(weights, all.floats(name+".weight", outputs, inputs)...)
		bias = append(bias, all.floats(name+".bias", outputs)...)
	}
	return newLinear(inputs, weights, bias)
}
