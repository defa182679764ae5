package worker

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// limitAddressSpace bounds the address space of this process to what it has now and more bytes; 0 removes the bound.
// Without /proc the watch is the only bound.
func limitAddressSpace(more uint64) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &limit) != nil {
		return
	}
	limit.Cur = limit.Max
	if more > 0 {
		stat, err := os.ReadFile("/proc/self/statm")
		pages, _, _ := bytes.Cut(stat, []byte(" "))
		size, failed := strconv.ParseUint(string(pages), 10, 64)
		if err != nil || failed != nil {
			return
		}
		limit.Cur = min(size*uint64(os.Getpagesize())+more, limit.Max)
	}
	_ = unix.Setrlimit(unix.RLIMIT_AS, &limit) // the watch is a bound, too
}
