package cli

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
)

func (a *app) adminConnectorCommand() *cobra.Command {
	return a.adminGroup("connector", "Create, list and remove connectors", a.connectorAddCommand(), a.connectorListCommand(),
		a.removeByName("remove NAME", "Remove a connector and its documents", "connector", "Wiki", "Connector %s is removed, with its documents.",
			(*client.Client).AdminRemoveConnector))
}

// removeByName is a command that removes what one argument names.
func (a *app) removeByName(use, short string, what, example, said string,
	remove func(*client.Client, context.Context, string) error) *cobra.Command {
	return a.adminCommandOf(use, short, true, func(ctx context.Context, c *client.Client, arguments []string) error {
		name, err := a.oneName(arguments, what, example)
		if err == nil {
			err = remove(c, ctx, name)
		}
		if err != nil {
			return err
		}
		a.say(said, name)
		return nil
	})
}

func (a *app) connectorAddCommand() *cobra.Command {
	made := wire.DirectoryConnector{DocumentSets: []string{}}
	command := a.adminCommandOf("add NAME --source SOURCE", "Create a connector", true,
		func(ctx context.Context, c *client.Client, arguments []string) (err error) {
			if made.Name, err = a.oneName(arguments, "name", "Wiki --source confluence"); err != nil {
				return err
			}
			if _, known := wire.LookupSource(made.Source); !known {
				return unknownSource(made.Source)
			}
			if !slices.Contains([]string{"public", "private", "sync"}, made.AccessType) {
				return usage("Give --access public, private or sync.", "%q is not an access type", made.AccessType)
			}
			if len(made.Groups) > 0 && made.AccessType != "private" {
				return usage("Leave --group out, or give --access private.", "only a private connector is for groups")
			}
			if made.Creator != "" {
				if err := checkEmails(made.Creator); err != nil {
					return err
				}
			}
			present(&made.Groups)
			added, err := c.AdminAddConnector(ctx, made)
			if err != nil {
				return err
			}
			return a.tell(added.Item, "Connector %s has the number %d: post documents to /onyx-api/ingestion with \"cc_pair_id\":%d.",
				made.Name, added.Item.ID, added.Item.ID)
		})
	flags := command.Flags()
	flags.StringVar(&made.Source, "source", "", "where its documents come from (`SOURCE`), like confluence; needed")
	flags.StringVar(&made.AccessType, "access", "private",
		"who sees its documents (`TYPE`): public, everybody; private, --group and --creator; sync, whom each document names")
	flags.StringSliceVar(&made.Groups, "group", nil, "a group that sees its documents (`NAME`); repeatable")
	flags.StringVar(&made.Creator, "creator", "", "who sees its documents, too (`EMAIL`) (default the owner)")
	return command
}

func (a *app) connectorListCommand() *cobra.Command {
	return a.adminCommandOf("list", "List connectors", false, listing(a, "connectors",
		"No connectors. Make one with: quarry admin connector add NAME --source SOURCE",
		(*client.Client).AdminConnectors, []string{"ID", "NAME", "SOURCE", "ACCESS", "SETS", "SEEN BY"}, func(c wire.DirectoryConnector) []string {
			seen := map[string]string{"public": "everybody", "sync": "whom each document names"}[c.AccessType]
			if seen == "" {
				seen = listOr(append(slices.Clone(c.Groups), c.Creator), "nobody")
			}
			return []string{strconv.Itoa(c.ID), c.Name, c.Source, c.AccessType, listOr(c.DocumentSets, "none"), seen}
		}))
}

func (a *app) adminSetCommand() *cobra.Command {
	return a.adminGroup("document-set", "Create, list and remove document sets", a.setAddCommand(), a.setListCommand(),
		a.removeByName("remove NAME", "Remove a document set", "document set", "Handbook", "Document set %s is removed; its documents stay.",
			(*client.Client).AdminRemoveDocumentSet))
}

func (a *app) setAddCommand() *cobra.Command {
	made := wire.DirectorySet{}
	restricted := false
	command := a.adminCommandOf("add NAME [--connector NAME]", "Create a document set", true,
		func(ctx context.Context, c *client.Client, arguments []string) (err error) {
			if made.Name, err = a.oneName(arguments, "name", "Handbook --connector Wiki"); err != nil {
				return err
			}
			if err := checkEmails(made.Users...); err != nil {
				return err
			}
			made.IsPublic = !restricted && len(made.Users)+len(made.Groups) == 0
			present(&made.Users, &made.Groups, &made.Connectors)
			added, err := c.AdminAddDocumentSet(ctx, made)
			if err != nil {
				return err
			}
			return a.tell(added.Item, "Document set %s is made, for %s.", made.Name, audienceOf(made.IsPublic, made.Users, made.Groups))
		})
	flags := command.Flags()
	flags.StringVar(&made.Description, "description", "", "what is in it (`TEXT`)")
	flags.StringSliceVar(&made.Connectors, "connector", nil, "a connector whose documents are in it (`NAME`); repeatable")
	audienceFlags(command, &made.Users, &made.Groups, &restricted)
	return command
}

