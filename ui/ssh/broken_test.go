package ssh_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/client"
	"quarry/internal/testkit/longtest"
	"quarry/internal/testkit/screentest/terminal"
	"quarry/server"
	"quarry/server/directory"
	"quarry/ui/ssh"
)

// treacherous lets everybody in to a server whose answers break the program where a question asks for it.
type treacherous struct {
	good http.RoundTripper
	held chan struct{} // a question that waits is answered when it is closed
	asks atomic.Int32  // questions that wait
}

// Words of a question that break the program.
const (
	breaksRequest = "breakrequest"
	breaksAnswer  = "breakanswer"
	breaksShape   = "breakshape"
	waits         = "waitforit"
)

func (*treacherous) KnowsPeople() bool { return true }

func (p *treacherous) Anybody(string) (*client.Client, error) {
	return client.New(client.Options{BaseURL: client.InProcessURL, Transport: p})
}

func (p *treacherous) Person(email, remote string) (*client.Client, error) {
	if email == "panic@acme.com" {
		panic("the person breaks")
	}
	return p.Anybody(remote)
}

func (p *treacherous) Token(token, remote string) (*client.Client, error) {
	if token == breaksRequest {
		return client.New(client.Options{BaseURL: client.InProcessURL, Transport: breaking{}})
	}
	return p.Anybody(remote)
}

type breaking struct{}

func (breaking) RoundTrip(*http.Request) (*http.Response, error) { panic("the request breaks") }

