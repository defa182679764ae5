package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
)

// The limits of tokens.
const (
	longestTokenName = 100 // characters
	mostTokenDays    = 36_500
)

// The kinds of objects that are administered.

func users() administered[wire.DirectoryUser] {
	return administered[wire.DirectoryUser]{"user", "users", "No users. Add one: quarry admin user add EMAIL",
		(*client.Client).AdminUsers, func(u *wire.DirectoryUser) (string, *string) { return u.ID, &u.Email },
		func(u wire.DirectoryUser) string { return u.Role },
		table{header: []string{"EMAIL", "ROLE", "SINCE", "STATE"}}, func(u wire.DirectoryUser) []string {
			state := "active"
			if !u.IsActive {
				state = "deactivated"
			}
			return []string{u.Email, u.Role, passage.Day(u.CreatedAt), state}
		}}
}

func groups() administered[wire.DirectoryGroup] {
	return administered[wire.DirectoryGroup]{"group", "groups",
		"No groups. Create one: quarry admin group add NAME --user EMAIL",
		(*client.Client).AdminGroups, func(g *wire.DirectoryGroup) (string, *string) { return groupID(*g), &g.Name },
		func(g wire.DirectoryGroup) string { return strings.Join(g.Users, ", ") },
		table{header: []string{"ID", "GROUP", "CONNECTORS", "USERS"}}, func(g wire.DirectoryGroup) []string {
			connectors := listOr("none", g.Connectors)
			if g.External {
				connectors = "synced"
			}
			return []string{groupID(g), g.Name, connectors, listOr("nobody", g.Users)}
		}}
}

func tokens() administered[wire.DirectoryToken] {
	return administered[wire.DirectoryToken]{"token", "access-tokens",
		"No tokens. Create one: quarry admin token add NAME", (*client.Client).AdminTokens,
		func(t *wire.DirectoryToken) (string, *string) { return strconv.Itoa(t.ID), &t.Name },
		func(t wire.DirectoryToken) string { return strings.TrimSpace(strconv.Itoa(t.ID) + " " + t.User) },
		table{header: []string{"ID", "NAME", "USER", "TOKEN", "CREATED", "EXPIRES", "LAST USED", "SCOPES"},
			optional: 2},
		func(t wire.DirectoryToken) []string { // a server lists only the caller's own and names no user
			scopes := "all"
			if t.Scopes != nil {
				scopes = strings.Join(t.Scopes, ", ")
			}
			return []string{strconv.Itoa(t.ID), t.Name, t.User, t.TokenDisplay, passage.Day(t.CreatedAt),
				dayOr(t.ExpiresAt, "never"), dayOr(t.LastUsedAt, "never"), scopes}
		}}
}

func connectors() administered[wire.DirectoryConnector] {
	return administered[wire.DirectoryConnector]{"connector", "connectors",
		"No connectors. Create one: quarry admin connector add NAME --source SOURCE", (*client.Client).AdminConnectors,
		func(c *wire.DirectoryConnector) (string, *string) { return strconv.Itoa(c.ID), &c.Name },
		func(c wire.DirectoryConnector) string { return c.Source },
		table{header: []string{"ID", "NAME", "SOURCE", "ACCESS", "SETS", "SEEN BY"}},
		func(c wire.DirectoryConnector) []string {
			seen := map[string]string{"public": "everybody", "sync": "as each document says"}[c.AccessType]
			seen = cmp.Or(seen, listOr("nobody", c.Groups, []string{c.Creator}))
			return []string{strconv.Itoa(c.ID), c.Name, c.Source, c.AccessType, listOr("none", c.DocumentSets), seen}
		}}
}

func documentSets() administered[wire.DirectorySet] {
	return administered[wire.DirectorySet]{"document set", "document-sets",
		"No document sets. Create one: quarry admin document-set add NAME", (*client.Client).AdminDocumentSets,
		func(s *wire.DirectorySet) (string, *string) { return strconv.Itoa(s.ID), &s.Name },
		func(s wire.DirectorySet) string { return s.Description },
		table{header: []string{"ID", "NAME", "CONNECTORS", "FOR", "DESCRIPTION"}}, func(s wire.DirectorySet) []string {
			return []string{strconv.Itoa(s.ID), s.Name, listOr("none", s.Connectors),
				audienceText(s.IsPublic, s.Users, s.Groups), s.Description}
		}}
}

