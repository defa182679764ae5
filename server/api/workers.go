package api

import (
	"net/http"
	"time"
)

// The bounds of waiting for a worker of a listener.
const (
	queueWait     = 10 * time.Second
	queueFactor   = 4 // waiting requests for each one that is served
	maxMonitoring = 2 // requests for metrics at once
)

// workers bound the requests that are served at once, and those that wait for them.
type workers struct{ slots, queue chan struct{} }

func newWorkers(slots, queue int) *workers {
	return &workers{make(chan struct{}, slots), make(chan struct{}, queue)}
}

// enter waits for a slot, which is used until leave is called. With a full queue it fails at once.
func (w *workers) enter(request *http.Request) (leave func(), err error) {
	leave = func() { <-w.slots }
	select {
	case w.slots <- struct{}{}:
		return leave, nil
	default:
	}
	select {
	case w.queue <- struct{}{}:
		defer func() { <-w.queue }()
	default:
		return nil, busy()
	}
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case w.slots <- struct{}{}:
		return leave, nil
	case <-request.Context().Done():
		return nil, brokenOff()
	case <-timer.C:
		return nil, busy()
	}
}
