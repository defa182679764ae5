package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestJoinBase(t *testing.T) {
	t.Parallel()
	tests := []struct{ address, prefix, want string }{
		{"https://onyx.acme.example", "/api", "https://onyx.acme.example/api"},
		{" https://onyx.acme.example/ ", "api/", "https://onyx.acme.example/api"},
		{"https://onyx.acme.example/api", "/api", "https://onyx.acme.example/api"},
		{"https://onyx.acme.example/api/", "/api", "https://onyx.acme.example/api"},
		{"https://onyx.acme.example/x/api", "/api", "https://onyx.acme.example/x/api"},
		{"https://onyx.acme.example/xapi", "/api", "https://onyx.acme.example/xapi/api"},
		{"http://localhost:8080", "", "http://localhost:8080"},
		{"http://[::1]:8080/", "", "http://[::1]:8080"},
		{"HTTPS://Onyx.Acme.example", "", "https://onyx.acme.example"},
	}
	for _, test := range tests {
		c, err := New(Options{BaseURL: test.address, APIPrefix: test.prefix})
		if err != nil || c.BaseURL() != test.want {
			t.Errorf("%q + %q: %v, %v", test.address, test.prefix, c, err)
		}
	}
	for _, address := range []string{
		"", "onyx.acme.example", "ftp://x", "https://", "https:///api", "https://jo:secret@x", "https://x/?a=secret",
		"https://x/#a", "http://[::1", "https://x\x00", "localhost:8080", "file:///etc", "//x",
	} {
		if _, err := New(Options{BaseURL: address}); err == nil || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%q: %v", address, err)
		}
	}
	for _, prefix := range []string{"/a?b", "/a#b", "/../x", "/a b", "/a%2f", "/\x1b[m"} {
		if _, err := New(Options{BaseURL: "https://x", APIPrefix: prefix}); err == nil {
			t.Errorf("prefix %q is taken", prefix)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	var got *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		http.SetCookie(w, &http.Cookie{Name: "fastapiusersauth", Value: "x", Path: "/"})
		answering(http.StatusOK, "application/json", []byte(`{"results":[]}`))(w, r)
	}))
	defer server.Close()
	c := clientFor(t, Options{BaseURL: server.URL + "/api/", APIPrefix: "/api", Token: fixedToken, UserAgent: "quarry/1.2"})
	for range 2 {
		if _, err := c.Search(t.Context(), searchFor("x")); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"Authorization": "Bearer " + testToken, "X-Onyx-Authorization": "Bearer " + testToken,
		"User-Agent": "quarry/1.2", "Content-Type": "application/json", "Accept": "application/json", "Cookie": "",
	}
	for name, value := range want {
		if got.Header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), value)
		}
	}
	if got.Method != http.MethodPost || got.URL.Path != "/api/search" {
		t.Errorf("%s %s", got.Method, got.URL)
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if len(r.Header.Values("Authorization"))+len(r.Header.Values("X-Onyx-Authorization")) > 0 {
			t.Error("a header without a token")
		}
		answering(http.StatusOK, "application/json", []byte("{}"))(w, r)
	}))
	defer server.Close()
	boom := errors.New("vault is sealed")
	tests := []struct {
		name   string
		token  func(context.Context) (string, error)
		reason string
	}{
		{"none", nil, ""},
		{"empty", func(context.Context) (string, error) { return "", nil }, ""},
		{"failing", func(context.Context) (string, error) { return "", boom }, "vault is sealed"},
		{"line break", func(context.Context) (string, error) { return "secretvalue\n", nil }, "line break"},
		{"not ASCII", func(context.Context) (string, error) { return "secretvalué", nil }, "invalid characters"},
		{"file", func(context.Context) (string, error) { return strings.Repeat("secret", 100), nil }, "longer than 512"},
	}
	for _, test := range tests {
		asked = 0
		c := clientFor(t, Options{BaseURL: server.URL, Token: test.token})
		_, err := c.Me(t.Context())
		if test.reason == "" {
			if err != nil || asked != 1 {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		e := asError(t, err)
		if e.Kind != Auth || asked != 0 || !strings.Contains(e.Reason, test.reason) || strings.Contains(e.Error(), "secretv") {
			t.Errorf("%s: %v, asked %d", test.name, e, asked)
		}
	}
	_, err := clientFor(t, Options{BaseURL: server.URL, Token: tests[2].token}).Me(t.Context())
	if !errors.Is(err, boom) {
		t.Error("the cause is lost")
	}
}

// A password manager that is too slow is no slow server.
func TestTokenTakesTooLong(t *testing.T) {
	t.Parallel()
	slow := func(context.Context) (string, error) { return "", context.DeadlineExceeded }
	_, err := clientFor(t, Options{BaseURL: "http://x.invalid", Token: slow}).Me(t.Context())
	if e := asError(t, err); e.Kind != Auth || !strings.Contains(e.Reason, "get the token") {
		t.Error(e)
	}
}

func TestCanceledForACause(t *testing.T) {
	t.Parallel()
	cause := &Error{Kind: Server, Reason: "another call failed", Path: "/other"}
	ctx, cancel := context.WithCancelCause(t.Context())
	c, _ := inProcessClient(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel(cause)
		<-r.Context().Done()
	})
	_, err := c.Me(ctx)
	if e := asError(t, err); e.Kind != Canceled || cause.Path != "/other" {
		t.Errorf("%v; the cause is now %v", e, cause)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host was asked")
	}))
	defer other.Close()
	var location string
	status := http.StatusTemporaryRedirect
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/new/") {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("X-Onyx-Authorization") == "" || r.Method == http.MethodPost && len(body) == 0 {
				t.Error("the request did not arrive whole")
			}
			answering(http.StatusOK, "application/json", []byte(`{"results":[]}`))(w, r)
			return
		}
		w.Header().Set("Location", location+r.URL.Path)
		w.WriteHeader(status)
	}))
	defer server.Close()
	c := clientFor(t, Options{BaseURL: server.URL, Token: fixedToken})
	search := func() error { _, err := c.Search(t.Context(), searchFor("x")); return err }

	location = "/new"
	if err := search(); err != nil {
		t.Errorf("within the server: %v", err)
	}
	refused := func(name, reason, remedy string, err error) {
		t.Helper()
		if e := asError(t, err); e.Kind != Unreachable || !strings.Contains(e.Reason, reason) ||
			!strings.Contains(e.Remedy(), remedy) {
			t.Errorf("%s: %v; %s", name, e, e.Remedy())
		}
	}
	status = http.StatusFound
	refused("POST into GET", "would drop the request", "set server_url to "+server.URL+"/new", search())
	if _, err := c.Me(t.Context()); err != nil {
		t.Errorf("GET within the server: %v", err)
	}
	status, location = http.StatusPermanentRedirect, other.URL+"/api"
	refused("another host", "redirects to "+other.URL+"/api/search", "set server_url to "+other.URL+"/api", search())
	location = strings.Replace(server.URL, "http:", "https:", 1)
	refused("another scheme", "only sent to its own server", "set server_url to "+location, search())
	location = other.URL + "/login?return=secret&to="
	refused("sign-in", "redirects to "+other.URL+"/login,", "check server_url", search())
	location = ""
	refused("a circle", "more than 5", "", search())
}

