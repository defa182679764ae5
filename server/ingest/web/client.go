// Package web reads pages, sitemaps and feeds from the web: politely, within bounds, and from the named hosts only.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/temoto/robotstxt"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/pattern"
)

const (
	pause         = time.Second          // between two requests to a host
	longestPause  = time.Minute          // that a host may ask for
	longestWait   = 300 * 24 * time.Hour // of those that a server asks for
	patience      = time.Minute          // for one answer
	mostBytes     = 32 << 20             // of an answer
	mostRobots    = 500 << 10            // bytes of robots.txt, as RFC 9309 has it
	mostRules     = 5_000                // lines of it
	longestRule   = 1_000                // bytes
	mostRedirects = 5
	mostFailures  = 5 // in a row, after which a host is left alone
	agent         = "quarry"
)

// Options are how requests are sent.
type Options struct {
	// Transport returns what sends them; nil: http.DefaultTransport. It is called before the first request.
	Transport func() (http.RoundTripper, error)
	// Version is that of the program, for the User-Agent.
	Version string
	// Wait waits between requests; nil: for real.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client fetches addresses: one at a time from a host, at least a second apart, as robots.txt allows. It is safe for
// concurrent use.
type Client struct {
	http    http.Client
	options Options
	now     func() time.Time

	mutex sync.Mutex
	hosts map[string]*host
}

// host is what is known of a host during a run.
type host struct {
	turn     chan struct{} // has one token: requests wait for it
	next     time.Time     // before which no request is sent
	robots   *robotstxt.Group
	unknown  error // why robots.txt could not be read
	ready    bool  // robots.txt was asked for
	failures int   // in a row
	over     error // why nothing more is asked of it in this run; nil: it is
	pause    time.Duration
}

// NewClient returns a client for one run.
func NewClient(options Options) (*Client, error) {
	c := &Client{options: options, hosts: map[string]*host{}, now: time.Now}
	if options.Wait == nil {
		c.options.Wait = guard.Sleep
	}
	c.http = http.Client{CheckRedirect: c.checkRedirect}
	if options.Transport != nil {
		transport, err := options.Transport()
		if err != nil {
			return nil, err
		}
		c.http.Transport = transport
	}
	return c, nil
}

// Validators are what a server sent with an answer, to ask whether it changed.
type Validators struct {
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// Page is an answer.
type Page struct {
	URL  *url.URL // after redirects
	Same bool     // it did not change; the other fields are empty
	Data []byte
	Type string // media type
	// NoIndex is set where the server or the page asks that it is not stored; lists say so, too, and are read.
	NoIndex bool
	Validators
}

// RefusedError says why an address is not read and will not be: it is gone, or robots.txt does not allow it. Other
// errors may pass.
type RefusedError struct{ reason string }

func (e *RefusedError) Error() string { return e.reason }

// isRefused reports whether a server answered, but not with what was asked for.
func isRefused(err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	_, redirect := errors.AsType[*redirectError](err)
	return refused || redirect
}

// Get fetches an address; with validators, only if it changed.
func (c *Client) Get(ctx context.Context, address string, known Validators) (*Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errAddress
	}
	h := c.host(u)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-h.turn:
	}
	defer func() { h.turn <- struct{}{} }()
	if h.over != nil {
		return nil, h.over
	}
	if err := c.readRobots(ctx, h, u); err != nil {
		return nil, err
	}
	if !h.allows(u) {
		return nil, errDisallowed
	}
	page, err := c.fetch(ctx, h, u, known)
	switch {
	case err == nil, isRefused(err):
		h.failures = 0
	case ctx.Err() == nil:
		if h.failures++; h.failures >= mostFailures && h.over == nil {
			h.over = fmt.Errorf("the server failed %d times in a row: %w", mostFailures, err)
		}
	}
	return page, err
}

var errDisallowed = &RefusedError{"robots.txt does not allow it"}

