package api

import (
	"math"
	"net/http"
	"sync"
)

// The bounds of the bodies and answers that are kept in memory while callers send or fetch them, in bytes. The first
// part of each request is not counted, so that searches are served even when the rest is full.
const (
	smallLoad      = 64 * kilobyte
	flightOfPerson = 48 * megabyte // more than the largest body, with room to grow into
	flightInAll    = 192 * megabyte
)

// quota bounds a number per person and in total: of requests, or of their bytes.
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

// add changes the number of a person. It returns an error if that exceeds a bound.
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

// load is the share of one request in a quota of bytes. Its methods are called by one goroutine at a time.
type load struct {
	flight  *quota
	person  string
	bytes   int
	counted int // bytes without the first smallLoad
}

// grow changes the bytes of the request. Using fewer never fails.
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

// drop releases the request's share.
func (l *load) drop() { _ = l.grow(-l.bytes) }

// retrySoon is the Retry-After of a busy server, in seconds.
const retrySoon = "5"

// busy is the error when the server has no capacity left.
func busy() failure {
	return coded(http.StatusServiceUnavailable, "SERVICE_UNAVAILABLE", "The server is busy. Try again later.").after(retrySoon)
}

// crowded is the error when the caller has too many requests in progress.
func crowded() failure {
	return coded(http.StatusTooManyRequests, "RATE_LIMITED",
		"Too many of your requests are in progress. Wait for some to finish.").after(retrySoon)
}
