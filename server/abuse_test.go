package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/server/api"
	"quarry/server/directory"
)

// served is a server with two listeners' worth of callers: of the API, and visitors of another listener.
type served struct {
	t         *testing.T
	server    *Server
	admission *Admission
	address   string            // host:port
	tokens    map[string]string // by who holds them
	log       *lockedText
}

type lockedText struct {
	mutex sync.Mutex
	text  strings.Builder
}

func (l *lockedText) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(data)
}

func (l *lockedText) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

// serveAll serves the sample library to Jo, Kim, Ann and visitors.
func serveAll(t *testing.T) *served {
	t.Helper()
	a := &served{t: t, tokens: map[string]string{}, log: new(lockedText)}
	a.server = open(t, Options{Sample: true, Settings: api.Settings{Log: slog.New(slog.NewTextHandler(a.log, nil))}})
	for _, who := range []string{"jo", "kim", "ann"} {
		made := addToken(t, a.server, directory.TokenRequest{Name: who, Email: who + "@acme.com"})
		a.tokens[who] = made
	}
	a.admission = a.server.Admit(api.PublicOptions{})
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- a.admission.ListenAndServe(ctx, "127.0.0.1:0", func(at net.Addr) { ready <- at }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	a.address = (<-ready).String()
	return a
}

// begin connects, and sends the beginning of a request.
func (a *served) begin(text string) net.Conn {
	a.t.Helper()
	conn, err := new(net.Dialer).DialContext(a.t.Context(), "tcp", a.address)
	if err != nil {
		a.t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	_, _ = io.WriteString(conn, text) // a server that has closed already may do so
	return conn
}

// request is a request of somebody, whose body is still to come.
func (a *served) request(who, route string, headers ...string) string {
	lines := append([]string{route + " HTTP/1.1", "Host: localhost", "Authorization: Bearer " + a.tokens[who]}, headers...)
	return strings.Join(lines, "\r\n") + "\r\n\r\n"
}

// works shows that others are served as if nothing was: over HTTP, over another listener, and in this process.
func (a *served) works() {
	a.t.Helper()
	const body = `{"query":"roll back a release"}`
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := http.NewRequestWithContext(a.t.Context(), "POST", "http://"+a.address+"/search", strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.tokens["ann"])
	answer, err := client.Do(r)
	if err != nil {
		a.t.Fatalf("over HTTP: %v", err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "Rolling back") {
		a.t.Errorf("over HTTP: HTTP %d %s (%v)", answer.StatusCode, text, err)
	}
	for name, handler := range map[string]http.Handler{
		"a guest":          a.admission.Anybody("192.0.2.7:4000"),
		"who attacks, too": a.admission.Person("jo@acme.com", "192.0.2.8:4000"),
		"in process":       a.server.InProcess(directory.Owner(directory.DefaultTenant)),
	} {
		if status, text := visit(a.t, handler, "POST", "/search", body); status != http.StatusOK {
			a.t.Errorf("%s: HTTP %d %s", name, status, text)
		}
	}
}

const megabyte = 1 << 20

// abuse begins something, and returns what ends it.
type abuse func(*served) (end func())

// connecting opens connections that send the beginnings of requests and read nothing.
func connecting(texts ...string) func(*served, int) func() {
	return func(a *served, times int) func() {
		var conns []net.Conn
		for range times {
			for _, text := range texts {
				conns = append(conns, a.begin(text))
			}
		}
		return func() {
			for _, conn := range conns {
				_ = conn.Close()
			}
		}
	}
}

// byTwo sends a request of Jo's and one of Kim's, forty times each.
func byTwo(route, body string, headers ...string) abuse {
	return func(a *served) func() {
		return connecting(a.request("jo", route, headers...)+body, a.request("kim", route, headers...)+body)(a, 40)
	}
}

func abuses() map[string]abuse {
	return map[string]abuse{
		"half of a body":                   byTwo("POST /search", `{"que`, "Content-Length: 100"),
		"half of a large body":             byTwo("POST /chat/send-chat-message", "{", "Content-Length: 33554432"),
		"half of a file":                   byTwo("POST /user/projects/file/upload", "--x\r\n", "Content-Type: multipart/form-data; boundary=x", "Content-Length: 1000000"),
		"half of a chunk":                  byTwo("POST /chat/send-chat-message", "ff\r\n{", "Transfer-Encoding: chunked"),
		"a body that is waited for":        byTwo("POST /search", "", "Content-Length: 100", "Expect: 100-continue"),
		"a body where none is expected":    byTwo("GET /persona", "", "Content-Length: 100"),
		"half of a body, by nobody":        byNobody("POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", 100),
		"a body of a route without tokens": byNobody("POST /version HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", 100),
		"half of a header":                 byNobody("GET /search HTTP/1.1\r\nHost: x\r\nX-", 300),
		"nothing at all":                   byNobody("", 300),
		"garbage":                          byNobody("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"+strings.Repeat("\xff", 2000), 50),
		"a preface of HTTP/2":              byNobody("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 50),
		"a header without end":             byNobody("GET / HTTP/1.1\r\nX: "+strings.Repeat("x", 1<<20), 20),
		"ten thousand headers":             byNobody("GET / HTTP/1.1\r\nHost: x\r\n"+strings.Repeat("X: y\r\n", 10_000)+"\r\n", 20),
		"two lengths":                      byNobody("POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 20),
		"a length and chunks":              byNobody("POST /search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n", 20),
		"requests in a row":                byTwo("GET /persona", strings.Repeat("GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n", 100)),
		"answers that are not read":        unread,
		"a body of bytes":                  byteByByte,
		"requests that are cut off":        cutOff,
	}
}

func byNobody(text string, times int) abuse {
	return func(a *served) func() { return connecting(text)(a, times) }
}

// unread asks for files of a megabyte, and takes nothing of them.
func unread(a *served) func() {
	routes := map[string]string{}
	for _, who := range []string{"jo", "kim"} {
		form := "--x\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\n\r\n" + strings.Repeat("plan ", 1<<18) + "\r\n--x--\r\n"
		conn := a.begin(a.request(who, "POST /user/projects/file/upload", "Content-Type: multipart/form-data; boundary=x",
			fmt.Sprint("Content-Length: ", len(form))) + form)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			a.t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		_, rest, _ := strings.Cut(string(text), `"id":"`)
		id, _, found := strings.Cut(rest, `"`)
		if !found {
			a.t.Fatalf("%s", text)
		}
		_ = conn.Close()
		routes[who] = "GET /chat/file/" + id
	}
	return connecting(a.request("jo", routes["jo"]), a.request("kim", routes["kim"]))(a, 40)
}

// byteByByte sends a body in chunks of a byte, for as long as the server takes them.
func byteByByte(a *served) func() {
	conn := a.begin(a.request("jo", "POST /chat/create-chat-session", "Transfer-Encoding: chunked"))
	var group sync.WaitGroup
	group.Go(func() {
		for i := range megabyte {
			if _, err := io.WriteString(conn, "1\r\n \r\n"); err != nil {
				break
			}
			if i == megabyte-1 {
				a.t.Error("a megabyte was taken")
			}
		}
	})
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
		a.t.Errorf("%v, %v", answer, err)
	}
	return func() {
		_ = conn.Close()
		group.Wait()
	}
}

func cutOff(a *served) func() {
	const body = `{"query":"roll back a release","stream":true}`
	connecting(a.request("jo", "POST /search", fmt.Sprint("Content-Length: ", len(body)))+body)(a, 40)()
	return func() {}
}

// TestAbuse: whatever callers do, others are served meanwhile, and when they are gone nothing is left of it.
func TestAbuse(t *testing.T) {
	a := serveAll(t)
	a.works()
	unread(a)() // what is opened when it is first needed is open from here on
	for name, begin := range abuses() {
		t.Run(name, func(t *testing.T) {
			a.t = t
			before := runtime.NumGoroutine()
			end := begin(a)
			began := time.Now()
			a.works()
			t.Logf("four answers to others took %s", time.Since(began).Round(100*time.Microsecond))
			end()
			settles(t, before)
		})
	}
	if strings.Contains(a.log.String(), "panic") {
		t.Error(a.log)
	}
}

// settles waits until no more goroutines run than before.
func settles(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			buffer := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, before %d\n%s", runtime.NumGoroutine(), before, buffer[:runtime.Stack(buffer, true)])
		}
	}
}

// TestConnectionsAreBounded: who waits longest makes way, who is answered does not.
func TestConnectionsAreBounded(t *testing.T) {
	c := newConnections(2)
	conns := [4]net.Conn{}
	for i := range conns {
		conns[i], _ = net.Pipe()
	}
	for i, step := range []struct {
		conn   int
		state  http.ConnState
		closed int // -1: none
	}{
		{0, http.StateNew, -1}, {0, http.StateActive, -1}, {1, http.StateNew, -1}, {2, http.StateNew, 1}, {1, http.StateClosed, -1},
		{2, http.StateActive, -1}, {3, http.StateNew, 3}, {3, http.StateClosed, -1}, {0, http.StateIdle, -1}, {3, http.StateNew, 0},
		{0, http.StateClosed, -1}, {2, http.StateClosed, -1}, {3, http.StateClosed, -1},
	} {
		closed := c.note(conns[step.conn], step.state)
		if (closed == nil) != (step.closed < 0) || closed != nil && closed != conns[step.closed] {
			t.Errorf("step %d closes %v", i, closed)
		}
	}
	if len(c.open) > 0 || c.waiting.Len() > 0 {
		t.Errorf("%d are counted, %d wait", len(c.open), c.waiting.Len())
	}
}