func (c *Client) host(u *url.URL) *host {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	key := u.Scheme + "://" + u.Host
	h := c.hosts[key]
	if h == nil {
		h = &host{turn: make(chan struct{}, 1), pause: pause}
		h.turn <- struct{}{}
		c.hosts[key] = h
	}
	return h
}

func (h *host) allows(u *url.URL) bool { return h.robots == nil || h.robots.Test(u.RequestURI()) }

// readRobots reads a host's robots.txt once. Without one everything is allowed; if the server fails, nothing is, for
// now.
func (c *Client) readRobots(ctx context.Context, h *host, u *url.URL) error {
	if h.ready {
		return h.unknown
	}
	page, err := c.fetch(ctx, h, &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}, Validators{})
	status, _ := errors.AsType[statusError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isRefused(err), status.isClient():
	case err != nil:
		h.unknown = fmt.Errorf("robots.txt cannot be read: %w", err)
	default:
		if h.robots, h.unknown = parseRobots(page.Data); h.unknown == nil {
			h.pause = min(max(pause, h.robots.CrawlDelay), longestPause)
			h.next = h.next.Add(h.pause - pause)
		}
	}
	h.ready = true
	return h.unknown
}

// parseRobots returns the rules for quarry. The library rejects a file for one bad line, which RFC 9309 ignores.
func parseRobots(data []byte) (*robotstxt.Group, error) {
	var kept []string
	named := false
	for line := range strings.Lines(string(data[:min(len(data), mostRobots)])) {
		line, _, _ = strings.Cut(line, "#")
		key, value, found := strings.Cut(strings.ToValidUTF8(line, ""), ":")
		key, value = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(key, "\uFEFF"))), strings.TrimSpace(value)
		switch {
		case !found || len(value) > longestRule || len(kept) >= mostRules ||
			strings.ContainsFunc(value, unicode.IsSpace):
			continue
		case key == "user-agent" && value != "":
			named = true
		case !named || key != "allow" && key != "disallow" && key != "crawl-delay":
			continue
		case key == "crawl-delay":
			if seconds, err := strconv.ParseFloat(value, 64); err != nil ||
				!(seconds >= 0 && seconds <= longestPause.Seconds()) {
				continue
			}
		}
		kept = append(kept, key+": "+value)
	}
	robots, err := robotstxt.FromString(strings.Join(kept, "\n") + "\n")
	if err != nil {
		return nil, fmt.Errorf("robots.txt cannot be read: %w", err)
	}
	return robots.FindGroup(agent), nil
}

