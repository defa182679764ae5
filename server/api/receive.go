package api

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// receive reads the body of a request into memory before any work is done for it, so that a caller who sends slowly
// holds up nobody else. It is bounded by maxBody, by the time that patience gives, and by what load may hold.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, maxBody int64, held *load) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil // nothing is awaited: a deadline would be taken for a caller who has left
	}
	s.patience.awaited(w, maxBody)
	if r.ContentLength > maxBody {
		return nil, unreceived(w, &http.MaxBytesError{Limit: maxBody})
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	body := make([]byte, 0, 4*kilobyte)
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == nil && len(body) == cap(body) {
			// It grows with what has come, not with what was announced: to announce costs the caller nothing.
			body = append(body, 0)[:len(body)]
			err = held.grow(cap(body) - held.bytes)
		}
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, unreceived(w, err)
		}
	}
}

// unreceived explains why a body was not read to its end. The connection ends too: the rest may never come.
func unreceived(w http.ResponseWriter, err error) error {
	w.Header().Set("Connection", "close")
	var refused failure
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, os.ErrDeadlineExceeded):
		return detailed(http.StatusRequestTimeout, "The request did not arrive in time.")
	}
	return unreadable(err)
}
