package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/server/chat"
	"quarry/server/directory"
)

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
func (t *turn) watchReaders(asker, ctx context.Context, cancel context.CancelCauseFunc) (end func()) {
	alone := 0
	return t.every(ctx, resumeGrace, "watch the readers of an answer", func(context.Context) bool {
		if alone++; asker.Err() == nil || t.record.read() {
			alone = 0
		}
		if alone > 1 {
			cancel(context.Canceled)
		}
		return alone <= 1
	})
}

// stopAll stops the answers that are wanted.
func (a *answers) stopAll(wanted func(*turn) bool) {
	for t, stop := range a.stops.Range {
		if wanted(t.(*turn)) {
			stop.(context.CancelCauseFunc)(errStopped)
		}
	}
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
func (s *Server) resumeChat(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	c := &call{r, queryFields(r.URL.Query()), s, who}
	cursor := c.wholeOr("cursor", 0, 0, 1<<53)
	id := c.pathSession()
	if _, _, err := c.session(id); err != nil {
		return sessionHidden(err)
	}
	run := s.answers.resumable(id)
	if run == nil {
		return coded(http.StatusNotFound, "NOT_FOUND", "No resumable run for this chat session")
	}
	defer run.record.join()()
	beat := time.NewTicker(s.heartbeat)
	defer beat.Stop()
	out := newLines(w, wire.MediaTypeEvents)
	for {
		lines, more, grown := run.record.after(cursor)
		for _, line := range lines {
			out.send(line)
		}
		if cursor += len(lines); !more {
			return nil
		}
		select {
		case <-grown:
		case <-beat.C:
			out.send(chat.At(chat.TurnSearch, chat.Heartbeat()))
		case <-r.Context().Done():
			return nil
		}
	}
}

// encoded returns a line of a stream.
func encoded(value any) json.RawMessage {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil
	}
	return bytes.TrimSpace(line.Bytes())
}

// sessionHidden answers a session of somebody else like one that does not exist.
func sessionHidden(err error) error {
	if isForeign(err) {
		return coded(http.StatusNotFound, "SESSION_NOT_FOUND", "Chat session not found")
	}
	return err
}
