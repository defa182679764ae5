package lexical

import (
	"context"
	"fmt"

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
	bitmaps []segment.Bits // free ones
	lent    []segment.Bits
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
func (r *run) bitmap(n int) segment.Bits {
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
	b := segment.NewBits(n)
	r.lent = append(r.lent, b)
	return b
}

// documents lends an empty bitmap with a bit for every document of a part.
func (r *run) documents(part int) segment.Bits { return r.bitmap(r.s.parts[part].Segment.Documents()) }

// reader returns the segment of a part and notes that it is being read.
func (r *run) reader(part int) *segment.Reader {
	r.reading = part
	return r.s.parts[part].Segment
}

// answer calls f with memory that is reused afterwards. Damage of a segment comes back as an error.
func answer[T any](ctx context.Context, s *Searcher, what string, f func(*run) (T, error)) (T, error) {
	r := s.newRun(ctx)
	defer r.close()
	var out T
	err := segment.Protect(func() string { return s.parts[r.reading].Segment.Name() }, func() (err error) {
		out, err = f(r)
		return err
	})
	if err != nil {
		r.discard()
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}

// stopped returns the error of the context once the caller has given up.
func (r *run) stopped() error {
	return r.ctx.Err()
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
