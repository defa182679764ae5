package cli

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quarry/config"
	"quarry/ui/target"
)

// serving is what serve is asked for.
type serving struct {
	options target.ServeOptions
	rate    string
}

func (a *app) serveCommand() *cobra.Command {
	asked := &serving{}
	command := &cobra.Command{
		Use:   "serve [--ssh ADDR] [--http ADDR]",
		Short: "Serve the explorer over SSH and the search API over HTTP",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) (err error) {
			if asked.options.Rate, err = givenRate(command, asked.rate); err != nil {
				return err
			}
			return a.serve(command.Context(), arguments, asked.options)
		},
	}
	flags := command.Flags()
	flags.StringVar(&asked.options.HTTP, "http", "",
		"answer the search API at this address (`ADDR`), like 127.0.0.1:8080 or :8080")
	flags.StringVar(&asked.rate, "rate", "",
		"searches and questions of each token and visitor, like 60/h (`LIMIT`; per s, m, h, d; 0: no limit)")
	sshFlags(flags, &asked.options.SSH)
	return command
}

func sshFlags(flags *pflag.FlagSet, ssh *target.SSHOptions) {
	flags.StringVar(&ssh.Address, "ssh", "", "serve the explorer over SSH at this address (`ADDR`), like :2222")
	flags.StringVar(&ssh.Keys, "ssh-keys", "",
		"let in the keys of this `FILE`, each line with user=\"EMAIL\" or token=\"…\" first (also ssh.authorized_keys)")
	flags.BoolVar(&ssh.Token, "ssh-token", false, "let in who brings a token (also ssh.token)")
	flags.BoolVar(&ssh.Open, "ssh-open", false, "let in anybody, to the public documents of a library (also ssh.open)")
	flags.StringVar(&ssh.HostKey, "ssh-host-key", "",
		"the host key's `FILE`, made if there is none (default ssh_host_ed25519_key in quarry's data folder)")
	flags.IntVar(&ssh.Limits.Sessions, "ssh-sessions", 0, "visitors at once (`N`, default 250)")
	flags.IntVar(&ssh.Limits.PerPerson, "ssh-per-person", 0,
		"sessions of one person at once, or of one address where anybody may come in (`N`, default 10)")
	flags.IntVar(&ssh.Limits.Arrivals, "ssh-arrivals", 0, "connections of one address in a minute (`N`, default 60)")
	flags.DurationVar(&ssh.Limits.Idle, "ssh-idle", 0, "end a session after this `DURATION` without a key (default 30m)")
	flags.DurationVar(&ssh.Limits.Total, "ssh-total", 0, "end a session after this `DURATION` (default 12h)")
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

func (a *app) serve(ctx context.Context, arguments []string, options target.ServeOptions) error {
	options, err := a.checkServing(arguments, options)
	if err != nil {
		return err
	}
	a.patient.Store(true)
	options.Request, options.LogJSON = a.request(), a.flags.json
	options.Listening = func(at target.Listening) { a.tellListening(ctx, at) }
	if !a.flags.quiet {
		options.Log = a.io.Err
	}
	err = a.program.Serve(ctx, options)
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return usage(listenRemedy, "%s is no address of this machine: %s", unknown.Name, unknown.Err)
	}
	return err
}

// checkServing checks all that can be wrong about a command line.
func (a *app) checkServing(arguments []string, options target.ServeOptions) (target.ServeOptions, error) {
	ssh := &options.SSH
	if options.HTTP != "" || ssh.Address == "" {
		if err := a.localOnly(); err != nil {
			return options, err
		}
	}
	switch {
	case len(arguments) > 0:
		return options, usage("Give the address with --http or --ssh.", "%q: serve takes no arguments", arguments[0])
	case options.HTTP == "" && ssh.Address == "":
		return options, usage("Say where to listen: quarry serve --http 127.0.0.1:8080, or --ssh :2222", "nothing to serve")
	case ssh.Address == "" && (ssh.Keys != "" || ssh.Token || ssh.Open || ssh.HostKey != "" || ssh.Limits != target.SSHLimits{}):
		return options, usage("Say where to listen: --ssh :2222", "--ssh is missing")
	case ssh.Limits.Negative():
		return options, usage("Give a number or a duration above 0, or leave the flag out.", "a limit must be more than 0")
	}
	for _, listener := range []struct {
		flag    string
		address *string
	}{{"--http", &options.HTTP}, {"--ssh", &ssh.Address}} {
		if *listener.address == "" {
			continue
		}
		checked, err := listenAddress(listener.flag, *listener.address)
		if err != nil {
			return options, err
		}
		*listener.address = checked
	}
	return options, nil
}

// tellListening tells where something listens, and how to use it.
func (a *app) tellListening(ctx context.Context, at target.Listening) {
	if at.Fingerprint != "" {
		host, port, _ := net.SplitHostPort(at.Address)
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			host = "localhost"
		}
		a.say("The explorer is at: ssh -p %s %s (host key %s). Stop with Ctrl-C.", port, host, at.Fingerprint)
		return
	}
	a.say("Listening on http://%s (also under /api). Stop with Ctrl-C.", at.Address)
	if a.hasTokens(ctx) {
		a.say("Every request needs a token: quarry admin token list%s", a.libraryFlag())
		return
	}
	a.say("Every request needs a token. Make the first one with: quarry admin token add --name NAME%s", a.libraryFlag())
}

const listenRemedy = "Write it as 127.0.0.1:8080, or :8080 for every address of this machine."

// listenAddress checks what a flag gives. A number alone is a port.
func listenAddress(flag, text string) (string, error) {
	address := text
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", usage(listenRemedy, "%s %q is not an address", flag, text)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return "", usage(listenRemedy, "%s %q: %q is not a port, a number up to 65535", flag, text, port)
	}
	return address, nil
}

// hasTokens reports whether somebody can use what is served.
func (a *app) hasTokens(ctx context.Context) bool {
	session, err := a.administer(ctx, false)
	if err != nil {
		return false
	}
	defer func() { _ = session.Close() }()
	tokens, err := session.Client.AdminTokens(ctx)
	return err == nil && len(tokens) > 0
}

// libraryFlag repeats --library and --tenant for a command to run next.
func (a *app) libraryFlag() (flags string) {
	if a.flags.library != "" {
		flags = " --library " + config.ShellQuote(a.flags.library)
	}
	if a.flags.tenant != "" {
		flags += " --tenant " + config.ShellQuote(a.flags.tenant)
	}
	return flags
}
