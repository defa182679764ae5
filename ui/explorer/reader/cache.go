package reader

import (
	"cmp"
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxCached is how many bytes of rendered text are kept by default.
const maxCached = 4 << 20

// cache keeps the rendered text that was used last, up to a number of bytes.
type cache struct {
	most    int // bytes; 0: maxCached
	size    int
	entries *simplelru.LRU[jobKey, *layout]
}

// KeepAtMost bounds the rendered text that is kept, in bytes; 0: 4 MB.
func (r *Reader) KeepAtMost(bytes int) { r.cache.most = bytes }

func (c *cache) get(key jobKey) (*layout, bool) {
	if c.entries == nil {
		return nil, false
	}
	return c.entries.Get(key)
}

// put keeps a rendering. One that is larger than the whole cache is kept alone, until the next one comes.
func (c *cache) put(key jobKey, l *layout) {
	if c.entries == nil {
		c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ jobKey, dropped *layout) { c.size -= dropped.size })
	}
	c.entries.Remove(key)
	c.entries.Add(key, l)
	c.size += l.size
	for c.size > cmp.Or(max(0, c.most), maxCached) && c.entries.Len() > 1 {
		c.entries.RemoveOldest()
	}
}
