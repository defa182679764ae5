package client

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
)

// What follows administers a server over the routes of Onyx's API, as far as it has any.

func (c *Client) onyxGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := c.UserGroups(ctx)
	listed := []wire.DirectoryGroup{}
	for _, group := range groups {
		row := wire.DirectoryGroup{ID: group.ID, Name: group.Name, Users: []string{}, Connectors: namesOfPairs(group.CCPairs)}
		for _, user := range group.Users {
			row.Users = append(row.Users, user.Email)
		}
		listed = append(listed, row)
	}
	return listed, err
}

func namesOfPairs(pairs []wire.ConnectorSummary) []string {
	list := []string{}
	for _, pair := range pairs {
		list = append(list, pair.Name)
	}
	return list
}

// onyxAddConnector makes a connector and a credential without a secret, and pairs them. The creator is the caller.
func (c *Client) onyxAddConnector(ctx context.Context, connector wire.DirectoryConnector) (*wire.Added[wire.DirectoryConnector], error) {
	if connector.Creator != "" {
		return nil, notOverTheAPI("name another creator")
	}
	groups, err := c.onyxGroupIDs(ctx, connector.Groups)
	if err != nil {
		return nil, err
	}
	made, err := c.CreateConnector(ctx, wire.ConnectorRequest{Name: connector.Name, Source: connector.Source,
		InputType: "load_state", Config: map[string]any{}, AccessType: connector.AccessType, Groups: groups})
	if err != nil {
		return nil, err
	}
	credential, err := c.CreateCredential(ctx, wire.CredentialRequest{Name: connector.Name, Source: connector.Source,
		JSON: map[string]any{}, AdminPublic: true, Groups: []int{}})
	if err != nil {
		return nil, err
	}
	pair, err := c.CreatePair(ctx, made, credential, wire.PairRequest{Name: connector.Name,
		AccessType: connector.AccessType, Groups: groups})
	if err != nil {
		return nil, err
	}
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	connector.ID, connector.Creator = pair.Data, me.Email
	return &wire.Added[wire.DirectoryConnector]{Item: connector, IsNew: true}, nil
}

// onyxGroupIDs finds the numbers of groups.
func (c *Client) onyxGroupIDs(ctx context.Context, names []string) ([]int, error) {
	if len(names) == 0 {
		return []int{}, nil
	}
	groups, err := c.UserGroups(ctx)
	if err != nil {
		return nil, err
	}
	return idsNamed(groups, names, "group", func(g wire.UserGroup) (string, int) { return g.Name, g.ID })
}

// idsNamed finds the numbers of what is named; kind is also the command that lists it.
func idsNamed[T any](all []T, names []string, kind string, key func(T) (string, int)) ([]int, error) {
	ids := []int{}
	for _, name := range names {
		at := slices.IndexFunc(all, func(one T) bool { known, _ := key(one); return known == name })
		if at < 0 {
			return nil, &Error{Kind: NotAvailable, Reason: "there is no " + strings.ReplaceAll(kind, "-", " ") + " " + strconv.Quote(name),
				remedy: "see: quarry admin " + kind + " list"}
		}
		_, id := key(all[at])
		ids = append(ids, id)
	}
	return ids, nil
}

func (c *Client) onyxDocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	sets, err := c.DocumentSets(ctx)
	listed := []wire.DirectorySet{}
	for _, set := range sets {
		listed = append(listed, wire.DirectorySet{ID: set.ID, Name: set.Name, Description: textOr(set.Description),
			IsPublic: set.IsPublic, Users: []string{}, Groups: []string{}, Connectors: namesOfPairs(set.CCPairSummaries)})
	}
	return listed, err
}

func textOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// onyxAddDocumentSet makes a document set. The API has no route that finds connectors and users by name.
func (c *Client) onyxAddDocumentSet(ctx context.Context, set wire.DirectorySet) (*wire.Added[wire.DirectorySet], error) {
	if len(set.Users)+len(set.Connectors) > 0 {
		return nil, notOverTheAPI("find users and connectors by their names")
	}
	groups, err := c.onyxGroupIDs(ctx, set.Groups)
	if err != nil {
		return nil, err
	}
	set.ID, err = c.CreateDocumentSet(ctx, wire.DocumentSetRequest{Name: set.Name, Description: set.Description,
		IsPublic: set.IsPublic, CCPairIDs: []int{}, Users: []string{}, Groups: groups, FederatedConnectors: []any{}})
	return &wire.Added[wire.DirectorySet]{Item: set, IsNew: true}, err
}

func (c *Client) onyxAgents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	agents, err := c.Personas(ctx)
	listed := []wire.DirectoryAgent{}
	for _, agent := range agents {
		if agent.BuiltinPersona {
			continue
		}
		full, err := c.Persona(ctx, agent.ID)
		if err != nil {
			return nil, err
		}
		row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description, IsPublic: agent.IsPublic,
			Users: []string{}, Groups: []string{}, DocumentSets: []string{}, Documents: []string{},
			SearchStartDate: full.SearchStartDate, SystemPrompt: textOr(full.SystemPrompt)}
		if agent.Owner != nil {
			row.Owner = textOr(agent.Owner.Email)
		}
		for _, set := range agent.DocumentSets {
			row.DocumentSets = append(row.DocumentSets, set.Name)
		}
		listed = append(listed, row)
	}
	return listed, err
}

// onyxAddAgent makes an agent of the caller's.
func (c *Client) onyxAddAgent(ctx context.Context, agent wire.DirectoryAgent) (*wire.Added[wire.DirectoryAgent], error) {
	if len(agent.Users) > 0 {
		return nil, notOverTheAPI("find users by their address")
	}
	groups, err := c.onyxGroupIDs(ctx, agent.Groups)
	if err != nil {
		return nil, err
	}
	request := wire.PersonaRequest{Name: agent.Name, Description: agent.Description, SystemPrompt: agent.SystemPrompt,
		DatetimeAware: true, IsPublic: agent.IsPublic, DocumentIDs: agent.Documents, DocumentSetIDs: []int{}, ToolIDs: []int{},
		Users: []string{}, Groups: groups, LabelIDs: []int{}, UserFileIDs: []string{}, SearchStartDate: agent.SearchStartDate}
	if agent.Model != "" {
		request.Provider, request.Model = &agent.Provider, &agent.Model
	}
	if len(agent.DocumentSets) > 0 {
		sets, err := c.DocumentSets(ctx)
		if err != nil {
			return nil, err
		}
		request.DocumentSetIDs, err = idsNamed(sets, agent.DocumentSets, "document-set",
			func(s wire.DocumentSet) (string, int) { return s.Name, s.ID })
		if err != nil {
			return nil, err
		}
	}
	if agent.ID, err = c.CreatePersona(ctx, request); err != nil {
		return nil, err
	}
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	agent.Owner = me.Email
	return &wire.Added[wire.DirectoryAgent]{Item: agent, IsNew: true}, nil
}
