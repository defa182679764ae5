package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/fault"
)

// lines streams JSON objects, one per line, and flushes each. Nothing is sent before the first line, so that an early
// failure can be answered with its own status.
type lines struct {
	mutex   sync.Mutex
	w       http.ResponseWriter
	media   string // type of what is sent
	started bool
	broken  error // the write error of a disconnected caller
}

func newLines(w http.ResponseWriter, media string) *lines { return &lines{w: w, media: media} }

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
	if l.broken = wire.WriteJSON(l.w, value); l.broken == nil {
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

// resumeGrace is how long an answer goes on without a reader, at least; at most twice as long.
const resumeGrace = 30 * time.Second

// maxRecording bounds the stream of an answer that is kept for callers who resume it, in bytes. A longer one cannot be
// resumed.
const maxRecording = 8 * megabyte

// recording is the stream of an answer that is being written.
type recording struct {
	mutex sync.Mutex
	lines []json.RawMessage
	size  int
	lost  bool // it became too long
	done  bool
	joins int           // callers who resumed it
	grown chan struct{} // closed at the next change
}

func newRecording() *recording { return &recording{grown: make(chan struct{})} }

// change runs do, and wakes the readers.
func (r *recording) change(do func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	do()
	close(r.grown)
	r.grown = make(chan struct{})
}

func (r *recording) add(line json.RawMessage) {
	r.change(func() {
		if r.size += len(line); r.size > maxRecording {
			r.lines, r.lost = nil, true
		}
		if !r.lost {
			r.lines = append(r.lines, line)
		}
	})
}

// join counts a reader until leave is called.
func (r *recording) join() (leave func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.joins++
	return func() {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		r.joins--
	}
}

// read reports whether somebody has resumed it.
func (r *recording) read() bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.joins > 0
}

func (r *recording) end() { r.change(func() { r.done = true }) }

// after returns the lines from a cursor on, whether more can follow, and what is closed when there are.
func (r *recording) after(cursor int) (lines []json.RawMessage, more bool, grown <-chan struct{}) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.lines[min(cursor, len(r.lines)):]), !r.done && !r.lost, r.grown
}

// resumable returns the answer of a session that is being written in this process; nil if there is none.
func (a *answers) resumable(session string) (found *turn) {
	for t := range a.stops.Range {
		if t := t.(*turn); t.session.ID == session && (found == nil || t.answer.ID > found.answer.ID) {
			found = t
		}
	}
	return found
}

// watchReaders cancels an answer that nobody reads any more.
func (t *turn) watchReaders(asker context.Context, cancel context.CancelCauseFunc) (end func()) {
	alone := 0
	return t.every(resumeGrace, "watch the readers of an answer", func(context.Context) bool {
		if alone++; asker.Err() == nil || t.record.read() {
			alone = 0
		}
		if alone > 1 {
			cancel(context.Canceled)
		}
		return alone <= 1
	})
}

// EndAnswers ends the answers that are being written, those that nobody reads, too, because the server stops.
func (s *Server) EndAnswers() { s.answers.stopAll(fault.ErrStopping, func(*turn) bool { return true }) }

// stopAll stops the answers that are wanted, and returns how many.
func (a *answers) stopAll(cause error, wanted func(*turn) bool) (n int) {
	for t, stop := range a.stops.Range {
		if wanted(t.(*turn)) {
			stop.(context.CancelCauseFunc)(cause)
			n++
		}
	}
	return n
}

// stop stops the answers that are being written in a session, and returns how many.
func (a *answers) stop(session string) int {
	return a.stopAll(errStopped, func(t *turn) bool { return t.session.ID == session })
}

// detached returns a context that a disconnect does not cancel, so that the answer goes on and can be resumed. In
// process nobody reconnects.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	if isTrusted(ctx) {
		return context.WithCancel(ctx)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(askTimeout)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

// resumeChat answers GET /chat/chat-session/{id}/resume-stream: the lines of the answer that is being written, from the
// line cursor on, and those that follow.
func resumeChat(c *call) any {
	cursor := c.wholeOr("cursor", 0, 0, anyNumber)
	id := c.pathSession()
	_, _, err := c.session(id)
	check(sessionHidden(err))
	run := c.answers.resumable(id)
	if run == nil {
		abort(coded("NOT_FOUND", "No resumable run for this chat session"))
	}
	defer run.record.join()()
	beat := time.NewTicker(c.heartbeat)
	defer beat.Stop()
	out := newLines(c.w, wire.MediaTypeEvents)
	for {
		lines, more, grown := run.record.after(cursor)
		for _, line := range lines {
			out.send(line)
		}
		if cursor += len(lines); !more {
			return written{}
		}
		select {
		case <-grown:
		case <-beat.C:
			out.send(chat.At(chat.TurnSearch, chat.Heartbeat()))
		case <-c.ctx.Done():
			return written{}
		}
	}
}

// sessionHidden answers a session of somebody else like one that does not exist.
func sessionHidden(err error) error {
	if isForeign(err) {
		return coded("SESSION_NOT_FOUND", "Chat session not found")
	}
	return err
}
