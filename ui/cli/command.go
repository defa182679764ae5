package cli

import (
	"context"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// class is what a command does to libraries, directories, tokens and profiles.
type class int

const (
	reads       class = iota + 1 // leaves them as they are
	changes                      // is refused by QUARRY_READONLY
	administers                  // as changes, in the directory of a tenant
)

// traits say what a command is, beside its usage line and its help text. A test fails for a command that lacks them.
type traits struct {
	class  class
	guests bool // visitors over SSH have the command
	// json returns the types of what the command prints with --json; nil: that is no JSON.
	json func() []*jsonschema.Schema
	// arguments completes the arguments; required if the usage line has any.
	arguments cobra.CompletionFunc
	// open opens what lists the values of arguments and flags; nil: the target of searches.
	open opener
}

// describe gives a command its traits.
func (a *app) describe(command *cobra.Command, is traits) {
	if a.traits == nil {
		a.traits = map[*cobra.Command]traits{}
	}
	a.traits[command], command.ValidArgsFunction = is, is.arguments
}

// guestCommands are those that a guest may run.
func (a *app) guestCommands(root *cobra.Command) []string {
	return append(exslices.CastFuncFilter(root.Commands(), func(c *cobra.Command) (string, bool) {
		return c.Name(), a.traits[c].guests && c.Name() != "help"
	}), "help")
}

// CommandInfo describes a command for documentation, and for tests of whole command lines.
type CommandInfo struct {
	Path    string // without "quarry"
	Changes bool   // QUARRY_READONLY refuses it
	Guests  bool   // visitors over SSH have it
	Schema  string // the argument of quarry schema; "" if it prints no JSON
}

// Commands lists the commands that have none below them.
func Commands() (all []CommandInfo) {
	a := &app{out: &gate{}, err: &gate{}}
	for command := range commandsBelow(a.root()) {
		if command.HasSubCommands() || command.Hidden {
			continue
		}
		is := a.traits[command]
		one := CommandInfo{Path: commandPath(command), Changes: is.class != reads, Guests: is.guests}
		if is.json != nil {
			one.Schema = strings.ReplaceAll(one.Path, " ", "-")
		}
		all = append(all, one)
	}
	return all
}

// commandPath returns what a person types behind quarry.
func commandPath(command *cobra.Command) string {
	_, path, _ := strings.Cut(command.CommandPath(), " ")
	return path
}

// newCommand returns a command. Its usage line says how many arguments it takes: NAME is one, [NAME] one or none, NAME…
// any number, and a line without these none.
func (a *app) newCommand(use, short string, is traits,
	run func(ctx context.Context, arguments []string)) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if is.class != reads && a.program.ReadOnly {
				return fail(ExitNotAvailable, "Unset QUARRY_READONLY to allow changes on this machine.",
					"`%s` is disabled by QUARRY_READONLY", a.commandName())
			}
			checkArguments(command, arguments)
			run(command.Context(), arguments)
			return nil
		}}
	a.describe(command, is)
	return command
}

// targetCommand returns a command that works on the target of searches. Without a target that is its error, whatever
// the arguments are.
func (a *app) targetCommand(use, short string, is traits,
	run func(ctx context.Context, choice target.Choice, arguments []string)) *cobra.Command {
	var choice target.Choice
	command := a.newCommand(use, short, is,
		func(ctx context.Context, arguments []string) { run(ctx, choice, arguments) })
	checked := command.RunE
	command.RunE = func(command *cobra.Command, arguments []string) error {
		choice = a.decide(a.request())
		return checked(command, arguments)
	}
	return command
}

func checkArguments(command *cobra.Command, arguments []string) {
	name, most := argumentOf(command), 1
	example, _, _ := strings.Cut(lookupHelp(command.CommandPath()).examples, "\n")
	switch {
	case strings.Contains(name, "…"):
		return
	case name == "":
		most = 0
	}
	switch {
	case len(arguments) > most:
		refuse("See: "+command.CommandPath()+" --help", "unexpected argument %q", arguments[most])
	case most == 0 || strings.HasPrefix(name, "["):
		return
	case len(arguments) == 0:
		refuse("Example: "+example, "missing argument %s", name)
	case strings.TrimSpace(arguments[0]) == "":
		refuse("Example: "+example, "argument %s is empty", name)
	}
}

// argumentOf returns what a usage line calls the arguments; "" if there are none.
func argumentOf(command *cobra.Command) string {
	if fields := strings.Fields(command.Use); len(fields) > 1 && !strings.Contains(fields[1], "--") {
		return fields[1]
	}
	return ""
}

// group returns a command that only has subcommands. It prints its help and refuses arguments.
func (a *app) group(name, short string, children ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return command.Help()
			}
			names := exslices.CastFunc(children, (*cobra.Command).Name)
			do := wire.Hint(arguments[0], "See: "+command.CommandPath()+" --help", names)
			return usage(do, "unknown command %q for %q", arguments[0], command.CommandPath())
		}}
	a.describe(command, traits{class: reads})
	command.AddCommand(children...)
	return command
}

// opener opens a session.
type opener func(context.Context) *client.Session

// onTarget opens what searches ask.
func (a *app) onTarget(choice target.Choice) opener {
	return func(ctx context.Context) *client.Session { return a.open(ctx, choice) }
}

// with opens a session and works with its client, within --timeout.
func (a *app) with(ctx context.Context, open opener, work func(context.Context, *client.Client)) {
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	ctx = a.traced(ctx)
	started := a.now()
	session := open(ctx)
	defer session.Close()
	a.debug("opened in %s", a.now().Sub(started).Round(time.Microsecond))
	work(ctx, session.Client)
}

// traced returns a context whose requests --debug prints.
func (a *app) traced(ctx context.Context) context.Context {
	if a.flags.Debug {
		return client.WithTrace(ctx, a.debugRequest)
	}
	return ctx
}
