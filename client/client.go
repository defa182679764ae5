// Package client speaks the search API: Onyx's, and that of a quarry server, which answers the same with more. Calls
// are methods of Client; every failure is an *Error with a Kind that programs can act on and a Remedy for people.
// Whatever a server sends is bounded in size and sanitised once, while it is decoded.
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

// Options say where a client goes and as whom.
type Options struct {
	// BaseURL is the server's address, such as "https://onyx.acme.com", with or without the API prefix.
	BaseURL string
	// APIPrefix is put before every route unless BaseURL already ends with it; "/api" for most deployments.
	APIPrefix string
	// Token gives the access token. It is asked for each request, just before it is sent; nil or an empty token sends
	// none.
	Token func(ctx context.Context) (string, error)
	// Transport carries the requests; nil means HTTPS with the proxy and certificate settings of the environment.
	Transport http.RoundTripper
	// Profile labels the results of this client in Searched and Origin.
	Profile string
	// UserAgent is sent with every request; empty means "quarry".
	UserAgent string
	// Local marks a library of this machine, whose results may link to files.
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

// New checks the options and makes a client. It sends nothing.
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

// Profile is the label given in Options.
func (c *Client) Profile() string { return c.options.Profile }

// BaseURL is the address that routes are joined to, with the API prefix and without a trailing slash.
func (c *Client) BaseURL() string { return c.base.String() }

// Local tells whether the client is for a library of this machine.
func (c *Client) Local() bool { return c.options.Local }

type timeoutKey struct{}

// WithTimeout sets the time limit of each call made with the returned context, in place of the call's default: five
// minutes for searches and answers, none for changes to a library, 30 seconds for the rest. An earlier deadline of the context
// still holds. A limit of zero or less keeps the default.
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
	// Close releases the library's files. The client must not be used afterwards.
	Close func() error
}
