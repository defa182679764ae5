package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/ui/target"
)

// adminGroup is a command that holds those for one kind of thing.
func (a *app) adminGroup(name, short string, children ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, RunE: a.group}
	command.AddCommand(children...)
	return command
}

// administration is what a command of admin does with a client.
type administration func(ctx context.Context, c *client.Client, arguments []string) error

// adminCommandOf makes a command that looks at the directory, or changes it. Flags are added by the caller.
func (a *app) adminCommandOf(use, short string, change bool, run administration) *cobra.Command {
	return a.administering("this administers", use, short, change, run)
}

// administering makes a command of admin. The word for what it does appears in the note about searches that go elsewhere.
func (a *app) administering(does, use, short string, change bool, run administration) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if change {
				if err := a.mayChange(); err != nil {
					return err
				}
			}
			ctx, cancel := a.deadline(command.Context())
			defer cancel()
			session, err := a.administered(ctx, does, change)
			if err != nil {
				return err
			}
			defer func() { _ = session.Close() }()
			return run(ctx, session.Client, arguments)
		}}
}

// administered opens this machine's library, or what a flag names.
func (a *app) administered(ctx context.Context, does string, change bool) (*client.Session, error) {
	switch {
	case a.flags.sample:
		return nil, usage("Leave --sample out.", "the sample library is not administered")
	case a.flags.server == "" && a.flags.profile == "":
		a.tellOtherTarget(does)
		return a.administer(ctx, change)
	case a.flags.tenant != "":
		return nil, usage("Leave --tenant out: a token names its tenant.", "--tenant is for a library of this machine")
	}
	choice, err := a.decide()
	if err != nil {
		return nil, err
	}
	if choice.Kind == target.KindSample || choice.Kind == target.KindSlack {
		return nil, usage("Name a server or a library.", "%s is not administered", choice.Describe())
	}
	return a.open(ctx, choice)
}

// oneName is the one argument of a command.
func (a *app) oneName(arguments []string, what, example string) (string, error) {
	if len(arguments) != 1 || strings.TrimSpace(arguments[0]) == "" {
		return "", usage("Like this: quarry "+a.commandName()+" "+example, "give one %s, not %d", what, len(arguments))
	}
	return arguments[0], nil
}

func (a *app) noArguments(arguments []string) error {
	if len(arguments) > 0 {
		return usage("See: quarry "+a.commandName()+" --help", "%q: this command takes no arguments", arguments[0])
	}
	return nil
}

// checkEmails refuses what is no address.
func checkEmails(emails ...string) error {
	for _, email := range emails {
		if !strings.Contains(email, "@") {
			return usage("Give the user's email address.", "%q is not an email address", email)
		}
	}
	return nil
}

// tell reports what was made: as JSON for scripts, in a line for people.
func (a *app) tell(value any, format string, args ...any) error {
	if !a.wantsJSON() {
		a.say(format, args...)
		return nil
	}
	text, err := encodeJSON(value)
	if err != nil {
		return err
	}
	return a.print(text)
}

// listing makes what a command does that lists one kind of thing.
func listing[T any](a *app, kind, none string, list func(*client.Client, context.Context) ([]T, error), header []string,
	cells func(T) []string) administration {
	return func(ctx context.Context, c *client.Client, arguments []string) error {
		if err := a.noArguments(arguments); err != nil {
			return err
		}
		found, err := list(c, ctx)
		if err != nil {
			return err
		}
		return adminList(a, kind, found, none, header, cells)
	}
}

// adminList prints rows.
func adminList[T any](a *app, kind string, found []T, none string, header []string, cells func(T) []string) error {
	if a.wantsJSON() {
		return a.printAnswer(kind, rows[T](found), true, false)
	}
	if len(found) == 0 {
		a.say("%s%s", none, a.libraryFlag())
		return nil
	}
	t := table{header: header, style: a.style, width: a.io.columns()}
	for _, row := range found {
		t.rows = append(t.rows, cells(row))
	}
	return a.print([]byte(t.String()))
}

// present makes of missing lists empty ones, which JSON shows as [].
func present(lists ...*[]string) {
	for _, list := range lists {
		*list = append([]string{}, *list...)
	}
}

// listOr joins names for a cell.
func listOr(names []string, otherwise string) string {
	if len(names) == 0 {
		return otherwise
	}
	return strings.Join(names, ", ")
}

// audienceOf says for whom something is.
func audienceOf(public bool, users, groups []string) string {
	if public {
		return "everybody"
	}
	return listOr(slices.Concat(groups, users), "administrators")
}
