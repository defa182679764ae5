package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quarry/server/directory"
)

const impatient = 200 * time.Millisecond

// serveWorld listens with little patience.
func serveWorld(t *testing.T, w *world, routes ...route) *httptest.Server {
	t.Helper()
	w.server.patience = patience{body: impatient, longBody: impatient, refused: impatient, answer: impatient}
	guard := newGuards(PublicOptions{Concurrency: DefaultConcurrency}, w.server.Now)
	handler := w.server.mount(append(w.server.routes(), routes...), w.server.authenticate, guard)
	s := httptest.NewUnstartedServer(w.server.logged(w.server.patience.taken(w.server.recovered(handler))))
	s.Config.ReadTimeout = impatient
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func dial(t testing.TB, s *httptest.Server, request string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Listener.Addr().String())
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

// outwait returns when the server has lost its patience with a body.
func outwait(w *world, s *httptest.Server) int {
	answer, err := http.ReadResponse(bufio.NewReader(dial(w.t, s, neverSent(w))), nil)
	w.check(err)
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	w.check(err)
	return answer.StatusCode
}

func TestABodyThatNeverComes(t *testing.T) {
	w := newWorld(t)
	if got := outwait(w, serveWorld(t, w)); got != http.StatusRequestTimeout {
		t.Errorf("HTTP %d", got)
	}
}

// TestAnAnswerMayTakeLonger than its request: the deadline of one is not that of the other. A second request whose body
// never comes shows that the time is over.
func TestAnAnswerMayTakeLonger(t *testing.T) {
	for _, body := range []string{"", "{}"} {
		w := newWorld(t)
		begun, over := make(chan struct{}), make(chan struct{})
		s := serveWorld(t, w, route{pattern: "POST /slow", needs: identity,
			handle: func(answered http.ResponseWriter, r *http.Request, _ directory.Principal) error {
				if _, err := io.ReadAll(r.Body); err != nil {
					return err
				}
				close(begun)
				select {
				case <-r.Context().Done():
					return r.Context().Err()
				case <-over:
					return answer(answered, "done")
				}
			}})
		go func() {
			<-begun
			outwait(w, s)
			close(over)
		}()
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/slow", strings.NewReader(body))
		w.check(err)
		r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
		got, err := s.Client().Do(r)
		w.check(err)
		text, _ := io.ReadAll(got.Body)
		_ = got.Body.Close()
		if got.StatusCode != 200 || !strings.Contains(string(text), "done") {
			t.Errorf("body %q: HTTP %d %s", body, got.StatusCode, text)
		}
	}
}

// TestAnAnswerThatIsNeverRead ends its request.
func TestAnAnswerThatIsNeverRead(t *testing.T) {
	w := newWorld(t)
	ended := make(chan error, 1)
	s := serveWorld(t, w, route{pattern: "GET /endless", needs: open,
		handle: func(w http.ResponseWriter, r *http.Request, _ directory.Principal) error {
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					<-r.Context().Done()
					ended <- err
					return nil
				}
			}
		}})
	dial(t, s, "GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if err := <-ended; err == nil {
		t.Error("written to nobody without end")
	}
}
