// Package client calls Onyx's search API and the extended API of a quarry server. Calls are methods of Client; every
// failure is an *Error with a Kind for programs and a Remedy for users. Responses are limited in size and sanitised
// when they are decoded.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
)

// InProcessURL is the BaseURL of a client whose transport is InProcess.
const InProcessURL = "http://library.invalid"

const (
	searchTimeout = 5 * time.Minute
	callTimeout   = 30 * time.Second
	maxRedirects  = 5
)

// Options configure a client.
type Options struct {
	// BaseURL is the server's address, such as "https://onyx.acme.com", with or without the API prefix.
	BaseURL string
	// APIPrefix is put before every route unless BaseURL already ends with it; "/api" for most deployments.
	APIPrefix string
	// Token returns the access token. It is called for each request; nil or an empty token sends none.
	Token func(ctx context.Context) (string, error)
	// Transport carries the requests; nil means HTTPS with the proxy and certificate settings of the environment.
	Transport http.RoundTripper
	// Profile is the label of this client's results in Searched and Origin.
	Profile string
	// UserAgent is sent with every request; empty means "quarry".
	UserAgent string
	// Local is set for a library of this machine, whose results may link to files.
	Local bool
}

// Client calls one server as one identity. It is safe for concurrent use.
type Client struct {
	options Options
	base    *url.URL // with prefix, without trailing slash
	http    *http.Client

	features cached[Features]
	agents   cached[[]wire.Persona]
}

// New checks the options and returns a client. It sends nothing.
func New(options Options) (*Client, error) {
	base, err := joinBase(options.BaseURL, options.APIPrefix)
	if err != nil {
		return nil, err
	}
	transport := options.Transport
	if transport == nil {
		if transport, err = NewTransport(); err != nil {
			return nil, err
		}
	}
	options.UserAgent = cmp.Or(options.UserAgent, "quarry")
	return &Client{
		options: options,
		base:    base,
		http:    &http.Client{Transport: transport, CheckRedirect: checkRedirect},
	}, nil
}

// Profile returns the label given in Options.
func (c *Client) Profile() string { return c.options.Profile }

// BaseURL returns the server's address with the API prefix and without a trailing slash.
func (c *Client) BaseURL() string { return c.base.String() }

// Local reports whether the client is for a library of this machine.
func (c *Client) Local() bool { return c.options.Local }

type timeoutKey struct{}

// WithTimeout returns a context that sets the time limit of each call. The defaults are five minutes for searches and
// answers, none for changes to a library, and 30 seconds for the rest. A limit of zero or less means the default. An
// earlier deadline of the context applies too.
func WithTimeout(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, timeoutKey{}, limit)
}

func timeoutOf(ctx context.Context, byDefault time.Duration) time.Duration {
	if limit, ok := ctx.Value(timeoutKey{}).(time.Duration); ok && limit > 0 {
		return limit
	}
	return byDefault
}

type traceKey struct{}

// Trace describes a request when its response began, or why none did. It has no token.
type Trace struct {
	Method, URL string
	Status      int // 0 without a response
	Took        time.Duration
	Err         error
}

// WithTrace returns a context in which report is called for each request, from any goroutine.
func WithTrace(ctx context.Context, report func(Trace)) context.Context {
	return context.WithValue(ctx, traceKey{}, report)
}

// Session is a client of an opened server or library.
type Session struct {
	Client *Client
	// Close closes the library's files. The client must not be used afterwards.
	Close func() error
}

// joinBase checks a server's address and joins the API prefix to it.
func joinBase(address, prefix string) (*url.URL, error) {
	address, err := wire.ServerURL(address)
	if err != nil {
		return nil, fmt.Errorf("the server URL %w", err)
	}
	if prefix, err = wire.APIPrefix(prefix); err != nil {
		return nil, fmt.Errorf("api_prefix %w", err)
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the server URL is not valid") // the parser's own message quotes the address
	}
	if prefix != "" && !strings.HasSuffix(base.Path, prefix) {
		base.Path += prefix
	}
	base.RawPath = ""
	return base, nil
}

// clip makes foreign text a short line for a message.
func clip(s string) string { return sanitizeLine(text.Shorten(s, 100)) }

// Me returns the token's user. A server that allows anonymous access returns an anonymous user for an invalid token:
// check IsAnonymousUser.
func (c *Client) Me(ctx context.Context) (*wire.Me, error) {
	return fetched[wire.Me](ctx, c, get("/me", nil))
}

// Version returns the server's versions.
func (c *Client) Version(ctx context.Context) (*wire.Version, error) {
	return fetched[wire.Version](ctx, c, get("/version", nil))
}

// Health calls the server's health check.
func (c *Client) Health(ctx context.Context) (*wire.Status, error) {
	return fetched[wire.Status](ctx, c, get("/health", nil))
}

// AuthType returns how users sign in.
func (c *Client) AuthType(ctx context.Context) (*wire.AuthType, error) {
	return fetched[wire.AuthType](ctx, c, get("/auth/type", nil))
}

// Root checks that something responds at the server's address. Onyx responds with 404 there; only no response at all
// and 403 are errors.
func (c *Client) Root(ctx context.Context) error {
	a, err := c.send(ctx, get("/", nil))
	if err != nil {
		return err
	}
	defer a.Close()
	if a.StatusCode != http.StatusForbidden {
		return nil
	}
	return a.failure()
}

// fetched returns the decoded response of a call.
func fetched[T any](ctx context.Context, c *Client, r call) (*T, error) {
	value := new(T)
	if err := c.fetch(ctx, r, value); err != nil {
		return nil, err
	}
	return value, nil
}

// listed returns the list that a call responds with; it is never nil without an error.
func listed[T any](ctx context.Context, c *Client, r call) ([]T, error) {
	list := []T{}
	if err := c.fetch(ctx, r, &list); err != nil {
		return nil, err
	}
	return list, nil
}

func badRequest(method, path, reason string) *Error {
	return &Error{Kind: BadRequest, Method: method, Path: path, Reason: reason, cause: errors.New(reason)}
}

// Features are a server's extensions of Onyx's API. The zero value is a bare Onyx.
type Features struct{ wire.QuarryVersion }

// Has reports whether the server has an extension, such as wire.FeatureStream.
func (f Features) Has(name string) bool { return slices.Contains(f.Features, name) }

// Features fetches the server's extensions on the first call and caches them.
func (c *Client) Features(ctx context.Context) (Features, error) {
	return c.features.get(ctx, forever, func(ctx context.Context) (found Features, err error) {
		version, err := c.Version(ctx)
		if err == nil && version.Quarry != nil {
			found.QuarryVersion = *version.Quarry
		}
		return found, err
	})
}

// extensions returns the server's features for a request that may be sent without them: a server that does not say its
// version has none.
func (c *Client) extensions(ctx context.Context) (Features, error) {
	features, err := c.Features(ctx)
	if KindOf(err) == NotAvailable {
		err = nil
	}
	return features, err
}