func agents() administered[wire.DirectoryAgent] {
	return administered[wire.DirectoryAgent]{"agent", "agents",
		"Only the built-in agent. Create one: quarry admin agent add NAME", (*client.Client).AdminAgents,
		func(g *wire.DirectoryAgent) (string, *string) { return strconv.Itoa(g.ID), &g.Name },
		func(g wire.DirectoryAgent) string { return g.Description },
		table{header: []string{"ID", "NAME", "SEARCHES IN", "SINCE", "FOR"}}, func(g wire.DirectoryAgent) []string {
			return []string{strconv.Itoa(g.ID), g.Name, listOr("everything", g.DocumentSets, g.Documents),
				dayOr(g.SearchStartDate, "any time"), audienceText(g.IsPublic, g.Users, g.Groups)}
		}}
}

func tenants() administered[wire.DirectoryTenant] {
	return administered[wire.DirectoryTenant]{"tenant", "tenants", "No tenants.", (*client.Client).AdminTenants,
		func(t *wire.DirectoryTenant) (string, *string) { return t.Name, &t.Name },
		func(wire.DirectoryTenant) string { return "" },
		table{header: []string{"TENANT", "SINCE", "DOCUMENTS", "USERS", "TOKENS", "CONVERSATIONS"}},
		func(t wire.DirectoryTenant) []string {
			return []string{t.Name, passage.Day(t.CreatedAt), fmt.Sprint(t.Documents), fmt.Sprint(t.Users),
				fmt.Sprint(t.Tokens), fmt.Sprint(t.Conversations)}
		}}
}

func (a *app) adminUsers() *cobra.Command {
	var role string
	add := addCommand(a, "add EMAIL", "Add a user, or change the role of one",
		func(email string) string {
			if role != "" && !text.IsAmong(role, "basic admin") {
				refuse("Use --role basic or --role admin.", "unknown role %q", role)
			}
			checkEmails(email)
			return email
		},
		func(c *client.Client, ctx context.Context, email string) (*wire.Added[wire.DirectoryUser], error) {
			return c.AdminAddUser(ctx, email, role)
		},
		func(added *wire.Added[wire.DirectoryUser]) string {
			user := added.Item
			if !added.IsNew {
				return fmt.Sprintf("User %s already exists (%s).", user.Email, user.Role)
			}
			return fmt.Sprintf("Created user %s (%s). Create a token: quarry admin token add NAME --user %s%s",
				user.Email, user.Role, user.Email, a.libraryFlag())
		})
	add.Flags().StringVar(&role, "role", "",
		"role of the user (`ROLE`): basic or admin; changes that of an existing user (default basic)")
	change := func(use, short, done string,
		change func(*client.Client, context.Context, *wire.DirectoryUser) error) *cobra.Command {
		command := changeCommand(a, use+" EMAIL|ID", short, users(), doneWith(done), change)
		lowerArguments(command, func() bool { return true })
		return command
	}
	setActive := func(active bool) func(*client.Client, context.Context, *wire.DirectoryUser) error {
		return func(c *client.Client, ctx context.Context, user *wire.DirectoryUser) error {
			user.IsActive = active
			return c.AdminSetUserActive(ctx, user.Email, active)
		}
	}
	return a.group("user", "Add, list, deactivate and remove users", add, listCommand(a, users()),
		change("deactivate", "Deactivate a user", "Deactivated %s. All tokens of this user are disabled.",
			setActive(false)),
		change("activate", "Activate a deactivated user", "Activated %s.", setActive(true)),
		change("remove", "Remove a user", "Removed %s and all tokens of this user.",
			func(c *client.Client, ctx context.Context, user *wire.DirectoryUser) error {
				return c.AdminRemoveUser(ctx, user.Email)
			}))
}

// lowerArguments makes a command take its arguments in lower case, as addresses and the names of external groups are
// stored, where that is so.
func lowerArguments(command *cobra.Command, isSo func() bool) {
	run := command.RunE
	command.RunE = func(command *cobra.Command, arguments []string) error {
		if isSo() {
			arguments = exslices.CastFunc(arguments, strings.ToLower)
		}
		return run(command, arguments)
	}
}

