package api

import (
	"net/http"
	"time"
)

// The bounds of waiting for a listener's room.
const (
	queueWait   = 10 * time.Second
	queueFactor = 4 // times as many as are served at once
	watchers    = 2 // requests for metrics at once
)

// room is a number of requests that are worked on at once, and a number of others that wait for them.
type room struct{ slots, queue chan struct{} }

func newRoom(slots, queue int) *room {
	return &room{make(chan struct{}, slots), make(chan struct{}, queue)}
}

// enter waits for a slot, until leave is called. It refuses at once when too many wait already.
func (r *room) enter(request *http.Request) (leave func(), err error) {
	leave = func() { <-r.slots }
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case r.queue <- struct{}{}:
		defer func() { <-r.queue }()
	default:
		return nil, busy()
	}
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case r.slots <- struct{}{}:
		return leave, nil
	case <-request.Context().Done():
		return nil, brokenOff()
	case <-timer.C:
		return nil, busy()
	}
}
