package cli

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var address string
	command := &cobra.Command{
		Use:  "serve --http ADDR",
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.serve(command.Context(), arguments, address)
		},
	}
	a.document(command, serveHelp())
	command.Flags().StringVar(&address, "http", "",
		"answer the search API at this address (`ADDR`), like 127.0.0.1:8080 or :8080")
	return command
}

func (a *app) serve(ctx context.Context, arguments []string, address string) error {
	if err := a.localOnly(); err != nil {
		return err
	}
	switch {
	case len(arguments) > 0:
		return usage("Give the address with --http.", "%q: serve takes no arguments", arguments[0])
	case address == "":
		return usage("Say where to listen: quarry serve --http 127.0.0.1:8080", "nothing to serve")
	}
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		return usage("Write it as 127.0.0.1:8080 or :8080", "--http %q is not an address", address)
	}
	a.patient.Store(true)
	options := ServeOptions{HTTP: address, Library: a.flags.library, LogJSON: a.flags.json, Listening: func(at string) {
		a.say("Listening on http://%s (also under /api). Stop with Ctrl-C.", at)
		a.say("Every request needs a token. Make the first one with: quarry admin token add --name NAME%s", a.libraryFlag())
	}}
	if !a.flags.quiet {
		options.Log = a.io.Err
	}
	return a.doors.Serve(ctx, options)
}

// libraryFlag repeats --library for a command to run next.
func (a *app) libraryFlag() string {
	if a.flags.library == "" {
		return ""
	}
	return fmt.Sprintf(" --library %s", shellQuote(a.flags.library))
}
