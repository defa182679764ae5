package api

import (
	"net/http"
	"sync"
)

// shares keeps one person from taking all that a listener can serve at once: a body that never comes, and an answer that
// is never read, hold their place for minutes.
type shares struct {
	limit int // requests of one person
	mutex sync.Mutex
	taken map[string]int // by person
}

// newShares gives each person half of what can be served at once.
func newShares(concurrency int) *shares {
	return &shares{limit: max(1, concurrency/2), taken: make(map[string]int)}
}

// take counts a request of a person until give is called. It is refused when they have too many. Without a person it is
// served at once, and not counted; nor is anything without shares.
func (s *shares) take(person string) (give func(), ok bool) {
	if s == nil || person == "" {
		return func() {}, true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.taken[person] >= s.limit {
		return nil, false
	}
	s.taken[person]++
	return func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if s.taken[person]--; s.taken[person] == 0 {
			delete(s.taken, person)
		}
	}, true
}

func busy() failure {
	f := coded(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "The server is busy. Try again later.")
	f.retryAfter = "5"
	return f
}
