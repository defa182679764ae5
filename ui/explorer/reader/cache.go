package reader

import "container/list"

// mostCached is how many bytes of rendered text are kept, unless the reader is told otherwise.
const mostCached = 4 << 20

// cache keeps rendered text, the most recently used, up to most.
type cache struct {
	most    int // bytes; 0: mostCached
	size    int
	entries map[jobKey]*list.Element
	order   list.List // of entry, the most recently used first
}

type entry struct {
	key    jobKey
	layout *layout
}

// KeepAtMost bounds the rendered text that is kept, in bytes; 0: 4 MB.
func (r *Reader) KeepAtMost(bytes int) { r.cache.most = bytes }

func (c *cache) get(key jobKey) (*layout, bool) {
	element, found := c.entries[key]
	if !found {
		return nil, false
	}
	c.order.MoveToFront(element)
	return element.Value.(entry).layout, true
}

// put keeps a rendering. One that is larger than the whole cache is kept alone, until the next one comes.
func (c *cache) put(key jobKey, l *layout) {
	if c.entries == nil {
		c.entries = map[jobKey]*list.Element{}
	}
	if old, found := c.entries[key]; found {
		c.drop(old)
	}
	c.entries[key] = c.order.PushFront(entry{key, l})
	c.size += l.size
	c.shrink()
}

func (c *cache) shrink() {
	most := c.most
	if most <= 0 {
		most = mostCached
	}
	for c.size > most && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(element *list.Element) {
	dropped := c.order.Remove(element).(entry)
	delete(c.entries, dropped.key)
	c.size -= dropped.layout.size
}
