package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/passage"
)

const longestTokenName = 100 // characters

func (a *app) adminUsers() *cobra.Command {
	var role string
	add := addCommand(a, "add EMAIL", "Add a user, or change the role of one",
		func(ctx context.Context, c *client.Client, email string) (*wire.Added[wire.DirectoryUser], error) {
			if !slices.Contains([]string{"", "basic", "admin"}, role) {
				return nil, usage("Give --role basic or --role admin.", "%q is not a role", role)
			}
			if err := checkEmails(email); err != nil {
				return nil, err
			}
			return c.AdminAddUser(ctx, email, role)
		},
		func(added *wire.Added[wire.DirectoryUser]) string {
			user := added.Item
			if !added.IsNew {
				return fmt.Sprintf("%s was there already: %s.", user.Email, user.Role)
			}
			return fmt.Sprintf("%s may use this library now (%s). A token for them: quarry admin token add --name NAME --user %s%s",
				user.Email, user.Role, user.Email, a.libraryFlag())
		})
	add.Flags().StringVar(&role, "role", "", "what kind of user (`ROLE`): basic or admin; one who exists gets it (default basic)")
	list := listCommand(a, "users", "No users. Add one with: quarry admin user add EMAIL", (*client.Client).AdminUsers,
		[]string{"EMAIL", "ROLE", "SINCE", "STATE"}, func(u wire.DirectoryUser) []string {
			state := "active"
			if !u.IsActive {
				state = "kept out"
			}
			return []string{u.Email, u.Role, passage.Day(u.CreatedAt), state}
		})
	setActive := func(active bool) func(*client.Client, context.Context, string) error {
		return func(c *client.Client, ctx context.Context, email string) error {
			return c.AdminSetUserActive(ctx, email, active)
		}
	}
	return a.group("user", "Add, list, deactivate and remove users", add, list,
		a.changeCommand("deactivate EMAIL", "Deactivate a user", "%s is kept out, with all tokens.", setActive(false)),
		a.changeCommand("activate EMAIL", "Activate a deactivated user", "%s is let in again.", setActive(true)),
		a.changeCommand("remove EMAIL", "Remove a user", "%s is removed, with all tokens.", (*client.Client).AdminRemoveUser))
}

// groupFlags name a group and its members.
type groupFlags struct {
	external          string // SOURCE:ID
	users, connectors []string
}

// read returns the group that the argument or --external names.
func (f groupFlags) read(name string) (wire.DirectoryGroup, error) {
	group := wire.DirectoryGroup{Name: name, External: f.external != "", Users: f.users, Connectors: f.connectors}
	if err := checkEmails(f.users...); err != nil {
		return group, err
	}
	source, id, found := strings.Cut(f.external, ":")
	_, known := wire.LookupSource(source)
	switch {
	case !group.External && strings.TrimSpace(name) == "":
		return group, usage("Example: quarry admin group add Engineering --user jo@acme.com", "missing argument NAME of the group")
	case !group.External:
		return group, nil
	case name != "":
		return group, usage("Give the name or --external, not both.", "unexpected argument %q", name)
	case !found || strings.TrimSpace(id) == "":
		return group, usage("Example: --external slack:C024BE91L", "--external %q is not SOURCE:ID", f.external)
	case !known:
		return group, unknownSource(source)
	}
	group.Name = f.external
	return group, nil
}

func (a *app) adminGroups() *cobra.Command {
	added := groupFlags{}
	add := addCommand(a, "add [NAME] [--user EMAIL]", "Create a group, or add members to it",
		func(ctx context.Context, c *client.Client, name string) (*wire.Added[wire.DirectoryGroup], error) {
			group, err := added.read(name)
			switch {
			case err != nil:
				return nil, err
			case group.External && len(group.Users) == 0:
				return nil, usage("Say who belongs to it: --user jo@acme.com", "a group of another system needs users")
			case group.External && len(group.Connectors) > 0:
				return nil, usage("A synced connector knows its groups by itself.", "--connector is for groups of this library")
			}
			return c.AdminAddGroup(ctx, group)
		},
		func(result *wire.Added[wire.DirectoryGroup]) string {
			return fmt.Sprintf("Group %s: added %s.", result.Item.Name, listOr("with nobody in it", added.users, added.connectors))
		})
	flags := add.Flags()
	flags.StringVar(&added.external, "external", "", "a group of the system that documents come from (`SOURCE:ID`), like slack:C024BE91L")
	flags.StringSliceVar(&added.users, "user", []string{}, "who belongs to it (`EMAIL`); repeatable; somebody unknown becomes a basic user")
	flags.StringSliceVar(&added.connectors, "connector", []string{}, "a private connector whose documents the group sees (`NAME`); repeatable")
	list := listCommand(a, "groups", "No groups. Make one with: quarry admin group add NAME --user EMAIL", (*client.Client).AdminGroups,
		[]string{"GROUP", "CONNECTORS", "USERS"}, func(g wire.DirectoryGroup) []string {
			connectors := listOr("none", g.Connectors)
			if g.External {
				connectors = "of its own system"
			}
			return []string{g.Name, connectors, listOr("nobody", g.Users)}
		})
	return a.group("group", "Create, list and remove groups, and their members", add, list, a.groupRemove())
}

