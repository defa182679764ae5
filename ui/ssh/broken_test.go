package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"quarry/client"
	"quarry/server"
	"quarry/ui/explorer/screentest/terminal"
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
	p := &treacherous{good: client.InProcess(s.InProcess(s.Owner())), held: make(chan struct{})}
	h := sample(t, func(options *ssh.Options) {
		options.People = p
		if change != nil {
			change(options)
		}
	})
	t.Cleanup(func() { _ = s.Close() })
	return h, p
}

const noted = "something went wrong here"

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
	broken, line := key(t)
	h, _ := treachery(t, func(options *ssh.Options) {
		options.Tokens, options.AuthorizedKeys = true, keysFile(t, `user="panic@acme.com" `+line)
	})
	n := newNeighbour(h, interactive())
	before := calm()
	logged := 0
	told := func(what string) {
		t.Helper()
		text := h.log.String()[logged:]
		logged += len(text)
		if strings.Count(text, "ssh session broke") == 0 || strings.Count(text, "stack=\"goroutine") != strings.Count(text, "ssh session broke") {
			t.Errorf("%s: the log does not tell what broke, and where: %s", what, text)
		}
	}
	for _, how := range []string{breaksRequest, breaksAnswer} {
		conn, err := h.connect(interactive())
		if err != nil {
			t.Fatal(err)
		}
		v := sit(t, conn, 100, 30, "")
		v.sees("type to search")
		v.Send(how)
		v.sees(noted)
		if code := v.leaves(); code != 1 || strings.Contains(v.Text(), "breaks") {
			t.Errorf("the explorer, %s: exit %d\n%s", how, code, v.Text())
		}
		if modes := v.Modes(); modes != terminal.Untouched() {
			t.Errorf("the terminal is left as %+v", modes)
		}
		v.Close()
		told("the explorer, " + how)
		for _, command := range []string{"search " + how, `search "` + how + ` a" "b" "c"`, "ask " + how, "--format tsv " + how} {
			if got := run(t, conn, command, ""); got.code != 1 && got.code != 0 || !strings.Contains(got.err, noted) && !strings.Contains(got.err, "panic") {
				t.Errorf("%s: exit %d\n%s%s", command, got.code, got.out, got.err)
			}
		}
		v = sit(t, conn, 100, 30, "--plain")
		v.sees("search:")
		v.Send(how + "\r")
		v.sees("Error:")
		v.Send("quit\r")
		v.leaves()
		v.Close()
		_ = conn.Close()
		n.works()
	}
	for _, test := range []struct {
		name string
		auth gossh.AuthMethod
		env  []string
	}{{"a token", interactive(), []string{"ONYX_PAT=" + breaksRequest}}, {"a key", gossh.PublicKeys(broken), nil}} {
		conn, err := h.connect(test.auth)
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, conn, "search rollback", "", test.env...); got.code != 1 || !strings.Contains(got.err, noted) || got.out != "" {
			t.Errorf("%s: exit %d\n%s%s", test.name, got.code, got.out, got.err)
		}
		told(test.name)
		_ = conn.Close()
	}
	conn, err := h.connect(interactive())
	if err != nil {
		t.Fatal(err)
	}
	v := sit(t, conn, 100, 30, "")
	v.sees("type to search")
	v.Send(breaksShape)
	v.press("enter", "enter", "ctrl+c")
	v.leaves()
	v.Close()
	_ = conn.Close()
	n.works()
	settles(t, before)
}

// A server that stops tells people, lets commands end, and waits for nobody who does not listen.
func TestTheServerStops(t *testing.T) {
	h, p := treachery(t, nil)
	person := sit(t, h.mustConnect(), 100, 30, "")
	person.sees("type to search")
	plain := sit(t, h.mustConnect(), 100, 30, "--plain")
	plain.sees("search:")
	command := func(words string) chan said {
		conn, ended := h.mustConnect(), make(chan said, 1)
		session, err := conn.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		session.Stdout, session.Stderr = &out, &errs
		if err := session.Start(words); err != nil {
			t.Fatal(err)
		}
		go func() {
			err, code := session.Wait(), 0
			var exit *gossh.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitStatus()
			} else if err != nil {
				code = -1
			}
			ended <- said{out.String(), errs.String(), code}
		}()
		return ended
	}
	ends := command("search rollback " + waits)
	for p.asks.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	stdin, in, err := waitingCommand(h)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	deaf := rawSession(t, h.mustConnect())
	shell(t, deaf)
	go func() { hammer(deaf, bytes.Repeat([]byte("\x0c"), 1<<10), 64<<10) }()

	began := time.Now()
	h.stop()
	person.sees("this server is being stopped; you will be disconnected in 5 seconds")
	close(p.held)
	if got := <-ends; got.code != 0 || !strings.HasPrefix(got.out, "{") {
		t.Errorf("a command that could end: exit %d\n%s%s", got.code, got.out, got.err)
	}
	for _, v := range []*visit{person, plain} {
		if code := v.leaves(); code != 130 || !strings.Contains(v.Text(), "error: this server is being stopped") || !strings.Contains(v.Text(), "Connect again") {
			t.Errorf("exit %d\n%s", code, v.Text())
		}
	}
	if modes := person.Modes(); modes != terminal.Untouched() {
		t.Errorf("the terminal is left as %+v", modes)
	}
	if got := <-stdin; got.code != 130 || !strings.Contains(got.err, "this server is being stopped") {
		t.Errorf("a command that waits: exit %d %s", got.code, got.err)
	}
	select {
	case err := <-h.done:
		h.done <- err // for the end of the test
	case <-time.After(patience):
		t.Error("it does not stop")
	}
	t.Logf("it stopped after %s", time.Since(began).Round(time.Millisecond))
	if _, err := h.connect(); err == nil {
		t.Error("somebody comes in")
	}
}

// waitingCommand is one that reads what nobody writes.
func waitingCommand(h *house) (ended chan said, in io.WriteCloser, err error) {
	session, err := h.mustConnect().NewSession()
	if err != nil {
		return nil, nil, err
	}
	var errs bytes.Buffer
	session.Stderr = &errs
	if in, err = session.StdinPipe(); err != nil {
		return nil, nil, err
	}
	ended = make(chan said, 1)
	if err := session.Start("search -"); err != nil {
		return nil, nil, err
	}
	go func() {
		err := session.Wait()
		got := said{code: -1}
		var exit *gossh.ExitError
		if errors.As(err, &exit) {
			got.code = exit.ExitStatus()
		}
		got.err = errs.String()
		ended <- got
	}()
	return ended, in, nil
}

// A server that nobody is at stops at once.
func TestAnEmptyServerStopsAtOnce(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	h := sample(t, nil)
	_ = h.mustConnect()
	done := make(chan error, 1)
	options := ssh.Options{Address: "127.0.0.1:0", HostKey: filepath.Join(t.TempDir(), "key"), Open: true, People: h.served}
	ready := make(chan struct{})
	go func() { done <- ssh.Serve(ctx, options, func(string, string) { close(ready) }) }()
	<-ready
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it does not stop")
	}
}