// groupFlags say of which kind a group is, and name members.
type groupFlags struct {
	isExternal        bool
	users, connectors []string
}

// read returns the group with a name.
func (f groupFlags) read(name string) wire.DirectoryGroup {
	checkEmails(f.users...)
	source, id, found := strings.Cut(name, ":")
	_, known := wire.LookupSource(source)
	switch {
	case !f.isExternal:
	case !found || strings.TrimSpace(id) == "":
		refuse("Example: slack:C024BE91L --external",
			"the name of a group of another system is SOURCE:ID, not %q", name)
	case !known:
		refuseSource(source)
	}
	return wire.DirectoryGroup{Name: name, External: f.isExternal, Users: f.users, Connectors: f.connectors}
}

func (a *app) adminGroups() *cobra.Command {
	added := groupFlags{}
	add := addCommand(a, "add NAME [--user EMAIL]", "Create a group, or add members to it",
		func(name string) wire.DirectoryGroup {
			group := added.read(name)
			switch {
			case group.External && len(group.Users) == 0:
				refuse("Add --user jo@acme.com", "--external requires --user")
			case group.External && len(group.Connectors) > 0:
				refuse("Omit --connector: synced documents name their groups.",
					"--external and --connector exclude each other")
			}
			return group
		}, (*client.Client).AdminAddGroup,
		func(result *wire.Added[wire.DirectoryGroup]) string {
			return fmt.Sprintf("Added to group %s: %s.", result.Item.Name,
				listOr("nobody", added.users, added.connectors))
		})
	flags := add.Flags()
	flags.BoolVar(&added.isExternal, "external", false,
		"NAME is a group of another system: SOURCE:ID, like slack:C024BE91L")
	flags.StringSliceVar(&added.users, "user", []string{}, "a member (`EMAIL`), created if unknown; repeatable")
	flags.StringSliceVar(&added.connectors, "connector", []string{},
		"a private connector that the group can read (`NAME`); repeatable")
	return a.group("group", "Create, list and remove groups, and their members", add, listCommand(a, groups()),
		a.groupRemove())
}

// groupID returns the id of a group; groups of other systems have none.
func groupID(g wire.DirectoryGroup) string {
	if g.External {
		return ""
	}
	return strconv.Itoa(g.ID)
}

func (a *app) groupRemove() *cobra.Command {
	removed := groupFlags{}
	kind := groups()
	kind.list = func(c *client.Client, ctx context.Context) ([]wire.DirectoryGroup, error) {
		all, err := c.AdminGroups(ctx)
		return slices.DeleteFunc(all, func(g wire.DirectoryGroup) bool { return g.External != removed.isExternal }), err
	}
	done := func(name string) string {
		if len(removed.users) > 0 {
			return fmt.Sprintf("Removed from group %s: %s.", name, strings.Join(removed.users, ", "))
		}
		return "Removed group " + name + "."
	}
	command := changeCommand(a, "remove NAME|ID [--user EMAIL]", "Remove a group, or members of it", kind, done,
		func(c *client.Client, ctx context.Context, group *wire.DirectoryGroup) error {
			asked := removed.read(group.Name)
			group.Users = without(group.Users, removed.users)
			return c.AdminRemoveGroup(ctx, asked)
		})
	flags := command.Flags()
	lowerArguments(command, func() bool { return removed.isExternal })
	flags.BoolVar(&removed.isExternal, "external", false, "NAME is a group of another system (SOURCE:ID)")
	flags.StringSliceVar(&removed.users, "user", nil, "remove only this member (`EMAIL`); repeatable")
	return command
}

