package api

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFlight(t *testing.T) {
	f := newQuota(100, 150)
	for i, step := range []struct {
		person string
		bytes  int
		status int // of the refusal; 0: none
	}{
		{"a", 100, 0}, {"a", 1, 429}, {"b", 51, 503}, {"b", 50, 0}, {"c", 1, 503}, {"a", -40, 0}, {"b", 40, 0},
		{"c", 1, 503}, {"a", -60, 0}, {"c", 60, 0}, {"b", -90, 0}, {"c", -60, 0},
	} {
		var refused failure
		if err := f.add(step.person, step.bytes); errors.As(err, &refused) != (step.status != 0) || refused.status != step.status ||
			step.status != 0 && refused.retryAfter == "" {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if f.all != 0 || len(f.of) != 0 {
		t.Errorf("%d bytes are left, %v", f.all, f.of)
	}
	one := &load{flight: f, person: "a"}
	if err := one.grow(smallLoad); err != nil || f.all != 0 {
		t.Errorf("a small body: %v, %d bytes counted", err, f.all)
	}
	if err := errors.Join(one.grow(100), one.grow(-40)); err != nil || f.all != 60 {
		t.Errorf("a larger one: %v, %d bytes counted", err, f.all)
	}
	if err := one.grow(41); err == nil || f.all != 60 {
		t.Errorf("too large a one: %v, %d bytes counted", err, f.all)
	}
	if one.drop(); f.all != 0 {
		t.Errorf("%d bytes are left", f.all)
	}
}

// outside is a gate's listener, and its guards.
func (w *world) outside(options PublicOptions) (http.Handler, *guards) {
	gate := w.server.Gate(options)
	return gate.Listener(true), gate.guard
}

// TestBodiesInFlightAreBounded per person and in all, and searches get through.
func TestBodiesInFlightAreBounded(t *testing.T) {
	w := newWorld(t)
	handler, guard := w.outside(PublicOptions{})
	guard.flight = newQuota(megabyte, megabyte+512*kilobyte)
	from, to := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/chat/send-chat-message", from)
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		ended <- answer.Code
	}()
	large := strings.Repeat(" ", 800*kilobyte)
	if _, err := io.WriteString(to, large); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		who, target, body string
		status            int
	}{
		{"jo", "/chat/send-chat-message", large, 429},
		{"chat", "/chat/send-chat-message", large, 429}, // another token of the same person's
		{"kim", "/chat/send-chat-message", large, 503},
		{"jo", "/search", `{"query":"deploy"}`, 200},
		{"kim", "/search", `{"query":"deploy"}`, 200},
	} {
		answer := w.call(handler, test.who, "POST", test.target, test.body)
		if answer.Code != test.status || test.status > 400 && answer.Header().Get("Retry-After") == "" {
			t.Errorf("%s, %s: HTTP %d %s", test.who, test.target, answer.Code, answer.Body)
		}
	}
	w.check(to.Close())
	if got := <-ended; got != 422 {
		t.Errorf("the first: HTTP %d", got)
	}
	if got := w.call(handler, "kim", "POST", "/chat/send-chat-message", large).Code; got != 422 {
		t.Errorf("afterwards: HTTP %d", got)
	}
	if guard.flight.all != 0 || len(guard.pending.of)+len(guard.working.of) != 0 || len(guard.workers.slots) != 0 {
		t.Errorf("left: %d bytes, %v, %v", guard.flight.all, guard.pending.of, guard.working.of)
	}
}

// unread is a caller who takes nothing of the answer until taken is closed.
type unread struct {
	*httptest.ResponseRecorder
	offered, taken chan struct{}
}

func (u unread) Write(data []byte) (int, error) {
	select {
	case u.offered <- struct{}{}:
	default:
	}
	<-u.taken
	return u.ResponseRecorder.Write(data)
}

// TestAnswersThatWaitTakeNoRoom: neither of streams nor of others.
func TestAnswersThatWaitTakeNoRoom(t *testing.T) {
	for _, body := range []string{`{"query":"deploy"}`, `{"query":"deploy","stream":true}`} {
		w := newWorld(t)
		handler, guard := w.outside(PublicOptions{Concurrency: 1})
		slow := unread{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/search", strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
			handler.ServeHTTP(slow, r)
		}()
		<-slow.offered
		for _, who := range []string{"kim", "jo"} {
			if answer := w.call(handler, who, "POST", "/search", body); answer.Code != 200 || !strings.Contains(answer.Body.String(), "rollback") {
				t.Errorf("%s: HTTP %d %s", who, answer.Code, answer.Body)
			}
		}
		close(slow.taken)
		<-ended
		if got := slow.Body.String(); !strings.Contains(got, "rollback") {
			t.Errorf("at last: %s", got)
		}
		if guard.flight.all != 0 || len(guard.pending.of) != 0 {
			t.Errorf("left: %d bytes, %v", guard.flight.all, guard.pending.of)
		}
	}
}

// TestAnswersInFlightAreBounded: one that is too large to wait is refused, and a stream broken off.
func TestAnswersInFlightAreBounded(t *testing.T) {
	w := newWorld(t)
	guard := newGuards(PublicOptions{Concurrency: 1}, w.server.Now, nil)
	guard.flight = newQuota(megabyte, megabyte)
	for name, flush := range map[string]bool{"whole": false, "stream": true} {
		slow := unread{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
		endless := route{pattern: "GET /endless", needs: identity, respond: func(c *call) any {
			c.w.Header().Set("Content-Length", "7")
			defer func() {
				if flush {
					close(slow.taken)
				}
			}()
			for c.Context().Err() == nil {
				_, _ = c.w.Write(make([]byte, 64*kilobyte))
				if flush {
					_ = http.NewResponseController(c.w).Flush()
				}
			}
			return written{}
		}}
		handler := w.server.mount([]route{endless}, w.server.authenticate, guard)
		if !flush { // nothing is offered before it is refused
			close(slow.taken)
		}
		func() {
			defer func() {
				if cause := recover(); (cause == http.ErrAbortHandler) != flush {
					t.Errorf("%s: %v", name, cause)
				}
			}()
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/endless", nil)
			r.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
			handler.ServeHTTP(slow, r)
			if slow.Code != http.StatusTooManyRequests || slow.Header().Get("Content-Length") != "" {
				t.Errorf("%s: HTTP %d %s", name, slow.Code, slow.Body)
			}
		}()
		if guard.flight.all != 0 || len(guard.workers.slots) != 0 {
			t.Errorf("left: %d bytes", guard.flight.all)
		}
	}
}
