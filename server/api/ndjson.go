package api

import (
	"encoding/json"
	"net/http"
	"sync"

	"quarry/client/wire"
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

// codeOf returns the code and text of a failure, for a stream that has begun.
func codeOf(f failure) (code, detail string) {
	switch body := f.body.(type) {
	case wire.CodedError:
		return body.ErrorCode, body.Detail
	case wire.DetailError:
		switch f.status {
		case http.StatusNotFound:
			return "NOT_FOUND", body.Detail
		case http.StatusForbidden:
			return "UNAUTHORIZED", body.Detail
		}
		return "INTERNAL_ERROR", body.Detail
	case wire.ValidationError:
		return "VALIDATION_ERROR", body.Message
	case wire.MessageError:
		return "BAD_REQUEST", body.Message
	}
	return "INTERNAL_ERROR", f.Error()
}