func TestCheckRedirect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		from, to string
		followed bool
	}{
		{"https://a/x", "https://a/y@z", true},
		{"https://a/x", "https://A:443/y", true},
		{"https://a./x", "https://a/y", true},
		{"http://a:80/x", "http://a/y", true},
		{"https://a/x", "http://a/x", false},
		{"http://a/x", "https://a/x", false},
		{"https://a/x", "https://a:8443/x", false},
		{"https://a/x", "https://b.a/x", false},
		{"https://a/x", "https://a.b/x", false},
	}
	for _, test := range tests {
		from, _ := http.NewRequest(http.MethodGet, test.from, nil)
		to, _ := http.NewRequest(http.MethodGet, test.to, nil)
		if err := checkRedirect(to, []*http.Request{from}); (err == nil) != test.followed {
			t.Errorf("%s to %s: %v", test.from, test.to, err)
		}
	}
}

func TestTransportErrors(t *testing.T) {
	t.Parallel()
	target := &url.URL{Scheme: "https", Host: "onyx.acme.example"}
	refusedAt := func() error {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := listener.Addr().String()
		listener.Close()
		_, err = net.Dial("tcp", address)
		return err
	}
	tests := []struct {
		name           string
		err            error
		kind           Kind
		reason, remedy string
	}{
		{"no such host", &net.DNSError{Name: "onyx.acme.example", Err: "no such host", IsNotFound: true}, Unreachable,
			"unknown host onyx.acme.example", "spelling"},
		{"look-up", &net.DNSError{Name: "x", Err: "server misbehaving", IsTemporary: true}, Unreachable, "misbehaving", "VPN"},
		{"refused", refusedAt(), Unreachable, "refused the connection", "host and port"},
		{"refused on Windows", &net.OpError{Op: "dial", Err: os.NewSyscallError("connectex", winConnRefused)}, Unreachable,
			"refused the connection", "host and port"},
		{"dial timeout", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, Unreachable, "within 10s", "VPN"},
		{"proxy", &net.OpError{Op: "proxyconnect", Err: errors.New("boom")}, Unreachable, "proxy", "HTTPS_PROXY"},
		{"hung up", io.EOF, Unreachable, "closed the connection", "try again"},
		{"unknown authority", x509.UnknownAuthorityError{}, Unreachable, "signed by an unknown authority", "QUARRY_CA_BUNDLE"},
		{"expired", x509.CertificateInvalidError{Reason: x509.Expired}, Unreachable, "expired", "clock"},
		{"other name", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}, Unreachable, "another host name",
			"server_url"},
		{"other certificate", &tls.CertificateVerificationError{Err: errors.New("odd")}, Unreachable, "odd",
			"QUARRY_CA_BUNDLE"},
		{"plain HTTP", tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, Unreachable,
			"does not speak HTTPS", "http://"},
		{"alert", tls.AlertError(40), Unreachable, "TLS handshake", "QUARRY_CA_BUNDLE"},
		{"other", errors.New("odd\x1b[31m thing"), Unreachable, "odd thing", "VPN"},
	}
	for _, test := range tests {
		wrapped := &url.Error{Op: "Get", URL: "https://x/search?secret", Err: test.err}
		e := asError(t, transportError(t.Context(), wrapped, target, "/search", time.Minute))
		if e.Kind != test.kind || !strings.Contains(e.Reason, test.reason) || !strings.Contains(e.Remedy(), test.remedy) ||
			strings.Contains(e.Error(), "secret") {
			t.Errorf("%s: %v; %s", test.name, e, e.Remedy())
		}
		if !errors.Is(e, test.err) {
			t.Errorf("%s: the cause is lost", test.name)
		}
	}
}

