package cli

import (
	"context"

	"github.com/spf13/cobra"

	"quarry/ui/mcp"
	"quarry/ui/target"
)

// makeVectors lets what is opened from now on make vectors in the background. The library of a guest is open elsewhere.
func (a *app) makeVectors() error {
	if a.program.Guest {
		return nil
	}
	host, err := a.program.Host()
	if err == nil {
		host.MakeVectors()
	}
	return err
}

func (a *app) mcpCommand() *cobra.Command {
	connector := false
	command := a.targetCommand("mcp", "Serve search and read to AI agents over the Model Context Protocol",
		traits{class: reads, guests: true}, func(ctx context.Context, choice target.Choice, _ []string) error {
			return a.mcp(ctx, choice, connector)
		})
	command.Flags().BoolVar(&connector, "connector", false, "offer search and fetch alone, for chat products")
	return command
}

// mcp serves the target over the Model Context Protocol until standard input ends. Standard output carries its messages
// only.
func (a *app) mcp(ctx context.Context, choice target.Choice, connector bool) error {
	if a.io.InTTY {
		if a.program.Guest {
			return usage("Connect without a terminal: ssh -T HOST mcp", "mcp requires a pipe")
		}
		a.note("speaking the Model Context Protocol on standard input; end it with Ctrl-D")
	}
	if err := a.makeVectors(); err != nil {
		return err
	}
	session, err := a.open(ctx, choice)
	if err != nil {
		return err
	}
	defer session.Close()
	return mcp.Serve(a.traced(ctx), a.io.In, a.out, mcp.Options{Client: session.Client, Agent: choice.SearchAgent(),
		Version: a.program.Version, Guest: a.program.Guest, Connector: connector, Timeout: a.flags.Timeout,
		Broke: a.program.Broke})
}
