package memo

import (
	"math"
	"testing"
)

func TestCache(t *testing.T) {
	t.Parallel()
	const most = 1000
	c := New[int](most, math.MaxInt, func(size int) int { return size })
	for i := range 100 {
		c.Add(i, most/11)
		c.Get(0)
	}
	sum := 0
	for _, size := range c.entries.Values() {
		sum += size
	}
	if c.bytes > most || c.bytes != sum {
		t.Errorf("%d bytes are counted, %d kept in %d entries", c.bytes, sum, c.entries.Len())
	}
	if _, ok := c.Get(0); !ok {
		t.Error("what is used stays")
	}
	if _, ok := c.Get(50); ok {
		t.Error("what is not used goes")
	}
	c.Add(99, most/2) // in the place of a smaller one
	if c.bytes > most {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	c.Add(7, 5*most)
	if c.entries.Len() != 1 || c.bytes != 5*most {
		t.Errorf("%d entries of %d bytes with one that fills the cache", c.entries.Len(), c.bytes)
	}
	c.Clear()
	if _, ok := c.Get(7); ok || c.bytes != 0 {
		t.Errorf("%d bytes are left", c.bytes)
	}
}

// What is too large is not kept, nor what its key had before.
func TestTheLargestValue(t *testing.T) {
	t.Parallel()
	c := New[string](1000, 100, func(size int) int { return size })
	c.Add("a", 100)
	c.Add("b", 101)
	if _, ok := c.Get("b"); ok || c.bytes != 100 {
		t.Errorf("%d bytes are kept", c.bytes)
	}
	c.Add("a", 101)
	if _, ok := c.Get("a"); ok || c.bytes != 0 {
		t.Errorf("%d bytes are kept", c.bytes)
	}
}
