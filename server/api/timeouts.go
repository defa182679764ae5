package api

import (
	"net/http"
	"time"
)

// timeouts bound how long a listener waits for its callers. The routes bound the time of the work itself.
type timeouts struct {
	body, longBody time.Duration // for a whole body of up to a megabyte, and of more
	refused        time.Duration // for the body of a request that is refused before it is read
	answer         time.Duration // for the caller to read a part of the answer
}

func defaultTimeouts() timeouts {
	return timeouts{body: 30 * time.Second, longBody: 2 * time.Minute, refused: time.Second, answer: 30 * time.Second}
}

// limitRefused bounds how long the connection of a refused request waits for the unread body.
func (t timeouts) limitRefused(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(t.refused))
	}
}

// limitBody bounds the time in which the body of a request must arrive. net/http removes the deadline at the end of the
// body, so that the caller may be silent while the answer is made.
func (t timeouts) limitBody(w http.ResponseWriter, maxBody int64) {
	timeout := t.body
	if maxBody > megabyte {
		timeout = t.longBody
	}
	// A writer without deadlines needs none.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(timeout))
}

// limitWrites bounds the time in which a caller must read each part of an answer. A caller who does not is
// disconnected, which cancels the request.
func (t timeouts) limitWrites(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timed := &timedWriter{w, http.NewResponseController(w), t.answer}
		timed.extend() // the deadline of an earlier request on this connection may have passed
		next.ServeHTTP(timed, r)
	})
}

type timedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

// WriteHeader implements http.ResponseWriter.
func (t *timedWriter) WriteHeader(status int) {
	t.extend()
	t.ResponseWriter.WriteHeader(status)
}

// extend sets the deadline of the next write. A writer without deadlines needs none.
func (t *timedWriter) extend() { _ = t.control.SetWriteDeadline(time.Now().Add(t.timeout)) }

// Write implements io.Writer.
func (t *timedWriter) Write(data []byte) (int, error) {
	t.extend()
	return t.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
