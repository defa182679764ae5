package target

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"quarry/client"
	"quarry/config"
	"quarry/server"
	"quarry/server/api"
)

// Served is a library, served over the API and to SSH visitors, or a server elsewhere, served to SSH visitors with tokens
// of their own. Close it after the last visitor left.
type Served struct {
	// Choice is the target of the visitors' searches. Its token is never used for them.
	Choice Choice

	host      *Host
	library   *server.Server    // nil: a server elsewhere
	admission *server.Admission // to the library
	transport *http.Transport   // to the server elsewhere, for all visitors
}

// OpenServed opens the library or server to serve.
func (h *Host) OpenServed(ctx context.Context, options ServeOptions) (*Served, error) {
	choice, err := h.servedChoice(options)
	if err != nil {
		return nil, err
	}
	s := &Served{Choice: choice, host: h}
	if choice.Kind == KindRemote {
		s.transport, err = client.NewTransport()
		return s, err
	}
	if choice.Kind == KindLibrary {
		if err := h.mayServe(choice.LibraryDir); err != nil {
			return nil, err
		}
	}
	s.library, err = h.server(ctx, server.Options{Home: choice.LibraryDir, Sample: choice.Kind == KindSample}, choice.Profile)
	if err != nil {
		return nil, err
	}
	rate := h.Config.Rate
	if options.Rate != nil {
		rate = *options.Rate
	}
	s.admission = s.library.Admit(api.PublicOptions{Hosts: h.hosts(options), Rate: api.Rate(rate),
		OpenMetrics: h.Config.HTTP.Metrics == config.MetricsOpen})
	return s, nil
}

// mayServe checks that a library can be read and, without QUARRY_READONLY, written.
func (h *Host) mayServe(dir string) error {
	if _, err := libraryExists(dir); err != nil {
		return err
	}
	if ReadOnly(h.Env) {
		return nil
	}
	return h.MayWrite(dir)
}

// Close closes the library or the connections.
func (s *Served) Close() error {
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if s.library == nil {
		return nil
	}
	return s.library.Close()
}

// ListenHTTP serves the API until ctx ends, and then finishes running requests. ready, which may be nil, is called with
// the address once connections are accepted. Every request needs a token.
func (s *Served) ListenHTTP(ctx context.Context, address string, ready func(net.Addr)) error {
	return s.admission.ListenAndServe(ctx, address, ready)
}

// Prepare prepares a library for visitors.
func (s *Served) Prepare(ctx context.Context) error {
	if s.admission == nil {
		return nil
	}
	return s.admission.Prepare(ctx)
}

// KnowsPeople reports whether visitors can be admitted without a token: a library knows its users' permissions.
func (s *Served) KnowsPeople() bool { return s.admission != nil }

// Token returns a client for a visitor with a token, which the first request checks. remote is the visitor's address,
// "host:port".
func (s *Served) Token(token, remote string) (*client.Client, error) {
	if s.admission != nil {
		return s.inProcess(s.admission.Token(token, remote))
	}
	return client.New(client.Options{BaseURL: s.Choice.ServerURL, APIPrefix: s.Choice.APIPrefix, Transport: discreet{s.transport, s.host.logger()},
		Token: config.FixedToken(config.NewSecret(token), "the visitor's token"), Profile: s.Choice.Profile,
		UserAgent: s.host.userAgent()})
}

// Person returns a client for a visitor who is a user of the library.
func (s *Served) Person(email, remote string) (*client.Client, error) {
	if s.admission == nil {
		return nil, s.noPeople()
	}
	return s.inProcess(s.admission.Person(email, remote))
}

// Anybody returns a client for an anonymous visitor, who can search the library's public documents.
func (s *Served) Anybody(remote string) (*client.Client, error) {
	if s.admission == nil {
		return nil, s.noPeople()
	}
	return s.inProcess(s.admission.Anybody(remote))
}

// Knows reports whether a token, or without one a user, is still valid. A server elsewhere is not asked: it rejects the
// next request.
func (s *Served) Knows(ctx context.Context, token, email string) bool {
	return s.admission == nil || s.admission.Knows(ctx, token, email)
}

func (s *Served) noPeople() error {
	return &Error{Kind: ErrUsage, Problem: "visitors of " + s.Choice.ServerURL + " need tokens of their own",
		Fix: "use --ssh-token, or --ssh-keys with a token for each key"}
}

func (s *Served) inProcess(handler http.Handler) (*client.Client, error) {
	return client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler),
		Profile: s.Choice.Profile, UserAgent: s.host.userAgent()})
}

// logger returns the host's log, which discards lines if there is none.
func (h *Host) logger() *slog.Logger {
	if h.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.Log
}

func (h *Host) hosts(options ServeOptions) []string {
	given := options.Hosts
	if given == nil {
		given = h.Config.HTTP.Hosts
	}
	var hosts []string
	for _, host := range given {
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		hosts = append(hosts, host)
	}
	return hosts
}

// servedChoice decides what is served: over HTTP a library, that of this machine unless a flag or profile selects
// another; over SSH only, the target of a run.
func (h *Host) servedChoice(options ServeOptions) (Choice, error) {
	if options.HTTP != "" {
		dir, err := h.servedFolder(options.Request)
		if err != nil {
			return Choice{}, err
		}
		return *localChoice(RuleFlag, "the library in "+dir, config.LocalProfile, dir, "the command"), nil
	}
	where := options.Request
	where.Visitors = true
	choice, err := h.Decide(where)
	if err == nil && choice.Kind == KindSlack {
		return Choice{}, &Error{Kind: ErrUsage, Problem: "the profile " + choice.Profile + " is Slack, which can only be searched as its owner",
			Fix: "serve a library with --library DIR, or a server with --server URL"}
	}
	return choice, err
}

// servedFolder returns the folder of the library to serve. A server elsewhere is refused: all clients would use one
// token.
func (h *Host) servedFolder(where Request) (string, error) {
	remote := func(what string) error {
		return &Error{Kind: ErrUsage, Problem: fmt.Sprintf("%s cannot be served over HTTP: only libraries can", what),
			Fix: "serve a library with --library DIR, and give others the address of the server itself"}
	}
	switch {
	case where.Server != "":
		return "", remote("--server")
	case where.Sample:
		return "", &Error{Kind: ErrUsage, Problem: "the sample library cannot be served over HTTP: it has no tokens",
			Fix: "add files with quarry add PATH and serve those"}
	case where.Profile == "":
		return h.LibraryFolder(where.Library), nil
	}
	choice, err := h.Decide(where)
	if err != nil {
		return "", err
	}
	if choice.Kind != KindLibrary {
		return "", remote("the profile " + where.Profile)
	}
	return choice.LibraryDir, nil
}

// discreet logs connection errors instead of returning them to visitors: they contain names and addresses of an internal
// network.
type discreet struct {
	http.RoundTripper
	log *slog.Logger
}

// errBehind is the error that visitors get.
var errBehind = errors.New("the search server cannot be reached")

// RoundTrip implements http.RoundTripper.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		d.log.Warn("cannot reach the served server", "error", err.Error())
		err = errBehind
	}
	return response, err
}
