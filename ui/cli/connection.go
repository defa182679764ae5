package cli

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/text"
)

// ConnectionStep is one thing that a test of a connection looked at.
type ConnectionStep struct {
	Name   string // "server", "token" or "search"
	Detail string // what was found
	Err    error  // nil: passed
}

// TryConnection tests a server that is not saved yet: that it is there, knows the token, and searches, which costs no
// model call. The profile that is returned is the one to save: its address has a scheme, and where the usual prefix
// leads nowhere and none does, it has none. Steps after one that failed are missing; its error is returned, too.
func TryConnection(ctx context.Context, host Host, profile config.NewProfile) (config.NewProfile, []ConnectionStep, error) {
	profile.Profile.ServerURL = withScheme(profile.Profile.ServerURL)
	steps, err := testConnection(ctx, host, profile)
	if kind := client.KindOf(err); kind == client.NotAvailable || kind == client.Server {
		bare := profile
		bare.Profile.APIPrefix = new(string)
		if bareSteps, bareErr := testConnection(ctx, host, bare); bareErr == nil {
			return bare, bareSteps, nil
		}
	}
	return profile, steps, err
}

func testConnection(ctx context.Context, host Host, profile config.NewProfile) (steps []ConnectionStep, err error) {
	step := func(name string, test func() (string, error)) {
		if err != nil {
			return
		}
		var detail string
		detail, err = test()
		steps = append(steps, ConnectionStep{Name: name, Detail: detail, Err: err})
	}
	var session *client.Session
	step("server", func() (string, error) {
		choice, err := host.Trial(profile.Profile, profile.Typed)
		if err != nil {
			return "", err
		}
		if session, err = host.Open(ctx, choice); err != nil {
			return "", err
		}
		return "answers", reach(ctx, session.Client)
	})
	if session != nil {
		defer func() { _ = session.Close() }()
	}
	step("token", func() (string, error) {
		me, err := identity(ctx, session.Client)
		if err != nil {
			return "", err
		}
		return me.Email, nil
	})
	step("search", func() (string, error) { return "answers", searches(ctx, session.Client) })
	return steps, err
}

// Explain returns an error as a command would print it.
func Explain(err error, started time.Time) *Failure {
	a := &app{started: started}
	failure := a.explain(err)
	if failure == nil {
		return nil
	}
	told := *failure
	if told.Code == ExitTimeout {
		told.Do = "Check the network, then try again"
	}
	told.What, told.Do = printable(told.What), printable(text.Sentence(told.Do))
	return &told
}

// reach checks that something answers at a server's address.
func reach(ctx context.Context, c *client.Client) error {
	err := c.Root(ctx)
	if reply, ok := errors.AsType[*client.Error](err); ok && reply.Kind == client.Auth {
		return &Failure{Code: ExitAuth, What: "a proxy or firewall refuses all requests: " + text.OneLine(reply.Error()),
			Do: "Ask the administrator of the proxy or firewall for access.", Err: err}
	}
	return err
}

// identity returns the owner of the token. An anonymous identity means that the server does not know the token.
func identity(ctx context.Context, c *client.Client) (*wire.Me, error) {
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	if me.IsAnonymousUser {
		return nil, &Failure{Code: ExitAuth,
			What: "the server does not accept the token: it treats the request as anonymous",
			Do:   "Create a new token in the server's settings, then run quarry configure or set ONYX_PAT"}
	}
	return me, nil
}

// searches asks for nothing: a server that would search refuses the empty request, which costs no model call.
func searches(ctx context.Context, c *client.Client) error {
	_, err := c.Search(ctx, wire.SearchRequest{})
	reply, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return err
	case reply.Status == http.StatusUnprocessableEntity:
		return nil
	case reply.Status == http.StatusNotFound:
		return &Failure{Code: ExitNotAvailable, What: "this server has no search API", Err: err,
			Do: "Check the address and the API prefix (often /api). Onyx before 3.0 has no search API."}
	}
	return err
}

// withScheme completes an address that was typed without its scheme. Servers on this machine rarely have a certificate.
func withScheme(address string) string {
	if strings.Contains(address, "://") {
		return address
	}
	if parsed, err := url.Parse("http://" + address); err == nil && isLoopback(parsed.Hostname()) {
		return "http://" + address
	}
	return "https://" + address
}

func isLoopback(host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