// fetch sends a request when the host's turn has come.
func (c *Client) fetch(ctx context.Context, h *host, u *url.URL, known Validators) (*Page, error) {
	if d := h.next.Sub(c.now()); d > 0 {
		if err := c.options.Wait(ctx, d); err != nil {
			return nil, err
		}
	}
	later := time.Duration(0)
	defer func() { h.next = c.now().Add(max(h.pause, min(later, longestPause))) }()
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(limited, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, errAddress
	}
	request.Header.Set("User-Agent", agent+"/"+cmp.Or(c.options.Version, "dev"))
	request.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	if known.ETag != "" {
		request.Header.Set("If-None-Match", known.ETag)
	}
	if known.Modified != "" {
		request.Header.Set("If-Modified-Since", known.Modified)
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, reasonOf(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode == http.StatusServiceUnavailable {
		later = wire.RetryAfter(answer.Header, c.now(), longestWait)
		if later > longestPause { // in another run
			until := c.now().Add(later).UTC().Format("2006-01-02 15:04")
			h.over = fmt.Errorf("the site asks to wait until %s UTC: %w", until, statusError(answer.StatusCode))
			return nil, h.over
		}
	}
	return c.read(ctx, answer, u, known)
}

func (c *Client) read(ctx context.Context, answer *http.Response, u *url.URL, known Validators) (*Page, error) {
	page := &Page{URL: u, Type: answer.Header.Get("Content-Type"), Validators: Validators{
		ETag: shortHeader(answer, "ETag"), Modified: shortHeader(answer, "Last-Modified")}}
	if answer.Request != nil {
		page.URL = answer.Request.URL
	}
	switch status := answer.StatusCode; {
	case status == http.StatusNotModified && known != (Validators{}):
		return &Page{URL: u, Same: true}, nil
	case status == http.StatusNotFound || status == http.StatusGone:
		return nil, &RefusedError{fmt.Sprintf("the server says that it does not exist (%d)", status)}
	case status != http.StatusOK:
		return nil, statusError(status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostBytes+1))
	switch {
	case len(data) > mostBytes:
		return nil, &RefusedError{fmt.Sprintf("it is larger than %d MB", mostBytes>>20)}
	case err != nil:
		return nil, reasonOf(ctx, err)
	}
	page.Data = data
	page.NoIndex = forbidsIndex(strings.Join(answer.Header.Values("X-Robots-Tag"), ",")) ||
		slices.ContainsFunc(robotsTag().FindAll(data[:min(len(data), mostHead)], -1),
			func(tag []byte) bool { return forbidsIndex(string(tag)) })
	return page, nil
}

// ErrNoIndex is the reason for not storing a page that asks for that.
var ErrNoIndex = &RefusedError{"it asks not to be indexed (noindex)"}

// mostHead bounds the part of a page in which robotsTag looks, in bytes.
const mostHead = 256 << 10

// robotsTag matches <meta name="robots" content="…">, for every agent or for this one.
var robotsTag = pattern.Lazy(`(?i)<meta\s[^>]{0,300}name\s*=\s*["']?(?:robots|` + agent + `)\b[^>]{0,300}>`)

// forbidsIndex reports whether directives for robots include noindex or none; those for other agents do not count.
func forbidsIndex(directives string) bool {
	for directive := range strings.FieldsFuncSeq(strings.ToLower(directives), func(r rune) bool {
		return r == ',' || r == '"' || r == '\'' || r == '=' || r == '>'
	}) {
		for part := range strings.FieldsSeq(strings.TrimPrefix(strings.TrimSpace(directive), agent+":")) {
			if part == "noindex" || part == "none" {
				return true
			}
			if strings.HasSuffix(part, ":") { // the name of another agent
				break
			}
		}
	}
	return false
}

func shortHeader(answer *http.Response, name string) string {
	const longest = 500
	if value := answer.Header.Get(name); len(value) <= longest {
		return value
	}
	return ""
}

// statusError is an unexpected status.
type statusError int

func (s statusError) Error() string {
	return "the server answers " + strings.TrimSpace(strconv.Itoa(int(s))+" "+http.StatusText(int(s)))
}

func (s statusError) isClient() bool { return s >= 400 && s < 500 && s != http.StatusTooManyRequests }

// redirectError is a redirect that is not followed.
type redirectError struct{ reason string }

func (e *redirectError) Error() string { return e.reason }

// checkRedirect follows redirects on the same host that robots.txt allows, and never from https to http.
func (c *Client) checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	shown := (&url.URL{Scheme: next.URL.Scheme, Host: next.URL.Host, Path: next.URL.Path}).String()
	switch {
	case len(via) > mostRedirects:
		return &redirectError{fmt.Sprintf("more than %d redirects", mostRedirects)}
	case next.URL.User != nil:
		return &redirectError{errCredentials.Error()}
	case first.Scheme == "https" && next.URL.Scheme != "https":
		return &redirectError{"it redirects to " + shown + ", which is not encrypted"}
	case !SameOrigin(first, next.URL):
		return &redirectError{"it redirects to another server; add that: " + shown}
	case !c.host(first).allows(next.URL):
		return errDisallowed
	}
	return nil
}

// reasonOf returns the error of a request without the address.
func reasonOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", patience)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	return err
}
