package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
)

// completionTime is how long a shell waits for values of a server; after that there are none.
const completionTime = time.Second

func shells() []string { return []string{"bash", "zsh", "fish", "powershell"} }

func (a *app) completionCommand() *cobra.Command {
	command := &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a shell completion script",
		Args:      cobra.ArbitraryArgs,
		ValidArgs: shells(),
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return usage("Name one of bash, zsh, fish, powershell.", "completion takes one shell, not %d", len(arguments))
			}
			return a.printCompletion(command.Root(), arguments[0])
		},
	}
	return command
}

func (a *app) printCompletion(root *cobra.Command, shell string) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(a.out, true)
	case "zsh":
		return root.GenZshCompletion(a.out)
	case "fish":
		return root.GenFishCompletion(a.out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(a.out)
	}
	do := "Name one of bash, zsh, fish, powershell."
	if near := wire.Nearest(shell, shells()); near != "" {
		do = "Did you mean " + near + "?"
	}
	return usage(do, "unknown shell %q", shell)
}

// offer lists what a server has, as far as it begins with what is typed.
type offer func(ctx context.Context, c *client.Client, typed string) []cobra.Completion

// completeAskFlags offers the agents of the server.
func (a *app) completeAskFlags(command *cobra.Command) {
	a.completeAgents(command)
	a.fixed(command, "session", func() []cobra.Completion { return nil })
}

// completeSearchFlags offers what the server has as values of the filters.
func (a *app) completeSearchFlags(command *cobra.Command) {
	register := func(flag string, values offer) {
		a.completeFlag(command, flag, a.openDecided, values)
	}
	register("source", offerSources)
	a.completeAgents(command)
	register("document-set", offerSets)
	register("tag", offerTags)
	a.fixed(command, "format", func() []cobra.Completion { return searchFormats() })
}

func (a *app) completeAgents(command *cobra.Command) {
	register := func(flag string, values offer) {
		a.completeFlag(command, flag, a.openDecided, values)
	}
	register("agent", func(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
		return offerAgents(ctx, c, func(_ int, name string) string { return name })
	})
	register("agent-id", func(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
		return offerAgents(ctx, c, func(id int, _ string) string { return strconv.Itoa(id) })
	})
}

// completeLibraryFlags offers what the library of this machine has. A flag that the command lacks is left out.
func (a *app) completeLibraryFlags(command *cobra.Command) {
	open := func(ctx context.Context) (*client.Session, error) {
		return a.openLibrary(ctx, false)
	}
	a.completeFlag(command, "set", open, offerSets)
	if command.Flags().Lookup("source") != nil {
		a.completeFlag(command, "source", open, offerSources)
	}
	if command.Flags().Lookup("as") != nil {
		a.fixed(command, "as", allSources)
	}
}

// allSources are those that documents can be said to come from.
func allSources() []cobra.Completion {
	var found []cobra.Completion
	for _, source := range wire.Sources() {
		if isOffered(source.Value) {
			found = append(found, cobra.CompletionWithDesc(source.Value, client.SourceDescription(source.Value)))
		}
	}
	return found
}

// fixed offers values that do not depend on a server.
func (a *app) fixed(command *cobra.Command, flag string, values func() []cobra.Completion) {
	a.register(command, flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

func (a *app) register(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if a.program.Guest { // who completes nothing here, while the library remembers each flag for as long as the program runs
		return
	}
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist: a mistake in the command that has it
	}
}

// completeFlag offers what a server or library has; whatever fails, there is nothing to offer.
func (a *app) completeFlag(command *cobra.Command, flag string, open func(context.Context) (*client.Session, error),
	values offer) {
	a.register(command, flag, func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx := command.Context()
		if ctx == nil {
			ctx = context.Background() //nolint:contextcheck // the shell gives none
		}
		ctx, cancel := context.WithTimeout(ctx, completionTime)
		defer cancel()
		session, err := open(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer func() { _ = session.Close() }()
		return values(ctx, session.Client, typed), cobra.ShellCompDirectiveNoFileComp
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
	var found []cobra.Completion
	for _, source := range listSources(ctx, c).values {
		found = append(found, cobra.CompletionWithDesc(source, client.SourceDescription(source)))
	}
	return found
}

func offerAgents(ctx context.Context, c *client.Client, value func(id int, name string) string) []cobra.Completion {
	personas, err := c.Personas(ctx)
	if err != nil {
		return nil
	}
	var found []cobra.Completion
	for _, persona := range personas {
		if persona.IsListed {
			about := oneLine(persona.Name + ": " + persona.Description)
			found = append(found, cobra.CompletionWithDesc(value(persona.ID, persona.Name), about))
		}
	}
	return found
}

func offerSets(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	sets, err := c.DocumentSets(ctx)
	if err != nil {
		return nil
	}
	var found []cobra.Completion
	for _, set := range sets {
		found = append(found, cobra.CompletionWithDesc(set.Name, oneLine(deref(set.Description))))
	}
	return found
}

func offerTags(ctx context.Context, c *client.Client, typed string) []cobra.Completion {
	tags, err := c.ValidTags(ctx, typed, true, defaultTags)
	if err != nil {
		return nil
	}
	var found []cobra.Completion
	for _, tag := range tags {
		found = append(found, cobra.CompletionWithDesc(tag.Key+"="+tag.Value, tag.Source))
	}
	return found
}
