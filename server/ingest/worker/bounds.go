package worker

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"quarry/internal/guard"
)

// The exit codes of a process that found itself over a bound.
const (
	exitMemory = 71
	exitTime   = 72
)

// bounds are those of this process: the garbage collector works harder near the bound of memory, the system refuses
// memory beyond it where it can, and while a document is read a watch ends the process when it uses more memory or
// processor time than it may.
type bounds struct {
	memory int64
	end    chan struct{} // of the watch; nil: none runs
}

// set bounds the memory from now on to what is in use and MaxMemory.
func (b *bounds) set() {
	inUse := memoryInUse()
	b.memory = inUse + MaxMemory
	debug.SetMemoryLimit(inUse + MaxMemory*3/4)
	limitAddressSpace(MaxMemory)
}

// lift removes all bounds.
func (b *bounds) lift() {
	b.stop()
	limitAddressSpace(0)
	debug.SetMemoryLimit(math.MaxInt64)
}

// watch starts the watch of a document, which may take limit of processor time from now on. Who waits for it may be
// gone, so time counts here as it does there.
func (b *bounds) watch(limit time.Duration) {
	b.stop()
	memory, until, end := b.memory, ProcessorTime()+limit, make(chan struct{})
	late := time.Now().Add(waiting * limit)
	b.end = end
	guard.Go(func() {
		const often = 20 * time.Millisecond
		tick := time.NewTicker(often)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if memoryInUse() > memory {
					os.Exit(exitMemory)
				}
				if ProcessorTime() > until || time.Now().After(late) {
					os.Exit(exitTime)
				}
			}
		}
	}, nil)
}

func (b *bounds) stop() {
	if b.end != nil {
		close(b.end)
		b.end = nil
	}
}

// memoryInUse returns the bytes that the Go runtime has from the system and did not give back.
func memoryInUse() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
