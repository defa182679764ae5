package api

import (
	"net/http"
	"sync"
)

// shares bounds how many requests each person has in one stage.
type shares struct {
	limit int // requests of one person
	mutex sync.Mutex
	taken map[string]int // by person
}

func newShares(limit int) *shares {
	return &shares{limit: limit, taken: make(map[string]int)}
}

// take counts a request of a person until give is called. It reports false when they have too many. An empty person is
// not counted.
func (s *shares) take(person string) (give func(), ok bool) {
	if person == "" {
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

// retrySoon is how many seconds a caller is asked to wait for requests to end.
const retrySoon = "5"

// busy refuses what others leave no room for.
func busy() failure {
	f := coded(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "The server is busy. Try again later.")
	f.retryAfter = retrySoon
	return f
}

// crowded refuses what the caller's own requests leave no room for.
func crowded() failure {
	f := coded(http.StatusTooManyRequests, "RATE_LIMITED", "Too many of your requests are in progress. Wait for some to finish.")
	f.retryAfter = retrySoon
	return f
}
