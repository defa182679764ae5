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

// room is a number of requests that are served at once, and a number of others that wait for them.
type room struct{ slots, queue chan struct{} }

func newRoom(slots, queue int) room {
	return room{make(chan struct{}, slots), make(chan struct{}, queue)}
}

// enter waits for a slot, until leave is called. It refuses at once when too many wait already.
func (r room) enter(request *http.Request) (leave func(), err error) {
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

// bounded serves as many requests at once as there is room for; others wait a little, and are then asked to come back.
// Health is always told, and metrics have room of their own: they are needed most when everything else is taken.
func (s *Server) bounded(all room, next http.Handler) http.Handler {
	watching := newRoom(watchers, watchers*queueFactor)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isHealth(r) {
			next.ServeHTTP(w, r)
			return
		}
		room := all
		if isMetrics(r) {
			room = watching
		}
		leave, err := room.enter(r)
		if err != nil {
			if r.Context().Err() == nil {
				s.measures().refused.Add(1, refusedAsBusy)
			}
			f, _ := explain(err, false)
			writeFailure(w, f)
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}
