package explorer

import (
	"slices"
	"time"

	"quarry/client/wire"
)

const (
	rememberFor  = 10 * time.Minute // of a server, which does not say when its documents change
	rememberMost = 64               // answers
	rememberSize = 4 << 20          // bytes of passages in all of them
)

// memory keeps answers, so that the same search again costs nothing.
type memory struct {
	answers map[string]remembered
	order   []string // keys, the oldest first
	size    int      // bytes
	most    int      // bytes
}

// remembered is what was answered, and when.
type remembered struct {
	response *wire.SearchResponse
	took     time.Duration
	at       time.Time
	kept     bool // until it is forgotten: a library tells when it changes
}

// newMemory makes a memory of at most so many bytes; 0: as many as a person's own machine has to spare.
func newMemory(most int) memory {
	if most <= 0 {
		most = rememberSize
	}
	return memory{answers: map[string]remembered{}, most: most}
}

func (m *memory) get(key string, now time.Time) (remembered, bool) {
	found, ok := m.answers[key]
	if !ok || !found.kept && now.Sub(found.at) > rememberFor {
		return remembered{}, false
	}
	return found, true
}

func (m *memory) put(key string, a remembered) {
	m.forget(key)
	size := a.size()
	if size > m.most/2 {
		return // it would push out all others
	}
	m.order = append(m.order, key)
	m.answers[key] = a
	m.size += size
	for len(m.order) > rememberMost || m.size > m.most {
		m.forget(m.order[0])
	}
}

func (m *memory) forget(key string) {
	at := slices.Index(m.order, key)
	if at < 0 {
		return
	}
	m.size -= m.answers[key].size()
	delete(m.answers, key)
	m.order = slices.Delete(m.order, at, at+1)
}

// size is about what an answer takes in memory, in bytes: nearly all of it is text.
func (a remembered) size() int {
	const perResult = 1 << 10
	if a.response == nil {
		return 0
	}
	size := len(a.response.LLMFacingText)
	for _, result := range a.response.Results {
		size += perResult + len(result.Content) + len(result.Blurb) + len(result.Title)
	}
	return size
}

func (m *memory) clear() { *m = newMemory(m.most) }
