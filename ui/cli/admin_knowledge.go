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
			return fmt.Sprintf("Connector %s has the number %d: post documents to /onyx-api/ingestion with \"cc_pair_id\":%d.",
				made.Name, added.Item.ID, added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Source, "source", "", "where its documents come from (`SOURCE`), like confluence; needed")
	flags.StringVar(&made.AccessType, "access", "private",
		"who sees its documents (`TYPE`): public, everybody; private, --group and --creator; sync, whom each document names")
	flags.StringSliceVar(&made.Groups, "group", []string{}, "a group that sees its documents (`NAME`); repeatable")
	flags.StringVar(&made.Creator, "creator", "", "who sees its documents, too (`EMAIL`) (default the owner)")
	list := listCommand(a, "connectors", "No connectors. Make one with: quarry admin connector add NAME --source SOURCE",
		(*client.Client).AdminConnectors, []string{"ID", "NAME", "SOURCE", "ACCESS", "SETS", "SEEN BY"}, func(c wire.DirectoryConnector) []string {
			seen := map[string]string{"public": "everybody", "sync": "whom each document names"}[c.AccessType]
			if seen == "" {
				seen = listOr("nobody", c.Groups, []string{c.Creator})
			}
			return []string{strconv.Itoa(c.ID), c.Name, c.Source, c.AccessType, listOr("none", c.DocumentSets), seen}
		})
	return a.group("connector", "Create, list and remove connectors", add, list,
		a.changeCommand("remove NAME", "Remove a connector and its documents", "Connector %s is removed, with its documents.",
			(*client.Client).AdminRemoveConnector))
}

func checkConnector(c wire.DirectoryConnector) error {
	_, known := wire.LookupSource(c.Source)
	switch {
	case !known:
		return unknownSource(c.Source)
	case !slices.Contains([]string{"public", "private", "sync"}, c.AccessType):
		return usage("Give --access public, private or sync.", "%q is not an access type", c.AccessType)
	case len(c.Groups) > 0 && c.AccessType != "private":
		return usage("Leave --group out, or give --access private.", "only a private connector is for groups")
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
			return fmt.Sprintf("Document set %s is made, for %s.", made.Name, audienceText(made.IsPublic, made.Users, made.Groups))
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "what is in it (`TEXT`)")
	flags.StringSliceVar(&made.Connectors, "connector", []string{}, "a connector whose documents are in it (`NAME`); repeatable")
	whom.addFlags(flags)
	list := listCommand(a, "document-sets", "No document sets. Make one with: quarry admin document-set add NAME",
		(*client.Client).AdminDocumentSets, []string{"NAME", "CONNECTORS", "FOR", "DESCRIPTION"}, func(s wire.DirectorySet) []string {
			return []string{s.Name, listOr("none", s.Connectors), audienceText(s.IsPublic, s.Users, s.Groups), s.Description}
		})
	return a.group("document-set", "Create, list and remove document sets", add, list,
		a.changeCommand("remove NAME", "Remove a document set", "Document set %s is removed; its documents stay.",
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
			return fmt.Sprintf("Agent %s has the number %d and is for %s. Search with it: --agent-id %d", made.Name,
				added.Item.ID, audienceText(made.IsPublic, made.Users, made.Groups), added.Item.ID)
		})
	flags := add.Flags()
	flags.StringVar(&made.Description, "description", "", "what it is for (`TEXT`)")
	flags.StringSliceVar(&made.DocumentSets, "document-set", []string{}, "search only in this document set (`NAME`); repeatable")
	flags.StringArrayVar(&made.Documents, "document", []string{}, "search in this document, too (`ID`); repeatable")
	flags.StringVar(&since, "since", "", "leave out what was last updated before (`DATE`)")
	flags.StringVar(&made.SystemPrompt, "prompt", "", "what it tells the language model (`TEXT`)")
	flags.StringVar(&made.Provider, "provider", "", "whose language model works for it (`NAME`); with --model")
	flags.StringVar(&made.Model, "model", "", "which language model works for it (`NAME`); with --provider")
	whom.addFlags(flags)
	list := listCommand(a, "agents", "No agents but the one that is built in. Make one with: quarry admin agent add NAME",
		(*client.Client).AdminAgents, []string{"ID", "NAME", "SEARCHES IN", "SINCE", "FOR"}, func(g wire.DirectoryAgent) []string {
			return []string{strconv.Itoa(g.ID), g.Name, listOr("everything", g.DocumentSets, g.Documents),
				dayOr(g.SearchStartDate, "any time"), audienceText(g.IsPublic, g.Users, g.Groups)}
		})
	return a.group("agent", "Create, list and remove agents", add, list,
		a.changeCommand("remove ID|NAME", "Remove an agent", "Agent %s is removed.", (*client.Client).AdminRemoveAgent))
}

func checkAgent(agent wire.DirectoryAgent) error {
	if since := agent.SearchStartDate; since != nil {
		if _, err := time.Parse(time.DateOnly, *since); err != nil {
			return usage("Give a date like 2026-01-31.", "--since %q is not a date", *since)
		}
	}
	if (agent.Provider == "") != (agent.Model == "") {
		return usage("Give --provider and --model, or neither.", "a model is named with its provider")
	}
	return checkEmails(agent.Users...)
}