func (a *app) adminTokens() *cobra.Command {
	request, days := wire.AccessTokenRequest{}, 0
	var add *cobra.Command
	is := traits{class: administers, arguments: cobra.NoFileCompletions, json: prints(wire.NewAccessToken{})}
	add = a.administer("add NAME", "Create an access token",
		is, func(ctx context.Context, c *client.Client, name string) {
			request.Name = name
			if add.Flags().Changed("expires") {
				request.ExpirationDays = &days
			}
			checkTokenRequest(request)
			added := guard.Must(c.AdminAddToken(ctx, request))
			a.noteNewUsers(added.NewUsers)
			a.printToken(added.Item)
		})
	flags := add.Flags()
	named := flags.String("name", "", "")
	flags.Lookup("name").Hidden = true // NAME of earlier versions
	run := add.RunE
	add.RunE = func(command *cobra.Command, arguments []string) error {
		if flags.Changed("name") {
			arguments = append(arguments, *named)
		}
		return run(command, arguments)
	}
	flags.StringVar(&request.User, "user", "", "owner of the token (`EMAIL`) (default the owner of the library)")
	flags.StringSliceVar(&request.Scopes, "scope", nil,
		"permission (`SCOPE`), like read:search; repeatable (default all permissions of the user)")
	flags.IntVar(&days, "expires", 0, "expire after this many `DAYS` (default never)")
	remove := changeCommand(a, "remove NAME|ID", "Revoke an access token", tokens(), doneWith("Revoked token %s."),
		func(c *client.Client, ctx context.Context, token *wire.DirectoryToken) error {
			if token.ID != 0 {
				return c.AdminRemoveToken(ctx, token.ID)
			}
			id, err := strconv.Atoi(token.Name)
			if err != nil {
				return fail(ExitNotAvailable, "See: quarry admin token list", "there is no token %q", token.Name)
			}
			return c.AdminRemoveToken(ctx, id)
		})
	return a.group("token", "Create, list and revoke access tokens", add, a.ensureTokenCommand(),
		listCommand(a, tokens()), remove)
}

func checkTokenRequest(request wire.AccessTokenRequest) {
	name, days := strings.TrimSpace(request.Name), request.ExpirationDays
	switch length := len([]rune(name)); {
	case length == 0:
		refuse("Example: quarry admin token add laptop", "argument NAME is empty")
	case length > longestTokenName:
		refuse("Give a shorter name.", "the name has %d characters; the limit is 100", length)
	}
	if request.User != "" {
		checkEmails(request.User)
	}
	if days != nil {
		checkRange("expires", *days, 1, mostTokenDays)
	}
}

// printToken shows a new token. This is the only time that it can be seen.
func (a *app) printToken(token wire.NewAccessToken) {
	if a.wantsJSON() {
		a.printJSON(token)
		return
	}
	a.print(token.Token + "\n")
	expiry := "It does not expire."
	if token.ExpiresAt != nil {
		expiry = "It expires on " + passage.Day(*token.ExpiresAt) + "."
	}
	a.say("The token is shown only once. %s", expiry)
	a.say("To use it: export QUARRY_SERVER_URL=http://HOST:PORT QUARRY_PAT=%s…", text.Clip(token.Token, 12))
}

