package client

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
)

// The functions below administer a server over the routes of Onyx's API, as far as it has any.

func (c *Client) onyxGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := c.userGroups(ctx)
	return mapped(groups, func(group wire.UserGroup) wire.DirectoryGroup {
		return wire.DirectoryGroup{ID: group.ID, Name: group.Name, Connectors: mapped(group.CCPairs, connectorName),
			Users: mapped(group.Users, func(user wire.GroupMember) string { return user.Email })}
	}), err
}

func (c *Client) userGroups(ctx context.Context) ([]wire.UserGroup, error) {
	return listed[wire.UserGroup](ctx, c, get("/manage/admin/user-group", nil))
}

func connectorName(pair wire.ConnectorSummary) string { return pair.Name }

// mapped is the list of what convert makes of each element; it is never nil.
func mapped[A, B any](list []A, convert func(A) B) []B {
	converted := make([]B, 0, len(list))
	for _, element := range list {
		converted = append(converted, convert(element))
	}
	return converted
}

// onyxAddToken creates a token of the caller's.
func (c *Client) onyxAddToken(ctx context.Context, request wire.DirectoryTokenRequest) (*wire.Added[wire.NewAccessToken], error) {
	if request.User != "" {
		return nil, notOffered("a server creates tokens only for the caller, not for --user " + request.User)
	}
	token, err := c.CreateToken(ctx, request.AccessTokenRequest)
	if err != nil {
		return nil, err
	}
	return &wire.Added[wire.NewAccessToken]{Item: *token, IsNew: true}, nil
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
	made, err := fetched[wire.Created](ctx, c, post("/manage/admin/connector", wire.ConnectorRequest{Name: connector.Name,
		Source: connector.Source, InputType: "load_state", Config: map[string]any{}, AccessType: connector.AccessType, Groups: groups}))
	if err != nil {
		return nil, err
	}
	credential, err := fetched[wire.Created](ctx, c, post("/manage/credential", wire.CredentialRequest{Name: connector.Name,
		Source: connector.Source, JSON: map[string]any{}, AdminPublic: true, Groups: []int{}}))
	if err != nil {
		return nil, err
	}
	pairing := post(fmt.Sprintf("/manage/connector/%d/credential/%d", made.ID, credential.ID),
		wire.PairRequest{Name: connector.Name, AccessType: connector.AccessType, Groups: groups})
	pairing.method = http.MethodPut
	pair, err := fetched[wire.PairResponse](ctx, c, pairing)
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
	groups, err := c.userGroups(ctx)
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
	return mapped(sets, func(set wire.DocumentSet) wire.DirectorySet {
		return wire.DirectorySet{ID: set.ID, Name: set.Name, Description: textOr(set.Description),
			IsPublic: set.IsPublic, Users: []string{}, Groups: []string{}, Connectors: mapped(set.CCPairSummaries, connectorName)}
	}), err
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
	id, err := fetched[int](ctx, c, post("/manage/admin/document-set", wire.DocumentSetRequest{Name: set.Name,
		Description: set.Description, IsPublic: set.IsPublic, CCPairIDs: []int{}, Users: []string{}, Groups: groups,
		FederatedConnectors: []any{}}))
	if err != nil {
		return nil, err
	}
	set.ID = *id
	return &wire.Added[wire.DirectorySet]{Item: set, IsNew: true}, nil
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
			Users: []string{}, Groups: []string{}, Documents: []string{},
			DocumentSets:    mapped(agent.DocumentSets, func(set wire.DocumentSet) string { return set.Name }),
			SearchStartDate: full.SearchStartDate, SystemPrompt: textOr(full.SystemPrompt)}
		if agent.Owner != nil {
			row.Owner = textOr(agent.Owner.Email)
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
	made, err := fetched[wire.Created](ctx, c, post("/persona", request))
	if err != nil {
		return nil, err
	}
	me, err := c.Me(ctx)
	if err != nil {
		return nil, err
	}
	agent.ID, agent.Owner = made.ID, me.Email
	return &wire.Added[wire.DirectoryAgent]{Item: agent, IsNew: true}, nil
}
