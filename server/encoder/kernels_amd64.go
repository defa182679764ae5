package encoder

import "golang.org/x/sys/cpu"

// available are the kernels that this processor can run, the fastest last.
func available() []kernels {
	all := []kernels{plain()}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return all
	}
	// Two products of 8 bits do not fit into 16; of 7 bits they do.
	k := kernels{"AVX2", 127, pairUp, dotAVX2, quantizeAVX2, finishAVX2,
		productsOf(productsFMA), expAVX2, geluAVX2, normalizeAVX2}
	all = append(all, k)
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI {
		k.name, k.top, k.pair, k.dot, k.products = "AVX-512-VNNI", 255, noPairs, dotVNNI, productsOf(productsAVX512)
		all = append(all, k)
	}
	return all
}

// In kernels_amd64.s. They check no lengths, which are multiples of what a register holds.

//go:noescape
func pairAVX2(weights []int8, pairs []uint16)

//go:noescape
func dotAVX2(rows []uint8, weights []int8, pairs []uint16, sums *tileSums)

//go:noescape
func dotVNNI(rows []uint8, weights []int8, pairs []uint16, sums *tileSums)

//go:noescape
func quantizeAVX2(row []float32, top int32, into []uint8) (scale float32, zero int32)

//go:noescape
func finishAVX2(sums, offsets []int32, zero int32, factors, bias []float32, scale float32, out []float32)

//go:noescape
func productsFMA(a *float32, aStride int, b *float32, bStride, steps int, c *float32, cStride int)

//go:noescape
func productsAVX512(a *float32, aStride int, b *float32, bStride, steps int, c *float32, cStride int)

//go:noescape
func expAVX2(row []float32, factor float32) (sum float32)

//go:noescape
func normalizeAVX2(row, gain, bias []float32, epsilon float32)

//go:noescape
func geluAVX2(row []float32)

// pairUp returns how many pairs of four inputs have sums of four products that fit into 16 bits, their numbers, and
// those of the others.
func pairUp(weights []int8) []uint16 {
	pairs := make([]uint16, 1+len(weights)/tileOutputs/tileInputs/2)
	pairAVX2(weights, pairs)
	return pairs
}

type productsFunc = func(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int)

func productsOf(run func(*float32, int, *float32, int, int, *float32, int)) productsFunc {
	return func(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int) {
		_, _ = a[(attentionRows-1)*aStride+steps-1], b[(steps-1)*bStride+panel-1]
		_ = c[(attentionRows-1)*cStride+panel-1]
		run(&a[0], aStride, &b[0], bStride, steps, &c[0], cStride)
	}
}
