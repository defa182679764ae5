package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/passage"
)

func (a *app) adminUserCommand() *cobra.Command {
	return a.adminGroup("user", "Add, list, deactivate and remove users", a.userAddCommand(), a.userListCommand(),
		a.userChangeCommand("deactivate EMAIL", "Deactivate a user", "%s is kept out, with all tokens.",
			func(c *client.Client, ctx context.Context, email string) error {
				return c.AdminSetUserActive(ctx, email, false)
			}),
		a.userChangeCommand("activate EMAIL", "Activate a deactivated user", "%s is let in again.",
			func(c *client.Client, ctx context.Context, email string) error {
				return c.AdminSetUserActive(ctx, email, true)
			}),
		a.userChangeCommand("remove EMAIL", "Remove a user", "%s is removed, with all tokens.",
			(*client.Client).AdminRemoveUser))
}

func (a *app) userAddCommand() *cobra.Command {
	role := ""
	command := a.adminCommandOf("add EMAIL", "Add a user, or change the role of one", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			email, err := a.oneName(arguments, "email address", "jo@acme.com")
			if err == nil {
				err = checkEmails(email)
			}
			if err != nil {
				return err
			}
			if role != "" && role != "basic" && role != "admin" {
				return usage("Give --role basic or --role admin.", "%q is not a role", role)
			}
			added, err := c.AdminAddUser(ctx, email, role)
			if err != nil {
				return err
			}
			user := added.Item
			if !added.IsNew {
				return a.tell(user, "%s was there already: %s.", user.Email, user.Role)
			}
			return a.tell(user, "%s may use this library now (%s). A token for them: quarry admin token add --name NAME --user %s%s",
				user.Email, user.Role, user.Email, a.libraryFlag())
		})
	command.Flags().StringVar(&role, "role", "", "what kind of user (`ROLE`): basic or admin; one who exists gets it (default basic)")
	return command
}

func (a *app) userListCommand() *cobra.Command {
	return a.adminCommandOf("list", "List users", false, listing(a, "users",
		"No users. Add one with: quarry admin user add EMAIL",
		(*client.Client).AdminUsers, []string{"EMAIL", "ROLE", "SINCE", "STATE"}, func(u wire.DirectoryUser) []string {
			state := "active"
			if !u.IsActive {
				state = "kept out"
			}
			return []string{u.Email, u.Role, passage.Day(u.CreatedAt), state}
		}))
}

func (a *app) userChangeCommand(use, short string, said string,
	change func(*client.Client, context.Context, string) error) *cobra.Command {
	return a.adminCommandOf(use, short, true, func(ctx context.Context, c *client.Client, arguments []string) error {
		email, err := a.oneName(arguments, "email address", "jo@acme.com")
		if err == nil {
			err = checkEmails(email)
		}
		if err == nil {
			err = change(c, ctx, email)
		}
		if err != nil {
			return err
		}
		a.say(said, email)
		return nil
	})
}

func (a *app) adminGroupCommand() *cobra.Command {
	return a.adminGroup("group", "Create, list and remove groups, and their members", a.groupAddCommand(), a.groupListCommand(), a.groupRemoveCommand())
}

func (a *app) noteNewUsers(emails []string) {
	for _, email := range emails {
		a.note("there was no user %s, so one was made", email)
	}
}

// groupOf reads which group a command is about: a name, or --external SOURCE:ID.
func (a *app) groupOf(arguments []string, external string, users []string) (wire.DirectoryGroup, error) {
	group := wire.DirectoryGroup{Name: external, External: external != "", Users: append([]string{}, users...), Connectors: []string{}}
	if err := checkEmails(users...); err != nil {
		return group, err
	}
	if !group.External {
		name, err := a.oneName(arguments, "group", "Engineering --user jo@acme.com")
		group.Name = name
		return group, err
	}
	if err := a.noArguments(arguments); err != nil {
		return group, err
	}
	source, id, found := strings.Cut(external, ":")
	if !found || strings.TrimSpace(id) == "" {
		return group, usage("Like this: --external slack:C024BE91L", "--external %q is not SOURCE:ID", external)
	}
	if _, known := wire.LookupSource(source); !known {
		return group, unknownSource(source)
	}
	return group, nil
}

// unknownSource names the source that was probably meant.
func unknownSource(source string) error {
	var values []string
	for _, known := range wire.Sources() {
		values = append(values, known.Value)
	}
	do := "See: quarry sources"
	if near := wire.Nearest(source, values); near != "" {
		do = "Did you mean: " + near
	}
	return usage(do, "%q is not a source", source)
}

func (a *app) groupAddCommand() *cobra.Command {
	external, users, connectors := "", []string(nil), []string(nil)
	command := a.adminCommandOf("add NAME [--user EMAIL]", "Create a group, or add members to it", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			group, err := a.groupOf(arguments, external, users)
			if err != nil {
				return err
			}
			switch {
			case group.External && len(users) == 0:
				return usage("Say who belongs to it: --user jo@acme.com", "a group of another system needs users")
			case group.External && len(connectors) > 0:
				return usage("A synced connector knows its groups by itself.", "--connector is for groups of this library")
			}
			group.Connectors = append(group.Connectors, connectors...)
			added, err := c.AdminAddGroup(ctx, group)
			if err != nil {
				return err
			}
			a.noteNewUsers(added.NewUsers)
			return a.tell(added.Item, "Group %s: added %s.", group.Name,
				listOr(slices.Concat(group.Users, group.Connectors), "with nobody in it"))
		})
	flags := command.Flags()
	flags.StringVar(&external, "external", "", "a group of the system that documents come from (`SOURCE:ID`), like slack:C024BE91L")
	flags.StringSliceVar(&users, "user", nil, "who belongs to it (`EMAIL`); repeatable; somebody unknown becomes a basic user")
	flags.StringSliceVar(&connectors, "connector", nil, "a private connector whose documents the group sees (`NAME`); repeatable")
	return command
}

func (a *app) groupListCommand() *cobra.Command {
	return a.adminCommandOf("list", "List groups", false, listing(a, "groups",
		"No groups. Make one with: quarry admin group add NAME --user EMAIL",
		(*client.Client).AdminGroups, []string{"GROUP", "CONNECTORS", "USERS"}, func(g wire.DirectoryGroup) []string {
			connectors := listOr(g.Connectors, "none")
			if g.External {
				connectors = "of its own system"
			}
			return []string{g.Name, connectors, listOr(g.Users, "nobody")}
		}))
}

func (a *app) groupRemoveCommand() *cobra.Command {
	external, users := "", []string(nil)
	command := a.adminCommandOf("remove NAME [--user EMAIL]", "Remove a group, or members of it", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			group, err := a.groupOf(arguments, external, users)
			if err != nil {
				return err
			}
			if err := c.AdminRemoveGroup(ctx, group); err != nil {
				return err
			}
			if len(users) > 0 {
				a.say("No longer in group %s: %s.", group.Name, strings.Join(users, ", "))
			} else {
				a.say("Group %s is removed.", group.Name)
			}
			return nil
		})
	flags := command.Flags()
	flags.StringVar(&external, "external", "", "a group of the system that documents come from (`SOURCE:ID`)")
	flags.StringSliceVar(&users, "user", nil, "take only this user out of it (`EMAIL`); repeatable")
	return command
}
