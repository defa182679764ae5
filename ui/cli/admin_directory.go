package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

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
		func(email string) (string, error) {
			if !slices.Contains([]string{"", "basic", "admin"}, role) {
				return "", usage("Use --role basic or --role admin.", "unknown role %q", role)
			}
			return email, checkEmails(email)
		},
		func(c *client.Client, ctx context.Context, email string) (*wire.Added[wire.DirectoryUser], error) {
			return c.AdminAddUser(ctx, email, role)
		},
		func(added *wire.Added[wire.DirectoryUser]) string {
			user := added.Item
			if !added.IsNew {
				return fmt.Sprintf("User %s already exists (%s).", user.Email, user.Role)
			}
			return fmt.Sprintf("Created user %s (%s). Create a token: quarry admin token add --name NAME --user %s%s",
				user.Email, user.Role, user.Email, a.libraryFlag())
		})
	add.Flags().StringVar(&role, "role", "", "role of the user (`ROLE`): basic or admin; changes that of an existing user (default basic)")
	list := listCommand(a, "users", "No users. Add one: quarry admin user add EMAIL", (*client.Client).AdminUsers,
		table{header: []string{"EMAIL", "ROLE", "SINCE", "STATE"}}, func(u wire.DirectoryUser) []string {
			state := "active"
			if !u.IsActive {
				state = "deactivated"
			}
			return []string{u.Email, u.Role, passage.Day(u.CreatedAt), state}
		})
	setActive := func(active bool) func(*client.Client, context.Context, string) error {
		return func(c *client.Client, ctx context.Context, email string) error {
			return c.AdminSetUserActive(ctx, email, active)
		}
	}
	return a.group("user", "Add, list, deactivate and remove users", add, list,
		a.changeCommand("deactivate EMAIL", "Deactivate a user", "Deactivated %s. All tokens of this user are disabled.", setActive(false)),
		a.changeCommand("activate EMAIL", "Activate a deactivated user", "Activated %s.", setActive(true)),
		a.changeCommand("remove EMAIL", "Remove a user", "Removed %s and all tokens of this user.", (*client.Client).AdminRemoveUser))
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
		return group, usage("Example: quarry admin group add Engineering --user jo@acme.com", "missing argument NAME")
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
		func(name string) (wire.DirectoryGroup, error) {
			group, err := added.read(name)
			switch {
			case err != nil:
			case group.External && len(group.Users) == 0:
				err = usage("Add --user jo@acme.com", "--external requires --user")
			case group.External && len(group.Connectors) > 0:
				err = usage("Omit --connector: synced documents name their groups.", "--external and --connector exclude each other")
			}
			return group, err
		}, (*client.Client).AdminAddGroup,
		func(result *wire.Added[wire.DirectoryGroup]) string {
			return fmt.Sprintf("Added to group %s: %s.", result.Item.Name, listOr("nobody", added.users, added.connectors))
		})
	flags := add.Flags()
	flags.StringVar(&added.external, "external", "", "a group of another system (`SOURCE:ID`), like slack:C024BE91L")
	flags.StringSliceVar(&added.users, "user", []string{}, "a member (`EMAIL`), created if unknown; repeatable")
	flags.StringSliceVar(&added.connectors, "connector", []string{}, "a private connector that the group can read (`NAME`); repeatable")
	list := listCommand(a, "groups", "No groups. Create one: quarry admin group add NAME --user EMAIL", (*client.Client).AdminGroups,
		table{header: []string{"GROUP", "CONNECTORS", "USERS"}}, func(g wire.DirectoryGroup) []string {
			connectors := listOr("none", g.Connectors)
			if g.External {
				connectors = "synced"
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
				a.say("Removed from group %s: %s.", group.Name, strings.Join(group.Users, ", "))
			} else {
				a.say("Removed group %s.", group.Name)
			}
			return nil
		})
	flags := command.Flags()
	flags.StringVar(&removed.external, "external", "", "a group of another system (`SOURCE:ID`)")
	flags.StringSliceVar(&removed.users, "user", nil, "remove only this member (`EMAIL`); repeatable")
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
	flags.StringVar(&request.Name, "name", "", "name of the token (`NAME`), 1 to 100 characters")
	flags.StringVar(&request.User, "user", "", "owner of the token (`EMAIL`) (default the owner of the library)")
	flags.StringSliceVar(&request.Scopes, "scope", nil,
		"permission (`SCOPE`), like read:search; repeatable (default all permissions of the user)")
	flags.IntVar(&days, "expires", 0, "expire after this many `DAYS` (default never)")
	list := listCommand(a, "access-tokens", "No tokens. Create one: quarry admin token add --name NAME", (*client.Client).AdminTokens,
		table{header: []string{"ID", "NAME", "USER", "TOKEN", "CREATED", "EXPIRES", "LAST USED", "SCOPES"}, optional: 2}, tokenCells)
	remove := a.administer("remove ID", "Revoke an access token", func(ctx context.Context, c *client.Client, name string) error {
		id, err := strconv.Atoi(name)
		if err != nil {
			return usage("See: quarry admin token list", "%q is not the number of a token", name)
		}
		if err := c.AdminRemoveToken(ctx, id); err != nil {
			return err
		}
		a.say("Revoked token %d.", id)
		return nil
	})
	return a.group("token", "Create, list and revoke access tokens", add, a.ensureTokenCommand(), list, remove)
}

