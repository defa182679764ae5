// Package client calls Onyx's search API and the extended API of a quarry server. Calls are methods of Client; every
// failure is an *Error with a Kind for programs and a Remedy for users. Responses are limited in size and sanitised when
// they are decoded.
package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"quarry/client/wire"
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
	if options.UserAgent == "" {
		options.UserAgent = "quarry"
	}
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

// Session is a client of an opened server or library.
type Session struct {
	Client *Client
	// Close closes the library's files. The client must not be used afterwards.
	Close func() error
}