func (a *app) adminConnectors() *cobra.Command {
	made := wire.DirectoryConnector{DocumentSets: []string{}}
	add := addCommand(a, "add NAME --source SOURCE", "Create a connector",
		func(name string) wire.DirectoryConnector {
			made.Name = name
			checkConnector(made)
			return made
		}, (*client.Client).AdminAddConnector,
		func(added *wire.Added[wire.DirectoryConnector]) string {
			return fmt.Sprintf("Created connector %s with number %d. Post documents to /onyx-api/ingestion with "+
				"\"cc_pair_id\":%d.",
				made.Name, added.Item.ID, added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Source, "source", "", "source of its documents (`SOURCE`), like confluence; required")
	a.register(add, "source", fixed(offeredSources()))
	flags.StringVar(&made.AccessType, "access", "private",
		"who can read its documents (`TYPE`): public (everybody), private (--group and --creator), sync (as each "+
			"document says)")
	flags.StringSliceVar(&made.Groups, "group", []string{}, "a group that can read its documents (`NAME`); repeatable")
	flags.StringVar(&made.Creator, "creator", "", "a user who can read its documents (`EMAIL`) (default the owner)")
	return a.group("connector", "Create, list and remove connectors", add, listCommand(a, connectors()),
		changeCommand(a, "remove NAME|ID", "Remove a connector and its documents", connectors(),
			doneWith("Removed connector %s and its documents."),
			func(c *client.Client, ctx context.Context, connector *wire.DirectoryConnector) error {
				return c.AdminRemoveConnector(ctx, connector.Name)
			}))
}

func checkConnector(c wire.DirectoryConnector) {
	_, known := wire.LookupSource(c.Source)
	switch {
	case c.Source == "":
		refuse("Example: quarry admin connector add Wiki --source confluence", "missing flag --source")
	case !known:
		refuseSource(c.Source)
	case !text.IsAmong(c.AccessType, "public private sync"):
		refuse("Use --access public, private or sync.", "unknown access type %q", c.AccessType)
	case len(c.Groups) > 0 && c.AccessType != "private":
		refuse("Omit --group, or use --access private.", "--group requires a private connector")
	case c.Creator != "":
		checkEmails(c.Creator)
	}
}

func (a *app) adminSets() *cobra.Command {
	made, restricted := wire.DirectorySet{}, false
	add := addCommand(a, "add NAME [--connector NAME]", "Create a document set",
		func(name string) wire.DirectorySet {
			made.Name, made.IsPublic = name, !restricted && len(made.Users)+len(made.Groups) == 0
			checkEmails(made.Users...)
			return made
		}, (*client.Client).AdminAddDocumentSet,
		func(*wire.Added[wire.DirectorySet]) string {
			return fmt.Sprintf("Created document set %s for %s.", made.Name,
				audienceText(made.IsPublic, made.Users, made.Groups))
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "description (`TEXT`)")
	flags.StringSliceVar(&made.Connectors, "connector", []string{},
		"add the documents of this connector (`NAME`); repeatable")
	audienceFlags(flags, &made.Users, &made.Groups, &restricted)
	return a.group("document-set", "Create, list and remove document sets", add, listCommand(a, documentSets()),
		changeCommand(a, "remove NAME|ID", "Remove a document set", documentSets(),
			doneWith("Removed document set %s. Its documents stay."),
			func(c *client.Client, ctx context.Context, set *wire.DirectorySet) error {
				return c.AdminRemoveDocumentSet(ctx, *set)
			}))
}

func (a *app) adminAgents() *cobra.Command {
	made, restricted, since := wire.DirectoryAgent{}, false, ""
	add := addCommand(a, "add NAME [--document-set NAME]", "Create an agent",
		func(name string) wire.DirectoryAgent {
			made.Name, made.IsPublic = name, !restricted && len(made.Users)+len(made.Groups) == 0
			if since != "" {
				made.SearchStartDate = &since
			}
			checkAgent(made)
			return made
		}, (*client.Client).AdminAddAgent,
		func(added *wire.Added[wire.DirectoryAgent]) string {
			return fmt.Sprintf("Created agent %s with number %d for %s. Search with it: --agent-id %d", made.Name,
				added.Item.ID, audienceText(made.IsPublic, made.Users, made.Groups), added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "description (`TEXT`)")
	flags.StringSliceVar(&made.DocumentSets, "document-set", []string{},
		"search only in this document set (`NAME`); repeatable")
	flags.StringArrayVar(&made.Documents, "document", []string{}, "also search this document (`ID`); repeatable")
	flags.StringVar(&since, "since", "", "ignore documents last updated before (`DATE`)")
	flags.StringVar(&made.SystemPrompt, "prompt", "", "system prompt for the language model (`TEXT`)")
	flags.StringVar(&made.Provider, "provider", "", "provider of the language model (`NAME`); requires --model")
	flags.StringVar(&made.Model, "model", "", "language model (`NAME`); requires --provider")
	audienceFlags(flags, &made.Users, &made.Groups, &restricted)
	return a.group("agent", "Create, list and remove agents", add, listCommand(a, agents()),
		changeCommand(a, "remove NAME|ID", "Remove an agent", agents(), doneWith("Removed agent %s."),
			func(c *client.Client, ctx context.Context, agent *wire.DirectoryAgent) error {
				if agent.ID == 0 { // not listed
					return c.AdminRemoveAgent(ctx, agent.Name)
				}
				return c.AdminRemoveAgent(ctx, strconv.Itoa(agent.ID))
			}))
}

func checkAgent(agent wire.DirectoryAgent) {
	if since := agent.SearchStartDate; since != nil {
		if _, err := time.Parse(time.DateOnly, *since); err != nil {
			refuse("Give a date like 2026-01-31.", "--since %q is not a date", *since)
		}
	}
	if (agent.Provider == "") != (agent.Model == "") {
		refuse("Give both or neither.", "--provider and --model belong together")
	}
	checkEmails(agent.Users...)
}
