package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
)

func (a *app) adminConnectors() *cobra.Command {
	made := wire.DirectoryConnector{DocumentSets: []string{}}
	add := addCommand(a, "add NAME --source SOURCE", "Create a connector",
		func(ctx context.Context, c *client.Client, name string) (*wire.Added[wire.DirectoryConnector], error) {
			made.Name = name
			if err := checkConnector(made); err != nil {
				return nil, err
			}
			return c.AdminAddConnector(ctx, made)
		},
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
		(*client.Client).AdminConnectors, []string{"ID", "NAME", "SOURCE", "ACCESS", "SETS", "SEEN BY"}, func(c wire.DirectoryConnector) []string {
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
	made, whom := wire.DirectorySet{}, audience{}
	add := addCommand(a, "add NAME [--connector NAME]", "Create a document set",
		func(ctx context.Context, c *client.Client, name string) (*wire.Added[wire.DirectorySet], error) {
			made.Name, made.Users, made.Groups, made.IsPublic = name, whom.users, whom.groups, whom.isPublic()
			if err := checkEmails(made.Users...); err != nil {
				return nil, err
			}
			return c.AdminAddDocumentSet(ctx, made)
		},
		func(*wire.Added[wire.DirectorySet]) string {
			return fmt.Sprintf("Created document set %s for %s.", made.Name, audienceText(made.IsPublic, made.Users, made.Groups))
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "description (`TEXT`)")
	flags.StringSliceVar(&made.Connectors, "connector", []string{}, "add the documents of this connector (`NAME`); repeatable")
	whom.addFlags(flags)
	list := listCommand(a, "document-sets", "No document sets. Create one: quarry admin document-set add NAME",
		(*client.Client).AdminDocumentSets, []string{"NAME", "CONNECTORS", "FOR", "DESCRIPTION"}, func(s wire.DirectorySet) []string {
			return []string{s.Name, listOr("none", s.Connectors), audienceText(s.IsPublic, s.Users, s.Groups), s.Description}
		})
	return a.group("document-set", "Create, list and remove document sets", add, list,
		a.changeCommand("remove NAME", "Remove a document set", "Removed document set %s. Its documents stay.",
			(*client.Client).AdminRemoveDocumentSet))
}

func (a *app) adminAgents() *cobra.Command {
	made, whom, since := wire.DirectoryAgent{}, audience{}, ""
	add := addCommand(a, "add NAME [--document-set NAME]", "Create an agent",
		func(ctx context.Context, c *client.Client, name string) (*wire.Added[wire.DirectoryAgent], error) {
			made.Name, made.Users, made.Groups, made.IsPublic = name, whom.users, whom.groups, whom.isPublic()
			if since != "" {
				made.SearchStartDate = &since
			}
			if err := checkAgent(made); err != nil {
				return nil, err
			}
			return c.AdminAddAgent(ctx, made)
		},
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
	whom.addFlags(flags)
	list := listCommand(a, "agents", "Only the built-in agent. Create one: quarry admin agent add NAME",
		(*client.Client).AdminAgents, []string{"ID", "NAME", "SEARCHES IN", "SINCE", "FOR"}, func(g wire.DirectoryAgent) []string {
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
