package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// completionTime is how long a shell waits for values of a server; after that there are none.
const completionTime = time.Second

func (a *app) completionCommand() *cobra.Command {
	var command *cobra.Command
	command = a.newCommand("completion SHELL", "Print a shell completion script", func(_ context.Context, arguments []string) error {
		root := command.Root()
		switch arguments[0] {
		case "bash":
			return root.GenBashCompletionV2(a.out, true)
		case "zsh":
			return root.GenZshCompletion(a.out)
		case "fish":
			return root.GenFishCompletion(a.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(a.out)
		}
		return usage(nearestOf(arguments[0], "Name one of bash, zsh, fish, powershell.", command.ValidArgs), "unknown shell %q", arguments[0])
	})
	command.ValidArgs = []cobra.Completion{"bash", "zsh", "fish", "powershell"}
	return command
}

// offer lists what a server has, as far as it begins with what is typed; nothing if it cannot be listed.
type offer func(ctx context.Context, c *client.Client, typed string) []cobra.Completion

// completeFlags offers what a server or library has as values of a command's flags. A flag that the command lacks is left
// out.
func (a *app) completeFlags(command *cobra.Command, open opener) {
	for flag, values := range map[string]offer{
		"source": offerSources, "document-set": offerSets, "set": offerSets, "tag": offerTags,
		"agent":    offerAgents(func(agent wire.Persona) string { return agent.Name }),
		"agent-id": offerAgents(func(agent wire.Persona) string { return strconv.Itoa(agent.ID) }),
	} {
		a.completeFlag(command, flag, open, values)
	}
	for flag, values := range map[string]func() []cobra.Completion{
		"session": func() []cobra.Completion { return nil },
		"format":  func() []cobra.Completion { return searchFormats() },
		"sort": func() []cobra.Completion {
			return []cobra.Completion{wire.SortRelevance, wire.SortNewest, wire.SortOldest}
		},
		"as": func() []cobra.Completion { return describeSources(sourceValues(client.IsOffered)) },
	} {
		a.register(command, flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

func (a *app) register(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if a.program.Guest || command.Flags().Lookup(flag) == nil { // a guest has no completion, and cobra never forgets a flag
		return
	}
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist: a mistake in the command that has it
	}
}

// completeFlag offers what a server or library has; whatever fails, there is nothing to offer.
func (a *app) completeFlag(command *cobra.Command, flag string, open opener, values offer) {
	a.register(command, flag, func(_ *cobra.Command, _ []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		ctx := command.Context()
		if ctx == nil {
			ctx = context.Background() //nolint:contextcheck // the shell gives none
		}
		ctx, cancel := context.WithTimeout(ctx, completionTime)
		defer cancel()
		_ = a.with(ctx, open, func(ctx context.Context, c *client.Client) error {
			found = values(ctx, c, typed)
			return nil
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	})
}

// openDecided opens where a search would go.
func (a *app) openDecided(ctx context.Context) (*client.Session, error) {
	choice, err := a.decideTarget(a.request())
	if err != nil {
		return nil, err
	}
	return a.open(ctx, choice)
}

func offerSources(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	return describeSources(c.ListSources(ctx).Values)
}

func describeSources(values []string) []cobra.Completion {
	return exslices.CastFunc(values, func(source string) cobra.Completion {
		return cobra.CompletionWithDesc(source, client.SourceDescription(source))
	})
}

func offerAgents(value func(wire.Persona) string) offer {
	return func(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
		personas, _ := c.Personas(ctx)
		return exslices.CastFuncFilter(personas, func(p wire.Persona) (cobra.Completion, bool) {
			return cobra.CompletionWithDesc(value(p), text.OneLine(p.Name+": "+p.Description)), p.IsListed
		})
	}
}

func offerSets(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	sets, _ := c.DocumentSets(ctx)
	return exslices.CastFunc(sets, func(set wire.DocumentSet) cobra.Completion {
		return cobra.CompletionWithDesc(set.Name, text.OneLine(text.OrEmpty(set.Description)))
	})
}

func offerTags(ctx context.Context, c *client.Client, typed string) []cobra.Completion {
	tags, _ := c.ValidTags(ctx, typed, true, defaultTags)
	return exslices.CastFunc(tags, func(tag wire.SourceTag) cobra.Completion {
		return cobra.CompletionWithDesc(tag.Key+"="+tag.Value, tag.Source)
	})
}
