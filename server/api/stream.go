package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"quarry/internal/guard"
)

// lines streams JSON objects, one per line, and flushes each. Nothing is sent before the first line, so that an early
// failure can be answered with its own status.
type lines struct {
	mutex   sync.Mutex
	w       http.ResponseWriter
	encoder *json.Encoder
	media   string // type of what is sent
	started bool
	broken  error // the write error of a disconnected caller
}

func newLines(w http.ResponseWriter, media string) *lines {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return &lines{w: w, encoder: encoder, media: media}
}

// send writes one line. After the caller has disconnected it does nothing; the request's context ends the work.
func (l *lines) send(value any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.broken != nil {
		return
	}
	if !l.started {
		l.started = true
		l.w.Header().Set("Content-Type", l.media)
		l.w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects lines would defeat the stream
		l.w.WriteHeader(http.StatusOK)
	}
	if l.broken = l.encoder.Encode(value); l.broken == nil {
		l.broken = http.NewResponseController(l.w).Flush()
	}
}

func (l *lines) begun() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.started
}

// outbox buffers an answer, so that the handler does not wait for a slow caller. What the handler flushes is sent in
// the background, the rest at its end.
type outbox struct {
	http.ResponseWriter
	cancel func() // cancels the request when its answer cannot be sent
	log    *slog.Logger
	status int

	mutex   sync.Mutex
	held    *load
	waiting []byte
	failed  error         // why nothing more can be sent
	wake    chan struct{} // wakes the sender; nil until the first flush
	stopped chan struct{} // closed when the sender has ended
}

// WriteHeader records the status.
func (o *outbox) WriteHeader(status int) {
	if o.status == 0 {
		o.status = status
	}
}

// Write buffers data.
func (o *outbox) Write(data []byte) (int, error) {
	o.WriteHeader(http.StatusOK)
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.failed == nil {
		o.fail(o.held.grow(len(data)))
	}
	if o.failed != nil {
		return 0, o.failed
	}
	o.waiting = append(o.waiting, data...)
	return len(data), nil
}

// fail records the first error and cancels the request.
func (o *outbox) fail(err error) {
	if err != nil && o.failed == nil {
		o.failed = err
		o.cancel()
	}
}

// FlushError starts sending what was written.
func (o *outbox) FlushError() error {
	o.WriteHeader(http.StatusOK)
	if o.wake == nil {
		o.wake, o.stopped = make(chan struct{}, 1), make(chan struct{})
		o.ResponseWriter.WriteHeader(o.status)
		guard.Go(o.sendAll, func(err error) {
			guard.Log(o.log, "send an answer")(err)
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.fail(err)
		})
	}
	select {
	case o.wake <- struct{}{}:
	default: // the sender has not yet looked
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.failed
}

// sendAll sends buffered data whenever it is woken, until the handler is done.
func (o *outbox) sendAll() {
	defer close(o.stopped)
	for range o.wake {
		for o.send() {
		}
		if err := http.NewResponseController(o.ResponseWriter).Flush(); err != nil {
			o.mutex.Lock()
			o.fail(err)
			o.mutex.Unlock()
		}
	}
}

// send sends the buffered data, and reports whether there was any.
func (o *outbox) send() bool {
	const piece = 64 * kilobyte // each write has its own deadline
	o.mutex.Lock()
	data, err := o.waiting, o.failed
	o.waiting = nil
	o.mutex.Unlock()
	for rest := data; len(rest) > 0 && err == nil; {
		n := min(piece, len(rest))
		_, err = o.ResponseWriter.Write(rest[:n])
		rest = rest[n:]
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	_ = o.held.grow(-len(data))
	o.fail(err)
	return len(data) > 0
}

// end sends the rest, unless the handler panicked.
func (o *outbox) end(whole bool) {
	streamed := o.wake != nil
	if streamed {
		close(o.wake)
		<-o.stopped
	}
	var refused failure
	switch isRefused := errors.As(o.failed, &refused); {
	case !whole:
	case isRefused && streamed:
		panic(http.ErrAbortHandler) // the answer must not look complete
	case isRefused:
		o.Header().Del("Content-Length")
		o.Header().Del("Content-Disposition")
		writeFailure(o.ResponseWriter, refused)
	default:
		if o.status != 0 && !streamed {
			o.ResponseWriter.WriteHeader(o.status)
		}
		for o.send() {
		}
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (o *outbox) Unwrap() http.ResponseWriter { return o.ResponseWriter }