// audienceFlags say for whom something is.
func audienceFlags(command *cobra.Command, users, groups *[]string, restricted *bool) {
	flags := command.Flags()
	flags.StringSliceVar(users, "user", nil, "only for this user (`EMAIL`), and others that are named; repeatable")
	flags.StringSliceVar(groups, "group", nil, "only for this group (`NAME`), and others that are named; repeatable")
	flags.BoolVar(restricted, "restricted", false, "not for everybody, even if nobody is named")
}

func (a *app) setListCommand() *cobra.Command {
	return a.adminCommandOf("list", "List document sets", false, listing(a, "document-sets",
		"No document sets. Make one with: quarry admin document-set add NAME",
		(*client.Client).AdminDocumentSets, []string{"NAME", "CONNECTORS", "FOR", "DESCRIPTION"}, func(s wire.DirectorySet) []string {
			return []string{s.Name, listOr(s.Connectors, "none"), audienceOf(s.IsPublic, s.Users, s.Groups), s.Description}
		}))
}

func (a *app) adminAgentCommand() *cobra.Command {
	return a.adminGroup("agent", "Create, list and remove agents", a.agentAddCommand(), a.agentListCommand(),
		a.removeByName("remove ID|NAME", "Remove an agent", "agent", "Engineering", "Agent %s is removed.",
			(*client.Client).AdminRemoveAgent))
}

func (a *app) agentAddCommand() *cobra.Command {
	made := wire.DirectoryAgent{}
	since, restricted := "", false
	command := a.adminCommandOf("add NAME [--document-set NAME]", "Create an agent", true,
		func(ctx context.Context, c *client.Client, arguments []string) (err error) {
			if made.Name, err = a.oneName(arguments, "name", "Engineering --document-set Handbook"); err != nil {
				return err
			}
			if err := checkEmails(made.Users...); err != nil {
				return err
			}
			if since != "" {
				if _, err := time.Parse(time.DateOnly, since); err != nil {
					return usage("Give a date like 2026-01-31.", "--since %q is not a date", since)
				}
				made.SearchStartDate = &since
			}
			if (made.Provider == "") != (made.Model == "") {
				return usage("Give --provider and --model, or neither.", "a model is named with its provider")
			}
			made.IsPublic = !restricted && len(made.Users)+len(made.Groups) == 0
			present(&made.Users, &made.Groups, &made.DocumentSets, &made.Documents)
			added, err := c.AdminAddAgent(ctx, made)
			if err != nil {
				return err
			}
			return a.tell(added.Item, "Agent %s has the number %d and is for %s. Search with it: --agent-id %d", made.Name,
				added.Item.ID, audienceOf(made.IsPublic, made.Users, made.Groups), added.Item.ID)
		})
	flags := command.Flags()
	flags.StringVar(&made.Description, "description", "", "what it is for (`TEXT`)")
	flags.StringSliceVar(&made.DocumentSets, "document-set", nil, "search only in this document set (`NAME`); repeatable")
	flags.StringArrayVar(&made.Documents, "document", nil, "search in this document, too (`ID`); repeatable")
	flags.StringVar(&since, "since", "", "leave out what was last updated before (`DATE`)")
	flags.StringVar(&made.SystemPrompt, "prompt", "", "what it tells the language model (`TEXT`)")
	flags.StringVar(&made.Provider, "provider", "", "whose language model works for it (`NAME`); with --model")
	flags.StringVar(&made.Model, "model", "", "which language model works for it (`NAME`); with --provider")
	audienceFlags(command, &made.Users, &made.Groups, &restricted)
	return command
}

func (a *app) agentListCommand() *cobra.Command {
	return a.adminCommandOf("list", "List agents", false, listing(a, "agents",
		"No agents but the one that is built in. Make one with: quarry admin agent add NAME",
		(*client.Client).AdminAgents, []string{"ID", "NAME", "SEARCHES IN", "SINCE", "FOR"}, func(g wire.DirectoryAgent) []string {
			scope := listOr(slices.Concat(g.DocumentSets, g.Documents), "everything")
			return []string{strconv.Itoa(g.ID), g.Name, scope, dayOr(g.SearchStartDate, "any time"),
				audienceOf(g.IsPublic, g.Users, g.Groups)}
		}))
}
