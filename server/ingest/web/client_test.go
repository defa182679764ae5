package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// waits records how long a client waits, and lets its clock jump there.
type waits struct {
	clock time.Time
	slept []time.Duration
}

// site is a server with robots.txt and pages, and a client that waits on a clock of its own.
func site(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *Client, *waits) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w := &waits{clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	c, err := NewClient(Options{Version: "1.2.3", Wait: func(ctx context.Context, d time.Duration) error {
		w.slept = append(w.slept, d)
		w.clock = w.clock.Add(d)
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	c.now = func() time.Time { return w.clock }
	return server, c, w
}

func TestRequestsAreAsRobotsAllow(t *testing.T) {
	for _, c := range []struct {
		name, robots string
		status       int
		allowed      bool
		wait         time.Duration
		why          string
	}{
		{name: "none", status: 404, allowed: true, wait: time.Second},
		{name: "forbidden to read", status: 403, allowed: true, wait: time.Second},
		{name: "everything", robots: "User-agent: *\nDisallow:\n", status: 200, allowed: true, wait: time.Second},
		{name: "nothing", robots: "User-agent: *\nDisallow: /\n", status: 200, why: "robots.txt does not allow it"},
		{name: "other agents", robots: "User-agent: other\nDisallow: /\n", status: 200, allowed: true, wait: time.Second},
		{name: "quarry", robots: "User-agent: *\nDisallow:\n\nUser-agent: quarry\nDisallow: /page", status: 200, why: "robots.txt does not allow it"},
		{name: "quarry may", robots: "User-agent: *\nDisallow: /\n\nUser-agent: Quarry\nDisallow: /other", status: 200, allowed: true, wait: time.Second},
		{name: "a pattern", robots: "User-agent: *\nDisallow: /*.html$\n", status: 200, why: "robots.txt does not allow it"},
		{name: "an exception", robots: "User-agent: *\nDisallow: /\nAllow: /page\n", status: 200, allowed: true, wait: time.Second},
		{name: "a delay", robots: "User-agent: *\nCrawl-delay: 7\n", status: 200, allowed: true, wait: 7 * time.Second},
		{name: "a short delay", robots: "User-agent: *\nCrawl-delay: 0.1\n", status: 200, allowed: true, wait: time.Second},
		{name: "an absurd delay", robots: "User-agent: *\nCrawl-delay: 1e9\nDisallow: /page", status: 200, why: "robots.txt does not allow it"},
		{name: "bad lines", robots: "Disallow: /x\n<html>\nUser-agent: *\nCrawl-delay: soon\nDisallow: /page", status: 200, why: "robots.txt does not allow it"},
		{name: "a failing server", status: 500, why: "robots.txt cannot be read: the server answers 500 Internal Server Error"},
		{name: "too many requests", status: 429, why: "robots.txt cannot be read: the server answers 429 Too Many Requests"},
	} {
		var asked []string
		server, client, waited := site(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if agent := r.Header.Get("User-Agent"); agent != "quarry/1.2.3" {
				t.Errorf("user agent %q", agent)
			}
			if r.URL.Path == "/robots.txt" {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.robots)
			}
		})
		_, err := client.Get(t.Context(), server.URL+"/page.html", Validators{})
		if (err == nil) != c.allowed || err != nil && err.Error() != c.why {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.allowed && (len(asked) != 2 || len(waited.slept) != 1 || waited.slept[0] != c.wait) {
			t.Errorf("%s: asked for %q, waited %v", c.name, asked, waited.slept)
		}
		if !c.allowed && len(asked) != 1 {
			t.Errorf("%s: asked for %q", c.name, asked)
		}
	}
}

func TestAnswers(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
			if r.Header.Get("If-None-Match") == `"1"` && r.Header.Get("If-Modified-Since") == "Thu, 01 Jan 2026 00:00:00 GMT" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			_, _ = io.WriteString(w, "text")
		case "/moved":
			http.Redirect(w, r, "/page", http.StatusMovedPermanently)
		case "/elsewhere":
			http.Redirect(w, r, "http://other.example/page?token=secret", http.StatusFound)
		case "/closed":
			http.Redirect(w, r, "/private/x", http.StatusFound)
		case "/user":
			http.Redirect(w, r, "http://jo:secret@"+r.Host+"/page", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "x")
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb(2 * mostBytes))
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private/")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}
	server, client, _ := site(t, handler)
	page, err := client.Get(t.Context(), server.URL+"/moved", Validators{})
	if err != nil || string(page.Data) != "text" || page.URL.String() != server.URL+"/page" || page.ETag != `"1"` {
		t.Fatalf("%+v, %v", page, err)
	}
	if page, err = client.Get(t.Context(), server.URL+"/page", page.Validators); err != nil || !page.Same {
		t.Errorf("again: %+v, %v", page, err)
	}
	for _, c := range []struct {
		path, why string
		refused   bool
	}{
		{"/absent", "does not exist (404)", true}, {"/gone", "does not exist (410)", true}, {"/closed", "robots.txt does not allow it", true},
		{"/endless", "larger than 32 MB", true}, {"/bomb", "larger than 32 MB", true},
		{"/elsewhere", "another server; add that: http://other.example/page", false}, {"/user", "user name or password", false},
		{"/loop", "more than 5 redirects", false}, {"/busy", "503 Service Unavailable", false}, {"/same", "304", false}, {"/cut", "unexpected EOF", false},
	} {
		_, err := client.Get(t.Context(), server.URL+c.path, Validators{})
		var refused *RefusedError
		if err == nil || !strings.Contains(err.Error(), c.why) || errors.As(err, &refused) != c.refused || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

// bomb returns a gzip file of size zero bytes.
func bomb(size int) []byte {
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		_, _ = packed.Write(zeros)
	}
	_ = packed.Close()
	return out.Bytes()
}

func TestRedirectsStayEncryptedAndOnTheirHost(t *testing.T) {
	c := &Client{hosts: map[string]*host{}}
	for _, step := range []struct {
		from, to string
		followed bool
	}{
		{"https://a.example/x", "https://a.example/y", true}, {"http://a.example/x", "https://a.example/x", true},
		{"https://a.example/x", "http://a.example/x", false}, {"https://a.example/x", "https://www.a.example/x", false},
		{"https://a.example/x", "https://a.example:8443/x", false}, {"http://a.example/x", "https://a.example:8443/x", false},
		{"http://a.example:8080/x", "https://a.example/x", false}, {"https://a.example/x", "https://A.example:443/x", true},
	} {
		from, _ := url.Parse(step.from)
		to, _ := url.Parse(step.to)
		err := c.checkRedirect(&http.Request{URL: to}, []*http.Request{{URL: from}})
		if (err == nil) != step.followed {
			t.Errorf("%s to %s: %v", step.from, step.to, err)
		}
	}
}

func TestAFailingHostIsLeftAlone(t *testing.T) {
	asked := 0
	server, client, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			asked++
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	var err error
	for n := range 3 * mostFailures {
		_, err = client.Get(t.Context(), fmt.Sprint(server.URL, "/", n), Validators{})
	}
	if asked != mostFailures || err == nil || err.Error() != "the server failed 5 times in a row: the server answers 502 Bad Gateway" {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

func TestRequestsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server, client, _ := site(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" {
			cancel()
			<-r.Context().Done()
		}
	})
	if _, err := client.Get(ctx, server.URL+"/page", Validators{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNormalise(t *testing.T) {
	for address, want := range map[string]string{
		"HTTPS://Acme.Example:443": "https://acme.example/", "http://a.example:80/x#y": "http://a.example/x", "http://a.example:8080/A?b=C": "http://a.example:8080/A?b=C",
		" https://a.example/wow! ": "https://a.example/wow%21", "https://jo:pw@a.example/": "", "ftp://a.example/": "", "file:///etc/passwd": "", "https://": "",
		"https:a.example": "", "a.example": "", "https://a.example/%zz": "", "https://a.example/" + strings.Repeat("x", longestURL): "",
	} {
		got, err := Normalise(address)
		if got != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "pw") {
			t.Errorf("%q is %q, %v", address, got, err)
		}
		if again, err := Normalise(got); want != "" && (again != got || err != nil) {
			t.Errorf("%q changes to %q, %v", got, again, err)
		}
	}
}

func FuzzRobots(f *testing.F) {
	f.Add([]byte("User-agent: *\nDisallow: /x*y$\nCrawl-delay: 3\nAllow: /\n"), "/page")
	f.Add([]byte("\xef\xbb\xbfuser-agent:quarry#\r\ndisallow:/%zz\r\n"), "/%zz")
	f.Add([]byte("Disallow: /\nSitemap: http://x\nUser-agent\n"), "")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		group, err := parseRobots(data)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		group.Test(path)
	})
}

func TestNoIndexAndRetryAfter(t *testing.T) {
	asked := 0
	tags := map[string]string{"/header": "noindex, nofollow", "/mine": "quarry: none", "/other": "googlebot: noindex"}
	server, client, waited := site(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", tags[r.URL.Path])
		switch r.URL.Path {
		case "/robots.txt":
			w.WriteHeader(http.StatusNotFound)
		case "/meta":
			fmt.Fprint(w, `<html><head><META content='none' NAME="robots"></head>`)
		case "/follow":
			fmt.Fprint(w, `<meta name="robots" content="index, nofollow"><p>noindex`)
		case "/soon":
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/late":
			asked++
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	for path, want := range map[string]bool{"/header": true, "/mine": true, "/other": false, "/meta": true, "/follow": false} {
		if page, err := client.Get(t.Context(), server.URL+path, Validators{}); err != nil || page.NoIndex != want {
			t.Errorf("%s: %+v, %v", path, page, err)
		}
	}
	_, _ = client.Get(t.Context(), server.URL+"/soon", Validators{})
	waited.slept = nil
	for range 3 {
		_, err := client.Get(t.Context(), server.URL+"/late", Validators{})
		until := waited.clock.Add(time.Hour).UTC().Format("2006-01-02 15:04")
		if want := "the site asks to wait until " + until + " UTC: the server answers 503 Service Unavailable"; err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if len(waited.slept) != 1 || waited.slept[0] < 29*time.Second || asked != 1 {
		t.Errorf("waited %v, asked %d times", waited.slept, asked)
	}
}
