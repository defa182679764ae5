package api

import (
	"net/http"
	"time"
)

// patience is how long a listener waits for its callers. What costs the server time is bounded by the routes.
type patience struct {
	body, longBody time.Duration // for a whole request to come, with a body of up to a megabyte, and above
	refused        time.Duration // for the body of a request that was refused before it was read
	answer         time.Duration // for a part of the answer to be taken
}

func usualPatience() patience {
	return patience{body: 30 * time.Second, longBody: 2 * time.Minute, refused: time.Second, answer: 30 * time.Second}
}

// dismissed bounds how long the connection of a refused request waits for a body that nobody reads.
func (p patience) dismissed(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(p.refused))
	}
}

// awaited bounds the time that the body of a request may take to come. Once it is there, net/http takes the deadline
// off: the caller may be silent for as long as the answer takes.
func (p patience) awaited(w http.ResponseWriter, maxBody int64) {
	patience := p.body
	if maxBody > megabyte {
		patience = p.longBody
	}
	// A writer without deadlines needs none.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
}

// taken bounds the time that a caller may take for each part of an answer. One that does not read is cut off, and its
// request ended.
func (p patience) taken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		timed := &timedWriter{w, http.NewResponseController(w), p.answer}
		timed.begin() // the connection may have served another request, whose time is over
		next.ServeHTTP(timed, r)
	})
}

type timedWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
}

// WriteHeader begins the answer.
func (t *timedWriter) WriteHeader(status int) {
	t.begin()
	t.ResponseWriter.WriteHeader(status)
}

// begin gives the caller time from now on. A writer without deadlines needs none.
func (t *timedWriter) begin() { _ = t.control.SetWriteDeadline(time.Now().Add(t.patience)) }

// Write is io.Writer's.
func (t *timedWriter) Write(data []byte) (int, error) {
	t.begin()
	return t.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (t *timedWriter) Unwrap() http.ResponseWriter { return t.ResponseWriter }