func checkTokenRequest(request wire.DirectoryTokenRequest) error {
	name, days := strings.TrimSpace(request.Name), request.ExpirationDays
	switch length := len([]rune(name)); {
	case length == 0:
		return usage("Example: quarry admin token add --name laptop", "missing flag --name")
	case length > longestTokenName:
		return usage("Give a shorter name.", "--name has %d characters; the limit is 100", length)
	case days != nil && *days < 1:
		return usage("Give 1 or more days.", "--expires %d is out of range", *days)
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
		expiry = "It expires on " + passage.Day(*token.ExpiresAt) + "."
	}
	a.say("The token is shown only once. %s", expiry)
	a.say("To use it: export QUARRY_SERVER_URL=http://HOST:PORT QUARRY_PAT=%s…", text.Clip(token.Token, 12))
	return nil
}

// tokenCells returns the row of a token. A server lists only the caller's own and names no user.
func tokenCells(token wire.DirectoryToken) []string {
	scopes := "all"
	if token.Scopes != nil {
		scopes = strings.Join(token.Scopes, ", ")
	}
	return []string{strconv.Itoa(token.ID), token.Name, token.User, token.TokenDisplay, passage.Day(token.CreatedAt),
		dayOr(token.ExpiresAt, "never"), dayOr(token.LastUsedAt, "never"), scopes}
}

