package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"quarry/internal/guard"
)

const (
	maxPiped = 10 << 20 // bytes
	pipeWait = 2 * time.Second
)

// piped reads standard input to its end. A pipe that says nothing for a while is passed over, so that a command in a
// script never hangs on one that nobody closes.
func (a *app) piped(ctx context.Context) (string, error) {
	type read struct {
		text []byte
		err  error
	}
	begun, done := make(chan struct{}), make(chan read, 1)
	guard.Go(func() {
		text, err := readPiped(a.io.In, begun)
		done <- read{text, err}
	}, func(err error) { done <- read{err: err} })
	timer := time.NewTimer(pipeWait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-begun:
			begun = nil // there is something: it may take its time
			timer.Stop()
		case <-timer.C:
			a.note("nothing came on standard input for %s; going on without it (close it with < /dev/null)", pipeWait)
			return "", nil
		case got := <-done:
			switch {
			case got.err != nil:
				return "", fmt.Errorf("read standard input: %w", got.err)
			case len(got.text) > maxPiped:
				return "", usage("Give a part of it, or add the file to a library: quarry add FILE", "more than 10 MB came on standard input")
			}
			return string(got.text), nil
		}
	}
}

// readPiped reads at most a little more than is allowed, and tells when the first byte is there.
func readPiped(from io.Reader, begun chan<- struct{}) ([]byte, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(from, first); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	close(begun)
	rest, err := io.ReadAll(io.LimitReader(from, maxPiped))
	return append(first, rest...), err
}
