package pipeline

import lru "github.com/hashicorp/golang-lru/v2"

const (
	maxVectors = 512     // more than the queries of concurrent users
	maxDigests = 1 << 14 // of documents that have a twin
)

// Cache keeps what the searches of a caller need again: the vectors of queries, since a question is searched several
// times with different filters, and the digests of texts, since each key typed compares the same ones. Callers share no
// entries: the time of an answer must not reveal the queries of others.
type Cache struct {
	vectors *lru.Cache[vectorKey, []float32]
	digests *lru.Cache[digestKey, digest]
}

type (
	vectorKey struct{ caller, model, text string }
	digestKey struct{ caller, version, document string } // version is that of the library
)

// NewCache returns an empty cache.
func NewCache() *Cache {
	vectors, _ := lru.New[vectorKey, []float32](maxVectors) // a positive size is no error
	digests, _ := lru.New[digestKey, digest](maxDigests)
	return &Cache{vectors, digests}
}
