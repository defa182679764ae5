package encoder

import (
	"math"
	"slices"
)

// kernels are the loops that take the time, as one kind of processor runs them. All kinds return the same integers
// for the same top, and floats that differ by rounding alone.
type kernels struct {
	name string
	// top is the greatest byte that dot takes for an input.
	top int32
	// pair returns what dot has to know about a tile of weights.
	pair func(weights []int8) []uint16
	// dot multiplies eight rows of bytes, one after the other, with a tile of weights.
	dot func(rows []uint8, weights []int8, pairs []uint16, sums *tileSums)
	// quantize turns a row into bytes up to top, and returns the factor that turns them back, and the byte for 0.
	quantize func(row []float32, top int32, into []uint8) (scale float32, zero int32)
	// finish turns sums of a tile of outputs into floats.
	finish func(sums, offsets []int32, zero int32, factors, bias []float32, scale float32, out []float32)
	// products multiplies four rows of a with steps rows of b, of which 16 columns are read, into four rows of c.
	// Strides are the numbers from row to row.
	products func(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int)
	// exp replaces each x by exp((x-most)·factor), where most is the greatest of them, and returns their sum.
	exp func(row []float32, factor float32) float32
	// gelu replaces each x by x·Φ(x), in the form with tanh (Hendrycks and Gimpel, Gaussian Error Linear Units,
	// 2016).
	gelu func(row []float32)
	// normalize gives a row the mean 0 and the variance 1, then multiplies by gain and adds bias.
	normalize func(row, gain, bias []float32, epsilon float32)
}

// fastest are the kernels that suit this processor.
func fastest() kernels {
	all := available()
	return all[len(all)-1]
}

// plain are the kernels in Go.
func plain() kernels {
	return kernels{"plain", 255, noPairs, dot, quantize, finish, products, exp, gelu, normalize}
}

func noPairs([]int8) []uint16 { return nil }

func dot(rows []uint8, weights []int8, _ []uint16, sums *tileSums) {
	clear(sums[:])
	inputs := len(weights) / tileOutputs
	for r := range tileRows {
		row, out := rows[r*inputs:][:inputs], sums[r*tileOutputs:][:tileOutputs]
		for i := 0; i+tileInputs <= len(row); i += tileInputs {
			a, b, c, d := int32(row[i]), int32(row[i+1]), int32(row[i+2]), int32(row[i+3])
			w := weights[i*tileOutputs:][:tileInputs*tileOutputs]
			for o := range out {
				four := w[o*tileInputs:][:tileInputs]
				out[o] += a*int32(four[0]) + b*int32(four[1]) + c*int32(four[2]) + d*int32(four[3])
			}
		}
	}
}

// leastRange keeps a row of zeros from a division by zero.
const leastRange = 1e-9

func quantize(row []float32, top int32, into []uint8) (scale float32, zero int32) {
	least, most := min(slices.Min(row), 0), max(slices.Max(row), leastRange)
	by := float32(top) / (most - least)
	zero = -int32(math.RoundToEven(float64(least * by)))
	for i, x := range row {
		into[i] = uint8(max(0, min(int32(math.RoundToEven(float64(x*by)))+zero, top)))
	}
	return (most - least) / float32(top), zero
}

func finish(sums, offsets []int32, zero int32, factors, bias []float32, scale float32, out []float32) {
	for i := range out {
		out[i] = float32(sums[i]-offsets[i]/packedZero*zero)*scale*factors[i] + bias[i]
	}
}

func products(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int) {
	for r := range attentionRows {
		var sums [panel]float32
		for i := range steps {
			x := a[r*aStride+i]
			for j, y := range b[i*bStride:][:panel] {
				sums[j] += x * y
			}
		}
		copy(c[r*cStride:], sums[:])
	}
}

func exp(row []float32, factor float32) (sum float32) {
	most := slices.Max(row)
	for i, x := range row {
		row[i] = float32(math.Exp(float64((x - most) * factor)))
		sum += row[i]
	}
	return sum
}

func gelu(row []float32) {
	for i, x := range row {
		row[i] = x / (1 + float32(math.Exp(-2*float64(geluInner*(x+geluCube*x*x*x)))))
	}
}

func normalize(row, gain, bias []float32, epsilon float32) {
	sum, squares := float32(0), float32(0)
	for _, v := range row {
		sum += v
	}
	mean := sum / float32(len(row))
	for _, v := range row {
		squares += (v - mean) * (v - mean)
	}
	by := float32(1 / math.Sqrt(float64(squares/float32(len(row))+epsilon)))
	for i, v := range row {
		row[i] = (v-mean)*by*gain[i] + bias[i]
	}
}

// The constants of gelu: √(2/π) and 0.044715.
const (
	geluInner = 0.7978845608
	geluCube  = 0.044715
)
