package directory

import (
	"context"
	"slices"
	"sync"

	"quarry/server/sqlite"
)

// maxRemembered bounds what is kept of one directory, so that it does not grow with the people who come by.
const maxRemembered = 1_000

// memory keeps what was read lately until anybody changes the directory, in whatever process: then all of it is
// forgotten. Whether that happened is asked each time, so that nothing holds for longer than it is true.
type memory struct {
	mutex sync.Mutex
	at    sqlite.Version
	known map[any]any
}

// What can be remembered; the values of different types do not meet.
type (
	tokenKey  struct{ digest string }
	personKey struct{ tenant, email string }
	setsKey   struct {
		tenant, user string
		admin        bool
	}
)

// recall returns what is known of a key, or reads it. What it returns is shared, and must not be changed.
func recall[T any](ctx context.Context, d *Directory, key any, read func() (T, error)) (T, error) {
	at, ok := d.db.Version(ctx)
	if !ok {
		return read()
	}
	if known, ok := d.lately.find(at, key); ok {
		return known.(T), nil
	}
	value, err := read()
	if err == nil {
		d.lately.keep(at, key, value)
	}
	return value, err
}

func (m *memory) find(at sqlite.Version, key any) (value any, ok bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.at != at {
		return nil, false
	}
	value, ok = m.known[key]
	return value, ok
}

// keep notes what was read after the directory was at a version. If it was changed meanwhile, that version does not come
// again, and neither does the value.
func (m *memory) keep(at sqlite.Version, key, value any) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.at != at || m.known == nil {
		m.at, m.known = at, make(map[any]any)
	}
	if len(m.known) >= maxRemembered {
		for any := range m.known { // whichever comes first: all of them are read again in no time
			delete(m.known, any)
			break
		}
	}
	m.known[key] = value
}

// own returns a principal whose lists nobody else has.
func (p Principal) own() Principal {
	p.Permissions, p.Groups = slices.Clone(p.Permissions), slices.Clone(p.Groups)
	p.ExternalGroups = slices.Clone(p.ExternalGroups)
	return p
}

// noting are the tokens whose use is being noted, so that of many requests at once only one waits for the writer.
type noting struct {
	mutex  sync.Mutex
	tokens map[int]struct{}
}

func (n *noting) begin(token int) bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if _, busy := n.tokens[token]; busy {
		return false
	}
	if n.tokens == nil {
		n.tokens = make(map[int]struct{})
	}
	n.tokens[token] = struct{}{}
	return true
}

func (n *noting) end(token int) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	delete(n.tokens, token)
}
