package explorer

import (
	"slices"
	"time"

	"quarry/client/wire"
)

const (
	rememberFor  = 10 * time.Minute // of a server, which does not say when its documents change
	rememberMost = 64               // answers
)

// memory keeps answers, so that the same search again costs nothing.
type memory struct {
	answers map[string]answer
	order   []string // keys, the oldest first
}

// answer is what was answered, and when.
type answer struct {
	response *wire.SearchResponse
	took     time.Duration
	at       time.Time
	kept     bool // until it is forgotten: a library tells when it changes
}

func newMemory() memory { return memory{answers: map[string]answer{}} }

func (m *memory) get(key string, now time.Time) (answer, bool) {
	found, ok := m.answers[key]
	if !ok || !found.kept && now.Sub(found.at) > rememberFor {
		return answer{}, false
	}
	return found, true
}

func (m *memory) put(key string, a answer) {
	if at := slices.Index(m.order, key); at >= 0 {
		m.order = slices.Delete(m.order, at, at+1)
	}
	m.order = append(m.order, key)
	m.answers[key] = a
	if len(m.order) > rememberMost {
		delete(m.answers, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}

func (m *memory) clear() { *m = newMemory() }
