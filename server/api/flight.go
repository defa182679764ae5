package api

import "sync"

// The bounds of the bodies and answers that are held in memory while callers send or fetch them, in bytes. The first
// part of each request is not counted: searches get through while somebody else fills all the rest.
const (
	smallLoad      = 64 * kilobyte
	flightOfPerson = 48 * megabyte // more than the largest body, with room to grow into
	flightInAll    = 192 * megabyte
)

// flight counts the bytes that are on their way from and to callers.
type flight struct {
	perPerson, inAll int
	mutex            sync.Mutex
	all              int
	of               map[string]int // by person
}

func newFlight(perPerson, inAll int) *flight {
	return &flight{perPerson: perPerson, inAll: inAll, of: make(map[string]int)}
}

// add counts more bytes of a person, or fewer. It refuses what is over a bound.
func (f *flight) add(person string, bytes int) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	switch {
	case bytes > 0 && f.of[person]+bytes > f.perPerson:
		return crowded()
	case bytes > 0 && f.all+bytes > f.inAll:
		return busy()
	}
	f.all += bytes
	if f.of[person] += bytes; f.of[person] == 0 {
		delete(f.of, person)
	}
	return nil
}

// load is what one request holds of a flight. Its methods are called by one goroutine at a time.
type load struct {
	flight  *flight
	person  string
	bytes   int
	counted int // bytes without the first smallLoad
}

// grow changes how many bytes the request holds. To hold fewer is never refused.
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
