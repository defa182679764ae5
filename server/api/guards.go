package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"quarry/server/directory"
)

// guards limit what callers from outside this process use. Requests that wait for a slow caller, to send a body or read
// an answer, have limits of their own and use no worker.
type guards struct {
	pending    *quota // requests of a person, from their first byte to the last of the answer
	working    *quota // those of them that have a worker, or wait for one
	flight     *quota // bytes on their way from and to callers
	workers    *workers
	monitoring *workers
	limits     *limiter
	changes    *limiter
}

func newGuards(options PublicOptions, now func() time.Time) *guards {
	half := max(1, options.Concurrency/2)
	return &guards{
		pending: newShares(half * queueFactor), working: newShares(half),
		flight:     newQuota(flightOfPerson, flightInAll),
		workers:    newWorkers(options.Concurrency, options.Concurrency*queueFactor),
		monitoring: newWorkers(maxMonitoring, maxMonitoring*queueFactor),
		limits:     newLimiter(options.Rate, now), changes: newLimiter(changeRate(), now),
	}
}

// admit counts a request against the rate limits of its route.
func (g *guards) admit(r *http.Request, route route, who directory.Principal, body []byte) error {
	if route.changes {
		if err := g.changes.admitChange(r, who); err != nil {
			return err
		}
	}
	if route.limited {
		return g.limits.admit(r, who, body)
	}
	return nil
}

// enter waits for a worker, which is used until leave is called.
func (g *guards) enter(r *http.Request, route route, person string) (leave func(), err error) {
	if route.monitoring {
		return g.monitoring.enter(r)
	}
	stop, err := g.working.enter(person)
	if err != nil {
		return nil, err
	}
	out, err := g.workers.enter(r)
	if err != nil {
		stop()
		return nil, err
	}
	return func() {
		stop()
		out()
	}, nil
}

// guarded serves a request from outside. It reads the body before it takes a worker, and sends the answer after.
func (s *Server) guarded(w http.ResponseWriter, r *http.Request, route route, who directory.Principal, guard *guards) {
	person := personOf(r, who)
	done, err := guard.pending.enter(person)
	if err != nil {
		s.timeouts.limitRefused(w, r)
		s.refuse(w, err)
		return
	}
	defer done()
	held := &load{flight: guard.flight, person: person}
	defer held.drop()
	body, err := s.receive(w, r, route.maxBody, held)
	if err == nil {
		err = guard.admit(r, route, who, body)
	}
	var leave func()
	if err == nil {
		leave, err = guard.enter(r, route, person)
	}
	if err != nil {
		s.refuse(w, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	r.Body = io.NopCloser(bytes.NewReader(body))
	out, whole := newOutbox(w, held, cancel, s.Log), false
	defer func() {
		leave()
		out.end(whole)
	}()
	s.work(out, r, route, who)
	whole = true
}

// refuse answers a request that got no worker, and counts it.
func (s *Server) refuse(w http.ResponseWriter, err error) {
	f, _ := explain(err, false)
	switch f.status {
	case http.StatusTooManyRequests:
		s.measures().refused.Add(1, refusedByRate)
	case http.StatusServiceUnavailable:
		s.measures().refused.Add(1, refusedAsBusy)
	}
	writeFailure(w, f)
}
