package target

import (
	"context"
	"fmt"
	"net"
	"slices"

	"quarry/config"
	"quarry/server"
	"quarry/server/api"
)

// ServeOptions say which library is served, and where.
type ServeOptions struct {
	Where Request      // the flags: --library, or a profile that is a library; none is the library of this machine
	HTTP  string       // address to listen on, "host:port"
	Hosts []string     // host names under which the server is known; nil: http.hosts of the configuration
	Rate  *config.Rate // of each token; zero: no limit; nil: rate of the configuration
}

// Serve answers the API on a listener until ctx ends, and then finishes what it began. Ready is called with the address
// once connections are accepted; it may be nil. Every request needs a token: see Tokens.
func (h *Host) Serve(ctx context.Context, options ServeOptions, ready func(net.Addr)) error {
	dir, err := h.servedFolder(options.Where)
	if err != nil {
		return err
	}
	rate := h.Config.Rate
	if options.Rate != nil {
		rate = *options.Rate
	}
	if options.Hosts == nil {
		options.Hosts = h.Config.HTTP.Hosts
	}
	for i, host := range options.Hosts {
		if name, _, err := net.SplitHostPort(host); err == nil {
			options.Hosts = slices.Clone(options.Hosts)
			options.Hosts[i] = name
		}
	}
	if _, err := libraryExists(dir); err != nil {
		return err
	}
	if !ReadOnly(h.Env) {
		if err := h.MayWrite(dir); err != nil {
			return err
		}
	}
	s, err := h.server(ctx, server.Options{Home: dir}, config.LocalProfile)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // what was stored is durable already
	return s.ListenAndServe(ctx, server.ServeOptions{
		HTTP: options.HTTP, Hosts: options.Hosts, Rate: api.Rate(rate),
		OpenMetrics: h.Config.HTTP.Metrics == config.MetricsOpen,
	}, ready)
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
		return "", &Error{Kind: ErrUsage, Problem: "the sample library cannot be served: it has no tokens",
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
