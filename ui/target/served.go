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

// Served is what is served to others: a library, over the API and to visitors, or somebody else's server, to visitors
// who bring their own tokens. Close it when nobody is left.
type Served struct {
	// Choice is where the visitors' searches go. Its token is never used for them.
	Choice Choice

	host      *Host
	library   *server.Server    // nil: a server elsewhere
	admission *server.Admission // to the library
	transport *http.Transport   // to the server elsewhere, for all visitors
}

// OpenServed opens what is to be served.
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

// mayServe refuses a library that is not there, or that cannot be written though it may be.
func (h *Host) mayServe(dir string) error {
	if _, err := libraryExists(dir); err != nil {
		return err
	}
	if ReadOnly(h.Env) {
		return nil
	}
	return h.MayWrite(dir)
}

// Close ends what was opened. What was stored is durable already.
func (s *Served) Close() error {
	if s.transport != nil {
		s.transport.CloseIdleConnections()
	}
	if s.library == nil {
		return nil
	}
	return s.library.Close()
}

// ListenHTTP answers the API on a listener until ctx ends, and then finishes what it began. Ready is called with the
// address once connections are accepted; it may be nil. Every request needs a token: see Tokens.
func (s *Served) ListenHTTP(ctx context.Context, address string, ready func(net.Addr)) error {
	return s.admission.ListenAndServe(ctx, address, ready)
}

// Prepare brings a library into the state that visitors need.
func (s *Served) Prepare(ctx context.Context) error {
	if s.admission == nil {
		return nil
	}
	return s.admission.Prepare(ctx)
}

// KnowsPeople tells that visitors can be let in without a token: this program knows who may see what.
func (s *Served) KnowsPeople() bool { return s.admission != nil }

// Token is the way in for a visitor with a token of what is served. It is checked by the first request. Remote is the
// address that they come from, "host:port".
func (s *Served) Token(token, remote string) (*client.Client, error) {
	if s.admission != nil {
		return s.inProcess(s.admission.Token(token, remote))
	}
	return client.New(client.Options{BaseURL: s.Choice.ServerURL, APIPrefix: s.Choice.APIPrefix, Transport: discreet{s.transport, s.host.logger()},
		Token: config.FixedToken(config.NewSecret(token), "the visitor's token"), Profile: s.Choice.Profile,
		UserAgent: s.host.userAgent()})
}

// Person is the way in for a visitor who is a user of the library that is served.
func (s *Served) Person(email, remote string) (*client.Client, error) {
	if s.admission == nil {
		return nil, s.noPeople()
	}
	return s.inProcess(s.admission.Person(email, remote))
}

// Anybody is the way in for a visitor of whom nothing is known. They see the public documents of the library.
func (s *Served) Anybody(remote string) (*client.Client, error) {
	if s.admission == nil {
		return nil, s.noPeople()
	}
	return s.inProcess(s.admission.Anybody(remote))
}

// Knows tells whether a visitor with a token, or without one a person, would still be let in. A server elsewhere is not
// asked: it refuses their next request.
func (s *Served) Knows(ctx context.Context, token, email string) bool {
	return s.admission == nil || s.admission.Knows(ctx, token, email)
}

func (s *Served) noPeople() error {
	return &Error{Kind: ErrUsage, Problem: "visitors of " + s.Choice.ServerURL + " need a token of their own",
		Fix: "let them bring one"}
}

func (s *Served) inProcess(handler http.Handler) (*client.Client, error) {
	return client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler),
		Profile: s.Choice.Profile, UserAgent: s.host.userAgent()})
}

// logger is where what goes wrong is told.
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

// servedChoice decides what is served. Over HTTP that is a library, of this machine unless a flag or a profile names
// another; visitors over SSH are led wherever a run would search.
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
		return Choice{}, &Error{Kind: ErrUsage, Problem: "the profile " + choice.Profile + " is Slack, which is searched as its owner alone",
			Fix: "serve a library with --library DIR, or a server with --server URL"}
	}
	return choice, err
}

// servedFolder finds the library to serve. Somebody else's server is not passed on: its token would answer for all who
// reach the listener.
func (h *Host) servedFolder(where Request) (string, error) {
	remote := func(what string) error {
		return &Error{Kind: ErrUsage, Problem: fmt.Sprintf("%s cannot be served over HTTP: only a library can", what),
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

// discreet keeps what is wrong on the way to the server elsewhere from visitors: names and addresses of a network that
// they are not in. It is logged instead.
type discreet struct {
	http.RoundTripper
	log *slog.Logger
}

// errBehind is all that a visitor hears.
var errBehind = errors.New("the server behind this one cannot be reached")

// RoundTrip is http.RoundTripper's.
func (d discreet) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := d.RoundTripper.RoundTrip(r)
	if err != nil && r.Context().Err() == nil {
		d.log.Warn("the server that visitors search cannot be reached", "error", err.Error())
		err = errBehind
	}
	return response, err
}
