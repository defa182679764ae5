package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// connectProxy is a proxy that opens connections to one server, whatever name it is asked for.
type connectProxy struct {
	server string           // host and port
	plain  http.Handler     // the same server without encryption
	refuse http.HandlerFunc // in place of a connection, if set

	mu     sync.Mutex
	asked  []string // methods and targets
	logins []string
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI)
	p.logins = append(p.logins, r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	switch {
	case p.refuse != nil:
		p.refuse(w, r)
	case r.Method == http.MethodConnect:
		p.connect(w)
	default:
		p.plain.ServeHTTP(w, r)
	}
}

func (p *connectProxy) connect(w http.ResponseWriter) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer server.Close()
	w.WriteHeader(http.StatusOK)
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	go func() {
		_, _ = io.Copy(server, buffered)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}

func (p *connectProxy) seen() (asked, logins []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.asked...), append([]string{}, p.logins...)
}

// throughProxy is a client whose every request goes to a proxy, and the proxy's host and port.
func throughProxy(t testing.TB, proxy http.Handler, login *url.Userinfo) (*Client, string) {
	t.Helper()
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	address.User = login
	transport, err := NewTransport()
	if err != nil {
		t.Fatal(err)
	}
	transport.Proxy = http.ProxyURL(address)
	t.Cleanup(transport.CloseIdleConnections)
	return clientFor(t, Options{BaseURL: "https://onyx.acme.example", Transport: transport, Token: fixedToken}), address.Host
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	const target = "onyx.acme.example:443"
	tests := []struct {
		name, contentType, body string
		status                  int
		kind                    Kind
		reason, code, remedy    string
	}{
		{"sandbox", "application/json", string(fixture(t, "onyx/error-403-proxy.json")), 403, Unreachable,
			"refused to connect to " + target + ": 403 Forbidden: The sandbox may not reach this destination.",
			"destination_blocked", "NO_PROXY"},
		{"text", "text/plain", "not on the \x1b[31mlist\x1b[0m\u202e\n", 403, Unreachable,
			"refused to connect to " + target + ": 403 Forbidden: not on the list", "", "proxy's administrator to allow"},
		{"web page", "text/html", "<html>ERR_ACCESS_DENIED</html>", 403, Unreachable, target + ": 403 Forbidden", "",
			"HTTPS_PROXY"},
		{"nothing", "", "", 403, Unreachable, target + ": 403 Forbidden", "", "NO_PROXY"},
		{"unauthorized", "", "", 401, Unreachable, target + ": 401 Unauthorized", "", "administrator"},
		{"login", "text/html", "<html>who are you</html>", 407, Unreachable,
			"requires a user name and password to connect to " + target + ": 407", "", "user name and password in HTTPS_PROXY"},
		{"busy", "text/plain", "slow down", 429, RateLimited, "429 Too Many Requests: slow down", "", "try again in 37s"},
		{"bad gateway", "text/plain", "no such host", 502, Unreachable,
			"could not connect to " + target + ": 502 Bad Gateway: no such host", "", "NO_PROXY"},
		{"gateway timeout", "", "", 504, Unreachable, "could not connect to " + target + ": 504", "", "check server_url"},
		{"sign-in page", "text/html", "<html>", 302, Unreachable, "refused to connect to " + target + ": 302 Found", "",
			"administrator"},
		{"odd success", "", "", 202, Unreachable, "refused to connect to " + target + ": 202 Accepted", "", "administrator"},
		{"code alone", "application/json", `{"error":"credential_error"}`, 403, Unreachable, "Forbidden: credential_error", "",
			"NO_PROXY"},
		{"long", "text/plain", strings.Repeat("very ", 100_000), 403, Unreachable, "very very", "", "NO_PROXY"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, host := throughProxy(t, &connectProxy{refuse: func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "37")
				answering(test.status, test.contentType, []byte(test.body))(w, r)
			}}, nil)
			for call, do := range everyCall(c) {
				e := asError(t, do(t.Context()))
				if e.Kind != test.kind || e.Status != 0 || e.Code != test.code || e.Path == "" ||
					!strings.Contains(e.Reason, "the proxy "+host+" ") || !strings.Contains(e.Reason, test.reason) ||
					!strings.Contains(e.Remedy(), test.remedy) || len([]rune(e.Reason)) > maxReasonRunes || hasControl(e.Reason) {
					t.Errorf("%s: kind %s, status %d, code %q, %v; %s", call, e.Kind, e.Status, e.Code, e, e.Remedy())
				}
			}
		})
	}
}

