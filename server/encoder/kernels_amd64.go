package encoder

import "golang.org/x/sys/cpu"

// available are the kernels that this processor can run, the fastest last.
func available() []kernels {
	all := []kernels{plain()}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return all
	}
	k := kernels{"AVX2", dotOf(dotAVX2), quantizeOf, finishOf, productsOf(productsFMA), expOf, geluOf, normalizeOf}
	all = append(all, k)
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI {
		k.name, k.dot, k.products = "AVX-512-VNNI", dotOf(dotVNNI), productsOf(productsAVX512)
		all = append(all, k)
	}
	return all
}

// In kernels_amd64.s; lengths are multiples of what a register holds.

//go:noescape
func dotAVX2(rows *uint8, inputs int, weights *int8, sums *int32)

//go:noescape
func dotVNNI(rows *uint8, inputs int, weights *int8, sums *int32)

//go:noescape
func quantizeAVX2(row *float32, n int, into *uint8) (most float32)

//go:noescape
func finishAVX2(sums, offsets *int32, factors, bias *float32, scale float32, out *float32)

//go:noescape
func productsFMA(a *float32, aStride int, b *float32, bStride, steps int, c *float32, cStride int)

//go:noescape
func productsAVX512(a *float32, aStride int, b *float32, bStride, steps int, c *float32, cStride int)

//go:noescape
func expAVX2(row *float32, n int, factor float32) (sum float32)

//go:noescape
func normalizeAVX2(row *float32, n int, gain, bias *float32, epsilon float32)

//go:noescape
func geluAVX2(row *float32, n int)

func dotOf(run func(*uint8, int, *int8, *int32)) func([]uint8, []int8, *tileSums) {
	return func(rows []uint8, weights []int8, sums *tileSums) {
		inputs := len(weights) / tileOutputs
		run(&rows[:tileRows*inputs][0], inputs, &weights[0], &sums[0])
	}
}

func quantizeOf(row []float32, into []uint8) float32 {
	return quantizeAVX2(&row[0], len(row), &into[:len(row)][0])
}

func finishOf(sums, offsets []int32, factors, bias []float32, scale float32, out []float32) {
	_, _, _, _, _ = sums[tileOutputs-1], offsets[tileOutputs-1], factors[tileOutputs-1], bias[tileOutputs-1], out[tileOutputs-1]
	finishAVX2(&sums[0], &offsets[0], &factors[0], &bias[0], scale, &out[0])
}

type productsFunc = func(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int)

func productsOf(run func(*float32, int, *float32, int, int, *float32, int)) productsFunc {
	return func(a []float32, aStride int, b []float32, bStride, steps int, c []float32, cStride int) {
		_, _ = a[(attentionRows-1)*aStride+steps-1], b[(steps-1)*bStride+panel-1]
		_ = c[(attentionRows-1)*cStride+panel-1]
		run(&a[0], aStride, &b[0], bStride, steps, &c[0], cStride)
	}
}

func expOf(row []float32, factor float32) float32 { return expAVX2(&row[0], len(row), factor) }

func normalizeOf(row, gain, bias []float32, epsilon float32) {
	_, _ = gain[len(row)-1], bias[len(row)-1]
	normalizeAVX2(&row[0], len(row), &gain[0], &bias[0], epsilon)
}

func geluOf(row []float32) { geluAVX2(&row[0], len(row)) }
