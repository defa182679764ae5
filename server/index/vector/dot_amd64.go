package vector

import "golang.org/x/sys/cpu"

// kernel is the fastest way of this processor to multiply.
func kernel() func(query []int16, codes []byte) int32 {
	if cpu.X86.HasAVX2 {
		return dotQuick
	}
	return dotPlain
}

// work is how many codes are compared in 10 ms.
func work() int {
	if cpu.X86.HasAVX2 {
		return quickWork
	}
	return plainWork
}

// dotAVX2 multiplies n integers, a multiple of 16.
//
//go:noescape
func dotAVX2(query *int16, codes *byte, n int) int32

func dotQuick(query []int16, codes []byte) (sum int32) {
	n := len(query) &^ 15
	if _ = codes[:len(query)]; n > 0 {
		sum = dotAVX2(&query[0], &codes[0], n)
	}
	return sum + dotPlain(query[n:], codes[n:])
}