// RoundTrip answers, or does not.
func (p *treacherous) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	asked := string(body) + request.URL.RawQuery
	answer := func(body io.Reader) *http.Response {
		return &http.Response{StatusCode: 200, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), ContentLength: -1}
	}
	switch {
	case strings.Contains(asked, breaksRequest):
		panic("the request breaks")
	case strings.Contains(asked, breaksAnswer):
		return answer(brokenReader{}), nil
	case strings.Contains(asked, breaksShape):
		return answer(strings.NewReader(`{"results":[{"citation_id":-1,"title":"\u001b[2J\u0000` + strings.Repeat("\u202e", 10_000) + `","content":"` +
			strings.Repeat(`\n~~~\n|a|b\n|-|`, 1000) + `","match_highlights":["<hi>","</hi></hi>"],"score":1e308}],"total_matches":-5}`)), nil
	case strings.Contains(asked, waits):
		p.asks.Add(1)
		select {
		case <-p.held:
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
	return p.good.RoundTrip(request)
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { panic("the answer breaks") }

// Knows is People's.
func (*treacherous) Knows(context.Context, string, string) bool { return true }

// treachery serves the sample library treacherously.
func treachery(t *testing.T, change func(*ssh.Options)) (*house, *treacherous) {
	t.Helper()
	s, err := server.Open(t.Context(), server.Options{Sample: true})
	if err != nil {
		t.Fatal(err)
	}
	p := &treacherous{good: client.InProcess(s.InProcess(directory.Owner(directory.DefaultTenant))), held: make(chan struct{})}
	h := sample(t, func(options *ssh.Options) {
		options.People = p
		if change != nil {
			change(options)
		}
	})
	t.Cleanup(func() { _ = s.Close() })
	return h, p
}

const noted = "internal error; it was logged"

// What breaks the program for one visitor breaks it for nobody else, and who runs the server finds it in the log alone.
func TestPanicsEndOneSession(t *testing.T) {
	stderr := os.Stderr
	raw, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = raw
	defer func() {
		os.Stderr = stderr
		if text, err := os.ReadFile(raw.Name()); err != nil || len(text) > 0 {
			t.Errorf("on standard error: %s (%v)", text, err)
		}
	}()
	synctest.Test(t, func(t *testing.T) { // which fails when a goroutine is left
		broken, line := key(t)
		h, _ := treachery(t, func(options *ssh.Options) {
			inMemory(options)
			options.Token, options.Keys = true, keysFile(t, `user="panic@acme.com" `+line)
		})
		n := newNeighbour(h, interactive())
		for _, how := range []string{breaksRequest, breaksAnswer} {
			breakExplorer(t, h, how)
			breakCommands(t, h, how)
			n.works()
		}
		for _, test := range []struct {
			name string
			auth gossh.AuthMethod
			env  []string
		}{{"a token", interactive(), []string{"ONYX_PAT=" + breaksRequest}}, {"a key", gossh.PublicKeys(broken), nil}} {
			logged := h.log.String()
			if got := run(t, h.mustConnect(test.auth), "search rollback", "", test.env...); got.code != 1 || !strings.Contains(got.err, noted) || got.out != "" {
				t.Errorf("%s: exit %d\n%s%s", test.name, got.code, got.out, got.err)
			}
			noticed(t, test.name, strings.TrimPrefix(h.log.String(), logged))
		}
		v := sit(t, h.mustConnect(interactive()), 100, 30, "")
		v.sees("type to search")
		v.Send(breaksShape)
		v.press("enter", "enter", "ctrl+c")
		v.leaves()
		n.works()
	})
}

// breakExplorer breaks what an explorer asks.
func breakExplorer(t *testing.T, h *house, how string) {
	t.Helper()
	logged := h.log.String()
	v := sit(t, h.mustConnect(interactive()), 100, 30, "")
	v.sees("type to search")
	v.Send(how)
	v.sees(noted)
	if code := v.leaves(); code != 1 || strings.Contains(v.Text(), "breaks") {
		t.Errorf("the explorer, %s: exit %d\n%s", how, code, v.Text())
	}
	if modes := v.Modes(); modes != terminal.Untouched() {
		t.Errorf("the terminal is left as %+v", modes)
	}
	noticed(t, "the explorer, "+how, strings.TrimPrefix(h.log.String(), logged))
}

// breakCommands breaks what commands and the plain explorer ask.
func breakCommands(t *testing.T, h *house, how string) {
	t.Helper()
	conn := h.mustConnect(interactive())
	for _, command := range []string{"search " + how, `search "` + how + ` a" "b" "c"`, "ask " + how, "--format tsv " + how} {
		if got := run(t, conn, command, ""); got.code != 1 && got.code != 0 || !strings.Contains(got.err, noted) && !strings.Contains(got.err, "panic") {
			t.Errorf("%s: exit %d\n%s%s", command, got.code, got.out, got.err)
		}
	}
	v := sit(t, conn, 100, 30, "--plain")
	v.sees("search:")
	v.Send(how + "\r")
	v.sees("Error:")
	v.Send("quit\r")
	v.leaves()
}

// noticed checks what the log holds of a panic.
func noticed(t *testing.T, what, log string) {
	t.Helper()
	if strings.Count(log, "ssh session broke") != 1 || strings.Count(log, `stack="goroutine`) != 1 {
		t.Errorf("%s: the log does not tell once what broke, and where: %s", what, log)
	}
}

// A server that stops tells people, and lets commands end.
func TestTheServerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p := treachery(t, inMemory)
		person := sit(t, h.mustConnect(), 100, 30, "")
		person.sees("type to search")
		plain := sit(t, h.mustConnect(), 100, 30, "--plain")
		plain.sees("search:")
		ends, waiting := make(chan said, 1), make(chan said, 1)
		go func() { ends <- run(t, h.mustConnect(), "search rollback "+waits, "") }()
		go func() { waiting <- waitOut(t, h.mustConnect(), "search -") }()
		synctest.Wait()
		if p.asks.Load() == 0 {
			t.Fatal("the command did not ask yet")
		}

		began := time.Now()
		h.stop()
		person.sees("the server is shutting down; you will be disconnected in 5 seconds")
		close(p.held)
		if got := <-ends; got.code != 0 || !strings.HasPrefix(got.out, "{") {
			t.Errorf("a command that could end: exit %d\n%s%s", got.code, got.out, got.err)
		}
		for _, v := range []*visit{person, plain} {
			if code := v.leaves(); code != 130 || !strings.Contains(v.Text(), "error: the server is shutting down") || !strings.Contains(v.Text(), "Connect again") {
				t.Errorf("exit %d\n%s", code, v.Text())
			}
		}
		if modes := person.Modes(); modes != terminal.Untouched() {
			t.Errorf("the terminal is left as %+v", modes)
		}
		if got := <-waiting; got.code != 130 || !strings.Contains(got.err, "the server is shutting down") {
			t.Errorf("a command that waits: exit %d %s", got.code, got.err)
		}
		err := <-h.done
		h.done <- err // for the end of the test
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it stopped after %s", took)
		}
		if _, err := h.connect(); err == nil {
			t.Error("somebody comes in")
		}
	})
}

// A server that stops waits for nobody who does not listen. In a bubble, what waits for the lock of a screen that is not
// read would keep time from passing.
func TestTheServerStopsBesideTheDeaf(t *testing.T) {
	if !longtest.Enabled() {
		t.Skip("takes 9 s: make long runs it")
	}
	h := sample(t, nil)
	defer connectionNotRead(t, h)()
	h.stop()
	err := <-h.done
	h.done <- err // for the end of the test
}

// A server that nobody is at stops at once.
func TestAnEmptyServerStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := sample(t, inMemory)
		_ = h.mustConnect()
		synctest.Wait()
		began := time.Now()
		h.stop()
		err := <-h.done
		if h.done <- err; err != nil || time.Since(began) > 0 {
			t.Errorf("it stopped after %s: %v", time.Since(began), err)
		}
	})
}
