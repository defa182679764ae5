package weaviate

import (
	"context"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"quarry/server/index/segment"
)

// readerBytes is about what an open segment takes beside its data.
const readerBytes = 4 << 10

// cache keeps the segments of documents that were searched last, up to cachedBytes.
type cache struct {
	mutex sync.Mutex // for bytes
	known *lru.Cache[version, *segment.Reader]
	bytes int
}

func (c *cache) get(v version) (*segment.Reader, bool) { return c.known.Get(v) }

func (c *cache) add(v version, reader *segment.Reader) {
	size := reader.Size() + readerBytes
	if size > cachedBytes/cachedShare {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if found, _ := c.known.ContainsOrAdd(v, reader); found {
		return
	}
	for c.bytes += size; c.bytes > cachedBytes; {
		_, oldest, _ := c.known.RemoveOldest()
		c.bytes -= oldest.Size() + readerBytes
	}
}

// termCounts keeps the statistics of the terms that were looked for last, of one version of the library.
type termCounts struct {
	mutex   sync.Mutex
	version string
	known   map[string]segment.TermCounts
}

// maxTerms bounds the terms that are kept.
const maxTerms = 1 << 16

func (c *termCounts) of(ctx context.Context, s *snapshot, terms []string) ([]segment.TermCounts, error) {
	counts, unknown := make([]segment.TermCounts, len(terms)), []string(nil)
	c.mutex.Lock()
	if c.version != s.Version() || len(c.known) > maxTerms {
		c.version, c.known = s.Version(), map[string]segment.TermCounts{}
	}
	for i, term := range terms {
		n, ok := c.known[term]
		if counts[i] = n; !ok {
			unknown = append(unknown, term)
		}
	}
	c.mutex.Unlock()
	if len(unknown) == 0 {
		return counts, nil
	}
	found, err := s.Counts(ctx, unknown)
	if err != nil {
		return nil, err
	}
	for i, term := range terms {
		if n, ok := found[term]; ok {
			counts[i] = n
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.version == s.Version() {
		for _, term := range unknown {
			c.known[term] = found[term]
		}
	}
	return counts, nil
}
