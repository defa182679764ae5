package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
)

// Directory administers who may use a served library, and what is arranged for them. Things are named as people name
// them.
type Directory interface {
	Users(ctx context.Context) ([]wire.DirectoryUser, error)
	// AddUser makes a user. With a role, one who exists gets it; made tells that there was none.
	AddUser(ctx context.Context, email, role string) (user wire.DirectoryUser, made bool, err error)
	// SetUserActive lets a user in or keeps them out.
	SetUserActive(ctx context.Context, email string, active bool) error
	RemoveUser(ctx context.Context, email string) error

	Groups(ctx context.Context) ([]wire.DirectoryGroup, error)
	// AddGroup makes a group, or adds users and connectors to the one of that name; made lists new users.
	AddGroup(ctx context.Context, group wire.DirectoryGroup) (made []string, err error)
	// RemoveGroup takes users out of a group, or removes the group if none are given.
	RemoveGroup(ctx context.Context, group wire.DirectoryGroup) error

	Connectors(ctx context.Context) ([]wire.DirectoryConnector, error)
	// AddConnector makes a connector and completes it with its number and its creator.
	AddConnector(ctx context.Context, connector *wire.DirectoryConnector) error
	// RemoveConnector removes a connector with its documents.
	RemoveConnector(ctx context.Context, name string) error

	DocumentSets(ctx context.Context) ([]wire.DirectorySet, error)
	AddDocumentSet(ctx context.Context, set wire.DirectorySet) (id int, err error)
	RemoveDocumentSet(ctx context.Context, name string) error

	Agents(ctx context.Context) ([]wire.DirectoryAgent, error)
	// AddAgent makes an agent and completes it with its number and its owner.
	AddAgent(ctx context.Context, agent *wire.DirectoryAgent) error
	// RemoveAgent removes an agent that is named by its number or its name.
	RemoveAgent(ctx context.Context, named string) error

	Tenants(ctx context.Context) ([]wire.DirectoryTenant, error)
	// AddTenant makes a tenant; made tells that there was none of that name.
	AddTenant(ctx context.Context, name string) (tenant wire.DirectoryTenant, made bool, err error)
	// RemoveTenant removes a tenant with all that it has, and returns what that was. One that is not empty is refused,
	// unless force.
	RemoveTenant(ctx context.Context, name string, force bool) (wire.DirectoryTenant, error)

	Close() error
}

// adminGroup is a command that holds those for one kind of thing.
func (a *app) adminGroup(name, short string, children ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, RunE: a.group}
	command.AddCommand(children...)
	return command
}

// adminCommandOf is a command that works on the directory. Flags are added by the caller.
func (a *app) adminCommandOf(use, short string, changes bool,
	run func(context.Context, Directory, []string) error) *cobra.Command {
	command := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if changes {
				if err := a.mayChange(); err != nil {
					return err
				}
			}
			ctx, cancel := a.deadline(command.Context())
			defer cancel()
			directory, err := a.directory(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = directory.Close() }()
			return run(ctx, directory, arguments)
		}}
	return command
}

// directory opens that of this machine's library, or of a server that a flag names.
func (a *app) directory(ctx context.Context) (Directory, error) {
	if a.flags.sample {
		return nil, usage("Leave --sample out.", "the sample library is not administered")
	}
	if a.flags.server == "" && a.flags.profile == "" {
		a.tellOtherTarget("this administers")
		return a.program.Directory(ctx, a.flags.library, a.flags.tenant)
	}
	session, err := a.administered(ctx)
	if err != nil {
		return nil, err
	}
	return remoteDirectory{session}, nil
}

// administered connects to the server that a flag names.
func (a *app) administered(ctx context.Context) (*client.Session, error) {
	if a.flags.tenant != "" {
		return nil, usage("Leave --tenant out: a token names its tenant.", "--tenant is for a library of this machine")
	}
	choice, err := a.decide()
	if err != nil {
		return nil, err
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
