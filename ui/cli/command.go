package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// newCommand returns a command. Its usage line says how many arguments it takes: NAME is one, [NAME] one or none, NAME…
// any number, and a line without these none.
func (a *app) newCommand(use, short string, run func(ctx context.Context, arguments []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := checkArguments(command, arguments); err != nil {
				return err
			}
			return run(command.Context(), arguments)
		}}
}

// targetCommand returns a command that works on the target of searches. Without a target that is its error, whatever the
// arguments are.
func (a *app) targetCommand(use, short string,
	run func(ctx context.Context, choice target.Choice, arguments []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			choice, err := a.decide(a.request())
			if err == nil {
				err = checkArguments(command, arguments)
			}
			if err != nil {
				return err
			}
			return run(command.Context(), choice, arguments)
		}}
}

func checkArguments(command *cobra.Command, arguments []string) error {
	name, most := "", 0
	if fields := strings.Fields(command.Use); len(fields) > 1 && !strings.Contains(fields[1], "--") {
		name, most = fields[1], 1
	}
	example, _, _ := strings.Cut(lookupHelp(command.CommandPath()).examples, "\n")
	switch {
	case strings.Contains(name, "…"):
		return nil
	case len(arguments) > most:
		return usage("See: "+command.CommandPath()+" --help", "unexpected argument %q", arguments[most])
	case most == 0 || strings.HasPrefix(name, "["):
		return nil
	case len(arguments) == 0:
		return usage("Example: "+example, "missing argument %s", name)
	case strings.TrimSpace(arguments[0]) == "":
		return usage("Example: "+example, "argument %s is empty", name)
	}
	return nil
}

// group returns a command that only has subcommands. It prints its help and refuses arguments.
func (a *app) group(name, short string, children ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return command.Help()
			}
			var names []string
			for _, child := range children {
				names = append(names, child.Name())
			}
			do := "See: " + command.CommandPath() + " --help"
			return usage(nearestOf(arguments[0], names, do), "unknown command %q for %q", arguments[0], command.CommandPath())
		}}
	command.AddCommand(children...)
	return command
}

// opener opens a session.
type opener func(context.Context) (*client.Session, error)

// onTarget opens what searches ask.
func (a *app) onTarget(choice target.Choice) opener {
	return func(ctx context.Context) (*client.Session, error) { return a.open(ctx, choice) }
}

// with opens a session and works with its client, within --timeout.
func (a *app) with(ctx context.Context, open opener, work func(context.Context, *client.Client) error) error {
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	session, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }()
	return work(ctx, session.Client)
}

// nearestOf completes a hint with the known value that is nearest to what was given, if one is near.
func nearestOf(value string, known []string, hint string) string {
	if near := wire.Nearest(value, known); near != "" {
		return strings.TrimSpace(fmt.Sprintf("Did you mean %q? %s", near, hint))
	}
	return hint
}
