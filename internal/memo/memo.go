// Package memo keeps what was used last within a number of bytes.
package memo

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache keeps values in the place of those that were not used for longest. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	most, largest int
	size          func(V) int // of memory, about

	mutex   sync.Mutex
	entries *simplelru.LRU[K, V]
	bytes   int
}

// New returns an empty cache of values that take at most so many bytes in all, and of which none is larger than
// largest.
func New[K comparable, V any](most, largest int, size func(V) int) *Cache[K, V] {
	c := &Cache[K, V]{most: most, largest: largest, size: size}
	// A positive size is no error.
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ K, dropped V) { c.bytes -= size(dropped) })
	return c
}

// Get returns a value, if it is kept.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.entries.Get(key)
}

// Add keeps a value in the place of the one of its key, unless it is larger than the largest. A value that fills the
// cache alone stays until the next one comes.
func (c *Cache[K, V]) Add(key K, value V) {
	size := c.size(value)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.entries.Remove(key)
	if size > c.largest {
		return
	}
	c.entries.Add(key, value)
	for c.bytes += size; c.bytes > c.most && c.entries.Len() > 1; {
		c.entries.RemoveOldest()
	}
}

// Clear forgets all values.
func (c *Cache[K, V]) Clear() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.entries.Purge()
}
