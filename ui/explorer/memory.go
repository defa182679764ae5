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
	answers []remembered // the oldest first
	most    int          // bytes
}

// remembered is what was answered, and when.
type remembered struct {
	key      string
	response *wire.SearchResponse
	took     time.Duration
	at       time.Time
	kept     bool // until it is forgotten: a library reports its changes
}

// newMemory makes a memory of at most so many bytes; 0 stands for rememberSize.
func newMemory(most int) memory {
	if most <= 0 {
		most = rememberSize
	}
	return memory{most: most}
}

func (m *memory) get(key string, now time.Time) (remembered, bool) {
	for _, a := range m.answers {
		if a.key == key {
			return a, a.kept || now.Sub(a.at) <= rememberFor
		}
	}
	return remembered{}, false
}

func (m *memory) put(key string, a remembered) {
	m.answers = slices.DeleteFunc(m.answers, func(known remembered) bool { return known.key == key })
	if a.size() > m.most/2 {
		return // it would push out all others
	}
	a.key = key
	m.answers = append(m.answers, a)
	size := 0
	for _, known := range m.answers {
		size += known.size()
	}
	for len(m.answers) > rememberMost || size > m.most {
		size -= m.answers[0].size()
		m.answers = slices.Delete(m.answers, 0, 1)
	}
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

func (m *memory) clear() { m.answers = nil }
