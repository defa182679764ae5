package e2e

import (
	"bufio"
	"context"
	"net"
	"regexp"
	"sync"
	"testing"

	"quarry/ui"
)

// serveHTTP serves the library inside of this process until the test ends, and returns its address.
func serveHTTP(t *testing.T, h home) string {
	t.Helper()
	address, stop := serve(context.WithoutCancel(t.Context()), h.inside("serve", "--http", "127.0.0.1:0"))
	t.Cleanup(stop)
	if address == "" {
		t.Fatal("it does not listen")
	}
	return address
}

// serve runs a server inside of this process until stop is called, and returns its address; "" if it ended by itself.
func serve(ctx context.Context, process ui.Process) (address string, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	near, far := pipe()
	process.Err = far
	var serving sync.WaitGroup
	serving.Go(func() {
		runInside(ctx, process, "")
		_ = far.Close()
	})
	listening := make(chan string, 1)
	serving.Go(func() {
		defer close(listening)
		pattern := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
		for lines := bufio.NewScanner(near); lines.Scan(); { // also what is logged later
			if found := pattern.FindString(lines.Text()); found != "" && len(listening) == 0 {
				listening <- found
			}
		}
		_ = near.Close()
	})
	return <-listening, func() {
		cancel()
		serving.Wait()
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err) // no port is free
	}
	return listener
}

// refusing returns the address of a server that is not there.
func refusing() string {
	listener := listen()
	_ = listener.Close()
	return "http://" + listener.Addr().String()
}

// newSilent returns the address of a server whose connections the system accepts, and nobody answers.
func newSilent() (address string, stop func()) {
	listener := listen()
	return "http://" + listener.Addr().String(), func() { _ = listener.Close() }
}