func TestHungUp(t *testing.T) {
	t.Parallel()
	c := serving(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	if e := asError(t, c.Root(t.Context())); e.Kind != Unreachable || !strings.Contains(e.Reason, "closed the connection") {
		t.Errorf("before the headers: %v", e)
	}
	c = serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte(`{"results":`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := c.Search(t.Context(), searchFor("x"))
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "an incomplete response") {
		t.Errorf("within the body: %v", e)
	}
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, headers := range []bool{false, true} {
			arrived := make(chan struct{})
			c := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client went away
				if headers {
					w.Header().Set("Content-Type", "application/json")
					_ = http.NewResponseController(w).Flush()
				}
				select {
				case arrived <- struct{}{}:
				case <-r.Context().Done():
				}
				<-r.Context().Done()
			})
			for call, do := range everyCall(c) {
				e := asError(t, do(WithTimeout(t.Context(), 40*time.Second)))
				if e.Kind != Timeout || !strings.Contains(e.Reason, "after 40s") || !errors.Is(e, context.DeadlineExceeded) {
					t.Errorf("%s: %v", call, e)
				}
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-arrived; cancel() }()
				if e := asError(t, do(ctx)); e.Kind != Canceled || !errors.Is(e, context.Canceled) {
					t.Errorf("%s canceled: %v", call, e)
				}
			}
		}
	})
}

