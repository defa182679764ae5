//go:build !amd64

package vector

func kernel() func(query []int16, codes []byte) int32 { return dotPlain }

func work() int { return plainWork }
