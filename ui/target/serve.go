package target

import (
	"context"
	"net"

	"quarry/config"
)

// ServeOptions say what is served, and where.
type ServeOptions struct {
	Where Request      // the flags: --library, or a profile that is a library; none is the library of this machine
	HTTP  string       // address of the API, "host:port"; empty: it is not served
	Hosts []string     // host names under which the server is known; nil: http.hosts of the configuration
	Rate  *config.Rate // of each token and visitor; zero: no limit; nil: rate of the configuration
}

// Serve answers the API on a listener until ctx ends; see Served.ListenHTTP.
func (h *Host) Serve(ctx context.Context, options ServeOptions, ready func(net.Addr)) error {
	served, err := h.OpenServed(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = served.Close() }()
	return served.ListenHTTP(ctx, options.HTTP, ready)
}