func TestDefaultTimeLimits(t *testing.T) {
	t.Parallel()
	limits := map[string]time.Duration{}
	transport := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		if deadline, ok := r.Context().Deadline(); ok {
			limits[r.URL.Path] = time.Until(deadline).Round(10 * time.Second)
		} else {
			limits[r.URL.Path] = 0
		}
		return nil, io.EOF
	})
	c := clientFor(t, Options{BaseURL: "http://x", Transport: transport})
	for _, do := range everyCall(c) {
		_ = do(t.Context())
	}
	want := map[string]time.Duration{"/search": 5 * time.Minute, "/me": 30 * time.Second, "/persona": 30 * time.Second,
		"/document/document-size-info": 30 * time.Second, "/library/remove": 0}
	for path, limit := range want {
		if limits[path] != limit {
			t.Errorf("%s has %s, want %s", path, limits[path], limit)
		}
	}
	_, _ = c.Search(WithTimeout(t.Context(), 10*time.Minute), searchFor("x"))
	if limits["/search"] != 10*time.Minute {
		t.Errorf("a longer limit is %s", limits["/search"])
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(answering(http.StatusOK, "application/json", []byte("{}")))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	bundle := filepath.Join(dir, "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QUARRY_CA_BUNDLE", "")
	_, err := clientFor(t, Options{BaseURL: server.URL, Token: fixedToken}).Me(t.Context())
	if e := asError(t, err); e.Kind != Unreachable || !strings.Contains(e.Reason, "authority") {
		t.Errorf("without the bundle: %v", e)
	}
	t.Setenv("QUARRY_CA_BUNDLE", bundle)
	if _, err := clientFor(t, Options{BaseURL: server.URL}).Me(t.Context()); err != nil {
		t.Errorf("with the bundle: %v", err)
	}
	other := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	_, err = clientFor(t, Options{BaseURL: other}).Me(t.Context())
	if e := asError(t, err); !strings.Contains(e.Reason, "another host name") {
		t.Errorf("another name: %v", e)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, err = clientFor(t, Options{BaseURL: "https" + strings.TrimPrefix(plain.URL, "http")}).Me(t.Context())
	if e := asError(t, err); !strings.Contains(e.Reason, "does not speak HTTPS") {
		t.Errorf("plain HTTP: %v", e)
	}

	empty := filepath.Join(dir, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{empty, filepath.Join(dir, "missing.pem")} {
		t.Setenv("QUARRY_CA_BUNDLE", bad)
		if _, err := New(Options{BaseURL: server.URL}); err == nil || !strings.Contains(err.Error(), "QUARRY_CA_BUNDLE") {
			t.Errorf("bundle %s: %v", bad, err)
		}
	}
}

func TestEnvironmentRoots(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	environment := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	both := map[string]string{"SSL_CERT_FILE": filepath.Join(dir, "none"), "SSL_CERT_DIR": dir}
	for system, own := range map[string]bool{"linux": false, "darwin": true, "windows": true} {
		roots, err := environmentRoots(environment(both), system)
		if err != nil || (roots != nil) != own {
			t.Errorf("%s: %v, %v", system, roots, err)
		}
		if roots, err := environmentRoots(environment(nil), system); roots != nil || err != nil {
			t.Errorf("%s without settings: %v, %v", system, roots, err)
		}
	}
}