func (a *app) adminConnectors() *cobra.Command {
	made := wire.DirectoryConnector{DocumentSets: []string{}}
	add := addCommand(a, "add NAME --source SOURCE", "Create a connector",
		func(name string) (wire.DirectoryConnector, error) {
			made.Name = name
			return made, checkConnector(made)
		}, (*client.Client).AdminAddConnector,
		func(added *wire.Added[wire.DirectoryConnector]) string {
			return fmt.Sprintf("Created connector %s with number %d. Post documents to /onyx-api/ingestion with \"cc_pair_id\":%d.",
				made.Name, added.Item.ID, added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Source, "source", "", "source of its documents (`SOURCE`), like confluence; required")
	flags.StringVar(&made.AccessType, "access", "private",
		"who can read its documents (`TYPE`): public (everybody), private (--group and --creator), sync (as each document says)")
	flags.StringSliceVar(&made.Groups, "group", []string{}, "a group that can read its documents (`NAME`); repeatable")
	flags.StringVar(&made.Creator, "creator", "", "a user who can read its documents (`EMAIL`) (default the owner)")
	list := listCommand(a, "connectors", "No connectors. Create one: quarry admin connector add NAME --source SOURCE",
		(*client.Client).AdminConnectors, table{header: []string{"ID", "NAME", "SOURCE", "ACCESS", "SETS", "SEEN BY"}},
		func(c wire.DirectoryConnector) []string {
			seen := map[string]string{"public": "everybody", "sync": "as each document says"}[c.AccessType]
			if seen == "" {
				seen = listOr("nobody", c.Groups, []string{c.Creator})
			}
			return []string{strconv.Itoa(c.ID), c.Name, c.Source, c.AccessType, listOr("none", c.DocumentSets), seen}
		})
	return a.group("connector", "Create, list and remove connectors", add, list,
		a.changeCommand("remove NAME", "Remove a connector and its documents", "Removed connector %s and its documents.",
			(*client.Client).AdminRemoveConnector))
}

func checkConnector(c wire.DirectoryConnector) error {
	_, known := wire.LookupSource(c.Source)
	switch {
	case !known:
		return unknownSource(c.Source)
	case !slices.Contains([]string{"public", "private", "sync"}, c.AccessType):
		return usage("Use --access public, private or sync.", "unknown access type %q", c.AccessType)
	case len(c.Groups) > 0 && c.AccessType != "private":
		return usage("Omit --group, or use --access private.", "--group requires a private connector")
	case c.Creator != "":
		return checkEmails(c.Creator)
	}
	return nil
}

func (a *app) adminSets() *cobra.Command {
	made, restricted := wire.DirectorySet{}, false
	add := addCommand(a, "add NAME [--connector NAME]", "Create a document set",
		func(name string) (wire.DirectorySet, error) {
			made.Name, made.IsPublic = name, !restricted && len(made.Users)+len(made.Groups) == 0
			return made, checkEmails(made.Users...)
		}, (*client.Client).AdminAddDocumentSet,
		func(*wire.Added[wire.DirectorySet]) string {
			return fmt.Sprintf("Created document set %s for %s.", made.Name, audienceText(made.IsPublic, made.Users, made.Groups))
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "description (`TEXT`)")
	flags.StringSliceVar(&made.Connectors, "connector", []string{}, "add the documents of this connector (`NAME`); repeatable")
	audienceFlags(flags, &made.Users, &made.Groups, &restricted)
	list := listCommand(a, "document-sets", "No document sets. Create one: quarry admin document-set add NAME",
		(*client.Client).AdminDocumentSets, table{header: []string{"NAME", "CONNECTORS", "FOR", "DESCRIPTION"}},
		func(s wire.DirectorySet) []string {
			return []string{s.Name, listOr("none", s.Connectors), audienceText(s.IsPublic, s.Users, s.Groups), s.Description}
		})
	return a.group("document-set", "Create, list and remove document sets", add, list,
		a.changeCommand("remove NAME", "Remove a document set", "Removed document set %s. Its documents stay.",
			(*client.Client).AdminRemoveDocumentSet))
}

func (a *app) adminAgents() *cobra.Command {
	made, restricted, since := wire.DirectoryAgent{}, false, ""
	add := addCommand(a, "add NAME [--document-set NAME]", "Create an agent",
		func(name string) (wire.DirectoryAgent, error) {
			made.Name, made.IsPublic = name, !restricted && len(made.Users)+len(made.Groups) == 0
			if since != "" {
				made.SearchStartDate = &since
			}
			return made, checkAgent(made)
		}, (*client.Client).AdminAddAgent,
		func(added *wire.Added[wire.DirectoryAgent]) string {
			return fmt.Sprintf("Created agent %s with number %d for %s. Search with it: --agent-id %d", made.Name,
				added.Item.ID, audienceText(made.IsPublic, made.Users, made.Groups), added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "description (`TEXT`)")
	flags.StringSliceVar(&made.DocumentSets, "document-set", []string{}, "search only in this document set (`NAME`); repeatable")
	flags.StringArrayVar(&made.Documents, "document", []string{}, "also search this document (`ID`); repeatable")
	flags.StringVar(&since, "since", "", "ignore documents last updated before (`DATE`)")
	flags.StringVar(&made.SystemPrompt, "prompt", "", "system prompt for the language model (`TEXT`)")
	flags.StringVar(&made.Provider, "provider", "", "provider of the language model (`NAME`); requires --model")
	flags.StringVar(&made.Model, "model", "", "language model (`NAME`); requires --provider")
	audienceFlags(flags, &made.Users, &made.Groups, &restricted)
	list := listCommand(a, "agents", "Only the built-in agent. Create one: quarry admin agent add NAME",
		(*client.Client).AdminAgents, table{header: []string{"ID", "NAME", "SEARCHES IN", "SINCE", "FOR"}},
		func(g wire.DirectoryAgent) []string {
			return []string{strconv.Itoa(g.ID), g.Name, listOr("everything", g.DocumentSets, g.Documents),
				dayOr(g.SearchStartDate, "any time"), audienceText(g.IsPublic, g.Users, g.Groups)}
		})
	return a.group("agent", "Create, list and remove agents", add, list,
		a.changeCommand("remove ID|NAME", "Remove an agent", "Removed agent %s.", (*client.Client).AdminRemoveAgent))
}

func checkAgent(agent wire.DirectoryAgent) error {
	if since := agent.SearchStartDate; since != nil {
		if _, err := time.Parse(time.DateOnly, *since); err != nil {
			return usage("Give a date like 2026-01-31.", "--since %q is not a date", *since)
		}
	}
	if (agent.Provider == "") != (agent.Model == "") {
		return usage("Give both or neither.", "--provider and --model belong together")
	}
	return checkEmails(agent.Users...)
}
