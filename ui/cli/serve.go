package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"quarry/config"
)

func (a *app) serveCommand() *cobra.Command {
	var address, rate string
	command := &cobra.Command{
		Use:  "serve --http ADDR",
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			limit, err := givenRate(command, rate)
			if err != nil {
				return err
			}
			return a.serve(command.Context(), arguments, address, limit)
		},
	}
	a.document(command, serveHelp())
	command.Flags().StringVar(&address, "http", "",
		"answer the search API at this address (`ADDR`), like 127.0.0.1:8080 or :8080")
	command.Flags().StringVar(&rate, "rate", "",
		"searches and questions of each token, like 60/h (`LIMIT`; per s, m, h, d; 0: no limit)")
	return command
}

// givenRate is what --rate says; nil without it.
func givenRate(command *cobra.Command, text string) (*config.Rate, error) {
	if !command.Flags().Changed("rate") {
		return nil, nil
	}
	rate, err := config.ParseRate(text)
	if err != nil {
		return nil, usage("Write it as 60/h, or 0 for no limit.", "--rate %q: %s", text, err)
	}
	return &rate, nil
}

func (a *app) serve(ctx context.Context, arguments []string, address string, rate *config.Rate) error {
	if err := a.localOnly(); err != nil {
		return err
	}
	switch {
	case len(arguments) > 0:
		return usage("Give the address with --http.", "%q: serve takes no arguments", arguments[0])
	case address == "":
		return usage("Say where to listen: quarry serve --http 127.0.0.1:8080", "nothing to serve")
	}
	address, err := listenAddress(address)
	if err != nil {
		return err
	}
	a.patient.Store(true)
	options := ServeOptions{HTTP: address, Library: a.flags.library, Rate: rate, LogJSON: a.flags.json, Listening: func(at string) {
		a.say("Listening on http://%s (also under /api). Stop with Ctrl-C.", at)
		if a.hasTokens(ctx) {
			a.say("Every request needs a token: quarry admin token list%s", a.libraryFlag())
			return
		}
		a.say("Every request needs a token. Make the first one with: quarry admin token add --name NAME%s", a.libraryFlag())
	}}
	if !a.flags.quiet {
		options.Log = a.io.Err
	}
	err = a.doors.Serve(ctx, options)
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return usage(listenRemedy, "--http %s is no address of this machine: %s", address, unknown.Err)
	}
	return err
}

const listenRemedy = "Write it as 127.0.0.1:8080, or :8080 for every address of this machine."

// listenAddress checks what --http gives. A number alone is a port.
func listenAddress(text string) (string, error) {
	address := text
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usage(listenRemedy, "--http %q is not an address", text)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", usage(listenRemedy, "--http %q: %q is not a port, a number up to 65535", text, port)
	}
	return address, nil
}

// hasTokens tells that somebody can use what is served.
func (a *app) hasTokens(ctx context.Context) bool {
	store, err := a.doors.Tokens(ctx, a.flags.library)
	if err != nil {
		return false
	}
	defer func() { _ = store.Close() }()
	tokens, err := store.List(ctx)
	return err == nil && len(tokens) > 0
}

// libraryFlag repeats --library for a command to run next.
func (a *app) libraryFlag() string {
	if a.flags.library == "" {
		return ""
	}
	return fmt.Sprintf(" --library %s", config.ShellQuote(a.flags.library))
}
