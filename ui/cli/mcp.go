package cli

import (
	"context"

	"github.com/spf13/cobra"

	"quarry/internal/guard"
	"quarry/ui/mcp"
	"quarry/ui/target"
)

// makeVectors lets what is opened from now on make vectors in the background. The library of a guest is open elsewhere.
func (a *app) makeVectors() {
	if !a.program.Guest {
		a.host().MakeVectors()
	}
}

func (a *app) mcpCommand() *cobra.Command {
	connector := false
	command := a.targetCommand("mcp", "Serve search and read to AI agents over the Model Context Protocol",
		traits{class: reads, guests: true}, func(ctx context.Context, choice target.Choice, _ []string) {
			a.mcp(ctx, choice, connector)
		})
	command.Flags().BoolVar(&connector, "connector", false, "offer search and fetch alone, for chat products")
	return command
}

// mcp serves the target over the Model Context Protocol until standard input ends. Standard output carries its messages
// only.
func (a *app) mcp(ctx context.Context, choice target.Choice, connector bool) {
	if a.io.InTTY {
		if a.program.Guest {
			refuse("Connect without a terminal: ssh -T HOST mcp", "mcp requires a pipe")
		}
		a.note("speaking the Model Context Protocol on standard input; end it with Ctrl-D")
	}
	a.makeVectors()
	session := a.open(ctx, choice)
	defer session.Close()
	guard.Check(mcp.Serve(a.traced(ctx), a.io.In, a.out, mcp.Options{Client: session.Client,
		Agent: choice.SearchAgent(), Version: a.program.Version, Guest: a.program.Guest, Connector: connector,
		Timeout: a.flags.Timeout, Broke: a.program.Broke}))
}
