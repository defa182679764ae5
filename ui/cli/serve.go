package cli

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quarry/client"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/ui/target"
)

func (a *app) serveCommand() *cobra.Command {
	var options target.ServeOptions
	var rate string
	var flags *pflag.FlagSet
	command := a.newCommand("serve [--ssh ADDR] [--http ADDR]",
		"Serve the explorer over SSH and the search API over HTTP",
		traits{class: reads}, func(ctx context.Context, _ []string) {
			if rate != "" {
				limit, err := config.ParseRate(rate)
				if err != nil {
					refuse("Use a rate like 60/h, or 0 for no limit.", "--rate %q: %s", rate, err)
				}
				options.Rate = &limit
			}
			checkLimits(flags)
			a.serve(ctx, options)
		})
	flags = command.Flags()
	flags.StringVar(&options.HTTP, "http", "",
		"serve the search API at this address (`ADDR`), like 127.0.0.1:8080 or :8080")
	flags.StringVar(&rate, "rate", "",
		"limit of searches and questions per token and visitor, like 60/h (`LIMIT`; per s, m, h, d; 0: none)")
	bindFlags(flags, &options.SSH)
	bindFlags(flags, &options.SSH.Limits)
	return command
}

// checkLimits refuses limits that would mean the default, or nothing.
func checkLimits(flags *pflag.FlagSet) {
	for _, name := range []string{"ssh-sessions", "ssh-per-person", "ssh-arrivals", "ssh-idle", "ssh-total"} {
		limit := flags.Lookup(name)
		if value := limit.Value.String(); limit.Changed && (value[0] == '-' || strings.Trim(value, "0s") == "") {
			_, meaning := pflag.UnquoteUsage(limit)
			refuse("Give a value above 0, or omit the flag, which means: "+meaning,
				"--%s %s: must be greater than 0", name, value)
		}
	}
}

func (a *app) serve(ctx context.Context, options target.ServeOptions) {
	a.checkServing(&options)
	a.waits.Store(true)
	options.Request, options.LogJSON = a.request(), a.flags.JSON
	options.Listening = func(at target.Listening) { a.printListening(ctx, at) }
	if !a.flags.Quiet {
		options.Log = a.io.Err
	}
	err := a.program.Serve(ctx, options)
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		refuse(listenRemedy, "%s is not an address of this machine: %s", unknown.Name, unknown.Err)
	}
	guard.Check(err)
}

// checkServing checks all that can be wrong about a command line.
func (a *app) checkServing(options *target.ServeOptions) {
	ssh := &options.SSH
	for _, file := range []*string{&ssh.Keys, &ssh.HostKey} {
		if *file != "" {
			*file = a.io.path(*file)
		}
	}
	if options.HTTP != "" || ssh.Address == "" {
		a.localOnly()
	}
	switch {
	case options.HTTP == "" && ssh.Address == "":
		refuse("Example: quarry serve --http 127.0.0.1:8080", "missing flag --http or --ssh")
	case ssh.Address == "" &&
		(ssh.Keys != "" || ssh.Token || ssh.Open || ssh.HostKey != "" || ssh.Limits != target.SSHLimits{}):
		refuse("Example: quarry serve --ssh :2222", "missing flag --ssh")
	}
	checkListenAddress("--http", &options.HTTP)
	checkListenAddress("--ssh", &ssh.Address)
}

// printListening prints an address and how to use it.
func (a *app) printListening(ctx context.Context, at target.Listening) {
	host, port, _ := net.SplitHostPort(at.Address)
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "localhost"
	}
	if at.Fingerprint != "" {
		a.say("The explorer is at: ssh -p %s %s (host key %s). Stop with Ctrl-C.", port, host, at.Fingerprint)
		return
	}
	a.say("Listening on http://%s (also under /api). Stop with Ctrl-C.", net.JoinHostPort(host, port))
	if a.hasTokens(ctx) {
		a.say("Requests require a token: quarry admin token list%s", a.libraryFlag())
		return
	}
	a.say("Requests require a token. Create the first one: quarry admin token add NAME%s", a.libraryFlag())
}

const listenRemedy = "Use an address like 127.0.0.1:8080, or :8080 for all addresses of this machine."

// checkListenAddress checks what a flag gives, and completes a number alone, which is a port.
func checkListenAddress(flag string, address *string) {
	given := *address
	if given == "" {
		return
	}
	if !strings.Contains(given, ":") {
		*address = ":" + given
	}
	_, port, err := net.SplitHostPort(*address)
	if err != nil {
		refuse(listenRemedy, "%s %q is not an address", flag, given)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		refuse(listenRemedy, "%s %q: %q is not a port number", flag, given, port)
	}
}

// hasTokens reports whether somebody can use what is served.
func (a *app) hasTokens(ctx context.Context) (found bool) {
	_ = guard.Ended(func() {
		a.with(ctx, a.openAdmin(false), func(ctx context.Context, c *client.Client) {
			found = len(guard.Must(c.AdminTokens(ctx))) > 0
		})
	})
	return found
}

// libraryFlag repeats --library and --tenant for a command to run next.
func (a *app) libraryFlag() string {
	return repeatFlag("library", a.namedLibrary()) + repeatFlag("tenant", a.flags.Tenant)
}
