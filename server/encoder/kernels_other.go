//go:build !amd64

package encoder

// available are the kernels that this processor can run, the fastest last. Others than those in Go exist for amd64
// only.
func available() []kernels { return []kernels{plain()} }
