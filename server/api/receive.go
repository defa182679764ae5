package api

import (
	"errors"
	"io"
	"net/http"
	"os"
)

// receive reads the body of a request into memory before the request takes a worker, so that a slow caller blocks nobody.
// It is bounded by maxBody, the timeouts and the quota of held.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, maxBody int64, held *load) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil // without a body, a read deadline would look like a disconnected caller
	}
	s.timeouts.limitBody(w, maxBody)
	if r.ContentLength > maxBody {
		return nil, unreceived(w, &http.MaxBytesError{Limit: maxBody})
	}
	from := http.MaxBytesReader(w, r.Body, maxBody)
	body := make([]byte, 0, 4*kilobyte)
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == nil && len(body) == cap(body) {
			// The buffer grows with the received bytes, not with Content-Length, which costs the caller nothing.
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

// unreceived returns the error of a body that was not read to its end. It closes the connection: the rest may never
// arrive.
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