func (a *app) groupRemove() *cobra.Command {
	removed := groupFlags{}
	command := a.administer("remove [NAME] [--user EMAIL]", "Remove a group, or members of it",
		func(ctx context.Context, c *client.Client, name string) error {
			group, err := removed.read(name)
			if err != nil {
				return err
			}
			if err := c.AdminRemoveGroup(ctx, group); err != nil {
				return err
			}
			if len(group.Users) > 0 {
				a.say("No longer in group %s: %s.", group.Name, strings.Join(group.Users, ", "))
			} else {
				a.say("Group %s is removed.", group.Name)
			}
			return nil
		})
	flags := command.Flags()
	flags.StringVar(&removed.external, "external", "", "a group of the system that documents come from (`SOURCE:ID`)")
	flags.StringSliceVar(&removed.users, "user", nil, "take only this user out of it (`EMAIL`); repeatable")
	return command
}

func (a *app) adminTokens() *cobra.Command {
	request, days := wire.DirectoryTokenRequest{}, 0
	var add *cobra.Command
	add = a.administer("add --name NAME", "Create an access token", func(ctx context.Context, c *client.Client, _ string) error {
		if add.Flags().Changed("expires") {
			request.ExpirationDays = &days
		}
		if err := checkTokenRequest(request); err != nil {
			return err
		}
		added, err := c.AdminAddToken(ctx, request)
		if err != nil {
			return err
		}
		a.noteNewUsers(added.NewUsers)
		return a.printToken(added.Item)
	})
	flags := add.Flags()
	flags.StringVar(&request.Name, "name", "", "what the token is for (`NAME`), 1 to 100 characters")
	flags.StringVar(&request.User, "user", "", "whose token it is (`EMAIL`) (default the owner)")
	flags.StringSliceVar(&request.Scopes, "scope", nil,
		"what it may do (`SCOPE`), like read:search; repeatable (default all that the user may)")
	flags.IntVar(&days, "expires", 0, "after how many `DAYS` it stops working (default never)")
	list := a.administer("list", "List access tokens", func(ctx context.Context, c *client.Client, _ string) error {
		found, err := c.AdminTokens(ctx)
		if err != nil {
			return err
		}
		return a.printTokens(found)
	})
	remove := a.administer("remove ID", "Revoke an access token", func(ctx context.Context, c *client.Client, name string) error {
		id, err := strconv.Atoi(name)
		if err != nil {
			return usage("Give the number of a token: quarry admin token list", "%q is not a number", name)
		}
		if err := c.AdminRemoveToken(ctx, id); err != nil {
			return err
		}
		a.say("Token %d no longer works.", id)
		return nil
	})
	return a.group("token", "Create, list and revoke access tokens", add, list, remove)
}

func checkTokenRequest(request wire.DirectoryTokenRequest) error {
	name, days := strings.TrimSpace(request.Name), request.ExpirationDays
	switch length := len([]rune(name)); {
	case length == 0:
		return usage("Say what the token is for: --name laptop", "a token needs a name")
	case length > longestTokenName:
		return usage("Give a shorter name.", "the name has %d characters; at most 100 are allowed", length)
	case days != nil && *days < 1:
		return usage("Give a number of days from 1 on.", "--expires %d is out of range", *days)
	case request.User != "":
		return checkEmails(request.User)
	}
	return nil
}

// printToken shows a new token. This is the only time that it can be seen.
func (a *app) printToken(token wire.NewAccessToken) error {
	if a.wantsJSON() {
		return a.printJSON(token)
	}
	if err := a.print([]byte(token.Token + "\n")); err != nil {
		return err
	}
	expiry := "It does not expire."
	if token.ExpiresAt != nil {
		expiry = "It works until " + passage.Day(*token.ExpiresAt) + "."
	}
	a.say("This is the only time that it is shown. %s", expiry)
	a.say("Use it with: export QUARRY_SERVER_URL=http://HOST:PORT QUARRY_PAT=%s…", text.Clip(token.Token, 12))
	return nil
}

// printTokens lists tokens. A server lists the caller's own and names no user.
func (a *app) printTokens(found []wire.DirectoryToken) error {
	row := rowMaker(2, slices.ContainsFunc(found, func(token wire.DirectoryToken) bool { return token.User != "" }))
	header := row("ID", "NAME", "USER", "TOKEN", "CREATED", "EXPIRES", "LAST USED", "SCOPES")
	none := "No tokens. Make one with: quarry admin token add --name NAME" + a.libraryFlag()
	return printList(a, "tokens", found, none, true, table{header: header}, func(token wire.DirectoryToken) []string {
		scopes := "all of the user's"
		if token.Scopes != nil {
			scopes = strings.Join(token.Scopes, ", ")
		}
		return row(strconv.Itoa(token.ID), token.Name, token.User, token.TokenDisplay, passage.Day(token.CreatedAt),
			dayOr(token.ExpiresAt, "never"), dayOr(token.LastUsedAt, "never"), scopes)
	})
}
