package lexical

import (
	"context"

	"quarry/server/index/segment"
)

// run is the state of one call: what is being read, and memory that goes back to the pool afterwards.
type run struct {
	s       *Searcher
	ctx     context.Context
	reading int // the part that is being read
	*scratch
}

// scratch is memory that is reused from call to call.
type scratch struct {
	scores  []float32
	masses  []uint32
	group   []float32
	pages   []bool
	block   segment.Block
	bitmaps [][]uint64 // free ones
	lent    [][]uint64
	counts  []uint32
}

func (s *Searcher) newRun(ctx context.Context) *run {
	memory, ok := s.scratch.Get().(*scratch)
	if !ok {
		memory = &scratch{}
	}
	return &run{s: s, ctx: ctx, scratch: memory}
}

// close gives the memory back; nothing that was lent may be used afterwards.
func (r *run) close() {
	r.bitmaps = append(r.bitmaps, r.lent...)
	clear(r.lent)
	r.lent = r.lent[:0]
	r.s.scratch.Put(r.scratch)
	r.scratch = nil
}

// bitmap lends an empty bitmap of n bits.
func (r *run) bitmap(n int) []uint64 {
	words := (n + 63) / 64
	for i := len(r.bitmaps) - 1; i >= 0; i-- {
		if b := r.bitmaps[i]; cap(b) >= words {
			r.bitmaps[i] = r.bitmaps[len(r.bitmaps)-1]
			r.bitmaps = r.bitmaps[:len(r.bitmaps)-1]
			b = b[:words]
			clear(b)
			r.lent = append(r.lent, b)
			return b
		}
	}
	b := make([]uint64, words)
	r.lent = append(r.lent, b)
	return b
}

// documents lends an empty bitmap with a bit for every document of a part.
func (r *run) documents(part int) []uint64 { return r.bitmap(r.s.parts[part].Segment.Documents()) }

// reader returns the segment of a part and notes that it is being read.
func (r *run) reader(part int) *segment.Reader {
	r.reading = part
	return r.s.parts[part].Segment
}

// protect runs f so that damage comes back as an error.
func (r *run) protect(f func() error) error {
	return segment.Protect(func() string { return r.s.parts[r.reading].Segment.Name() }, f)
}

// stopped reports whether the caller gave up.
func (r *run) stopped() error {
	return r.ctx.Err()
}

func has(bitmap []uint64, i int) bool { return bitmap[i/64]&(1<<(i%64)) != 0 }

func set(bitmap []uint64, i int) { bitmap[i/64] |= 1 << (i % 64) }

// fill sets the first n bits.
func fill(bitmap []uint64, n int) {
	for i := range bitmap {
		bitmap[i] = ^uint64(0)
	}
	if n%64 != 0 && len(bitmap) > 0 {
		bitmap[len(bitmap)-1] = 1<<(n%64) - 1
	}
}

func and(dst, other []uint64) {
	for i := range dst {
		dst[i] &= other[i]
	}
}

func andNot(dst, other []uint64) {
	for i := range dst {
		dst[i] &^= other[i]
	}
}

// resize returns a zeroed slice of n elements, s itself if it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}