func TestProxyRepeatsThePassword(t *testing.T) {
	t.Parallel()
	proxy := &connectProxy{}
	proxy.refuse = func(w http.ResponseWriter, r *http.Request) {
		said := "your s3cret is wrong, and so is " + r.Header.Get("Proxy-Authorization")
		answering(http.StatusProxyAuthRequired, "text/plain", []byte(said))(w, r)
	}
	c, _ := throughProxy(t, proxy, url.UserPassword("jo", "s3cret"))
	_, err := c.Me(t.Context())
	e := asError(t, err)
	if text := e.Error() + e.Remedy(); !strings.Contains(text, "[password] is wrong, and so is Basic [password]") {
		t.Error(text)
	}
	if _, logins := proxy.seen(); len(logins) != 1 || !strings.HasPrefix(logins[0], "Basic ") {
		t.Errorf("logins %q", logins)
	}
}

// Over plain HTTP the proxy's refusal comes where the server's answer would.
func TestProxyWantsLoginForPlainHTTP(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusProxyAuthRequired, "text/html", []byte("<html>who are you</html>")))
	_, err := c.Me(t.Context())
	if e := asError(t, err); e.Kind != Unreachable || !strings.Contains(e.Remedy(), "password in HTTPS_PROXY") {
		t.Errorf("%v; %s", e, e.Remedy())
	}
}

func TestProxyHangsUp(t *testing.T) {
	t.Parallel()
	c, _ := throughProxy(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil)
	_, err := c.Me(t.Context())
	if e := asError(t, err); e.Kind != Unreachable || !strings.Contains(e.Remedy(), "proxies") {
		t.Errorf("%v; %s", e, e.Remedy())
	}
}

// A refusal whose body never ends is told with the part that came; so is one that the caller does not wait for.
func TestReadForATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		defer reader.Close()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = writer.Write([]byte("blocked, be"))
		}()
		if got := readFor(t.Context(), reader, time.Minute); string(got) != "blocked, be" {
			t.Errorf("in time came %q", got)
		}
		<-sent
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		if got := readFor(canceled, reader, time.Hour); len(got) != 0 {
			t.Errorf("after the end came %q", got)
		}
		whole := bytes.Repeat([]byte("x"), 10_000)
		if got := readFor(t.Context(), bytes.NewReader(whole), time.Hour); !bytes.Equal(got, whole) {
			t.Errorf("of %d bytes came %d", len(whole), len(got))
		}
	})
}

// Steps with limits of their own must not be told as the end of the call's time.
func TestStepsThatTakeTooLong(t *testing.T) {
	t.Parallel()
	_, slowDial := (&net.Dialer{Timeout: time.Nanosecond}).Dial("tcp", "127.0.0.1:9")
	if !errors.Is(slowDial, context.DeadlineExceeded) {
		t.Fatalf("a dial that takes too long is now %v", slowDial)
	}
	target := &url.URL{Scheme: "https", Host: "onyx.acme.example"}
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	tests := []struct {
		name   string
		ctx    context.Context
		err    error
		kind   Kind
		reason string
	}{
		{"a dial", t.Context(), slowDial, Unreachable, "did not accept the connection within 10s"},
		{"a dial at the end of the call", past, slowDial, Timeout, "no complete response after 5m0s"},
		{"a proxy", t.Context(), context.DeadlineExceeded, Unreachable, "the proxy did not respond in time"},
	}
	for _, test := range tests {
		wrapped := fmt.Errorf("search: %w", test.err)
		e := asError(t, transportError(test.ctx, wrapped, target, "/search", 5*time.Minute))
		if e.Kind != test.kind || !strings.Contains(e.Reason, test.reason) {
			t.Errorf("%s: kind %s, %v", test.name, e.Kind, e)
		}
	}
}
