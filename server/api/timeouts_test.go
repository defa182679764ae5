package api

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quarry/internal/testkit/memnet"
)

// serveWorld listens with the patience of a real server, in a bubble.
func serveWorld(t *testing.T, w *world, more ...route) *memnet.Listener {
	t.Helper()
	guard := newGuards(PublicOptions{Concurrency: DefaultConcurrency}, w.server.Now, nil)
	handler := w.server.mount(append(routes(), more...), w.server.authenticate, guard)
	listener := memnet.Listen()
	s := &httptest.Server{Listener: listener, Config: &http.Server{ReadTimeout: time.Minute,
		Handler: w.server.logged(w.server.recovered(handler))}}
	s.Start()
	t.Cleanup(s.Close)
	return listener
}

func dial(t testing.TB, listener *memnet.Listener, request string) net.Conn {
	t.Helper()
	c, err := listener.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

// neverSent is the beginning of a search whose body never comes.
func neverSent(w *world) string {
	return fmt.Sprintf("POST /search HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Length: 100\r\n\r\n{", w.tokens["jo"])
}

func TestABodyThatNeverComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		connection := dial(t, serveWorld(t, w), neverSent(w))
		got, err := http.ReadResponse(bufio.NewReader(connection), nil)
		w.check(err)
		_, err = io.Copy(io.Discard, got.Body)
		w.check(errors.Join(err, got.Body.Close()))
		if got.StatusCode != http.StatusRequestTimeout {
			t.Errorf("HTTP %d", got.StatusCode)
		}
	})
}

// TestAnAnswerMayTakeLonger than its request: the deadline of one is not that of the other.
func TestAnAnswerMayTakeLonger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{"", "{}"} {
			w := newWorld(t)
			listener := serveWorld(t, w, route{pattern: "POST /slow", needs: identity, timeout: searchTimeout,
				respond: func(c *call) any {
					must(io.ReadAll(c.Body))
					select {
					case <-c.Context().Done():
						abort(c.Context().Err())
					case <-time.After(90 * time.Second): // longer than ReadTimeout and the patience with bodies
					}
					return "done"
				}})
			transport := listener.Transport()
			t.Cleanup(transport.CloseIdleConnections)
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://localhost/slow", strings.NewReader(body))
			w.check(err)
			r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
			got, err := (&http.Client{Transport: transport}).Do(r)
			w.check(err)
			text, _ := io.ReadAll(got.Body)
			_ = got.Body.Close()
			if got.StatusCode != 200 || !strings.Contains(string(text), "done") {
				t.Errorf("body %q: HTTP %d %s", body, got.StatusCode, text)
			}
		}
	})
}

// TestAnAnswerThatIsNeverRead ends its request.
func TestAnAnswerThatIsNeverRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ended := make(chan error, 1)
		listener := serveWorld(t, w, route{pattern: "GET /endless", needs: open,
			respond: func(c *call) any {
				for {
					if _, err := c.w.Write(make([]byte, 1<<16)); err != nil {
						<-c.Context().Done()
						ended <- err
						return written{}
					}
				}
			}})
		dial(t, listener, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
		if err := <-ended; err == nil {
			t.Error("written to nobody without end")
		}
	})
}
