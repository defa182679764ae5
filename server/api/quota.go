package api

import (
	"math"
	"net/http"
	"sync"
)

// The bounds of the bodies and answers that are kept in memory while callers send or fetch them, in bytes. The first
// part of each request is not counted: searches get through while somebody else fills all the rest.
const (
	smallLoad      = 64 * kilobyte
	flightOfPerson = 48 * megabyte // more than the largest body, with room to grow into
	flightInAll    = 192 * megabyte
)

// quota bounds what the requests of each person use, and of all of them: how many there are, or their bytes.
type quota struct {
	perPerson, inAll int
	mutex            sync.Mutex
	all              int
	of               map[string]int // by person
}

func newQuota(perPerson, inAll int) *quota {
	return &quota{perPerson: perPerson, inAll: inAll, of: make(map[string]int)}
}

// newShares bounds how many requests each person has in one stage.
func newShares(perPerson int) *quota { return newQuota(perPerson, math.MaxInt) }

// add counts more of a person, or less. It refuses what is over a bound.
func (q *quota) add(person string, n int) error {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	switch {
	case n > 0 && q.of[person]+n > q.perPerson:
		return crowded()
	case n > 0 && q.all+n > q.inAll:
		return busy()
	}
	q.all += n
	if q.of[person] += n; q.of[person] == 0 {
		delete(q.of, person)
	}
	return nil
}

// enter counts a request of a person until leave is called. An empty person is not counted.
func (q *quota) enter(person string) (leave func(), err error) {
	if person == "" {
		return func() {}, nil
	}
	return func() { _ = q.add(person, -1) }, q.add(person, 1)
}

// load is what one request uses of a quota of bytes. Its methods are called by one goroutine at a time.
type load struct {
	flight  *quota
	person  string
	bytes   int
	counted int // bytes without the first smallLoad
}

// grow changes how many bytes the request uses. To use fewer is never refused.
func (l *load) grow(bytes int) error {
	counted := max(0, l.bytes+bytes-smallLoad)
	if counted != l.counted {
		if err := l.flight.add(l.person, counted-l.counted); err != nil {
			return err
		}
	}
	l.bytes, l.counted = l.bytes+bytes, counted
	return nil
}

// drop ends the request's part.
func (l *load) drop() { _ = l.grow(-l.bytes) }

// retrySoon is how many seconds a caller is asked to wait for requests to end.
const retrySoon = "5"

// busy refuses what others leave no room for.
func busy() failure {
	return coded(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "The server is busy. Try again later.").after(retrySoon)
}

// crowded refuses what the caller's own requests leave no room for.
func crowded() failure {
	return coded(http.StatusTooManyRequests, "RATE_LIMITED",
		"Too many of your requests are in progress. Wait for some to finish.").after(retrySoon)
}
