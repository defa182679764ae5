package cli

import (
	"context"
	"slices"
	"strconv"

	"quarry/client"
	"quarry/client/wire"
)

// remoteDirectory administers a server over its API, as far as that has routes for it.
type remoteDirectory struct{ session *client.Session }

// notOverTheAPI refuses what a server has no route for.
func notOverTheAPI(what string) error {
	return usage("Run the command where the library lies, without --server and --profile.", "a server's API has no way to %s", what)
}

// Users cannot be listed over the API.
func (r remoteDirectory) Users(context.Context) ([]wire.DirectoryUser, error) {
	return nil, notOverTheAPI("list users")
}

// AddUser cannot be done over the API.
func (r remoteDirectory) AddUser(context.Context, string, string) (wire.DirectoryUser, bool, error) {
	return wire.DirectoryUser{}, false, notOverTheAPI("add users")
}

// SetUserActive cannot be done over the API.
func (r remoteDirectory) SetUserActive(context.Context, string, bool) error {
	return notOverTheAPI("change users")
}

// RemoveUser cannot be done over the API.
func (r remoteDirectory) RemoveUser(context.Context, string) error {
	return notOverTheAPI("remove users")
}

// Groups lists the groups of the server; those of other systems it does not tell.
func (r remoteDirectory) Groups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := r.session.Client.UserGroups(ctx)
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

// AddGroup cannot be done over the API by names: it has no route that finds users.
func (r remoteDirectory) AddGroup(context.Context, wire.DirectoryGroup) ([]string, error) {
	return nil, notOverTheAPI("find users by their address")
}

// RemoveGroup cannot be done over the API.
func (r remoteDirectory) RemoveGroup(context.Context, wire.DirectoryGroup) error {
	return notOverTheAPI("remove groups")
}

// Connectors cannot be listed over the API.
func (r remoteDirectory) Connectors(context.Context) ([]wire.DirectoryConnector, error) {
	return nil, notOverTheAPI("list connectors")
}

// AddConnector makes a connector and a credential without a secret, and pairs them. The creator is who asks.
func (r remoteDirectory) AddConnector(ctx context.Context, connector *wire.DirectoryConnector) error {
	if connector.Creator != "" {
		return notOverTheAPI("name another creator")
	}
	groups, err := r.groupIDs(ctx, connector.Groups)
	if err != nil {
		return err
	}
	made, err := r.session.Client.CreateConnector(ctx, wire.ConnectorRequest{Name: connector.Name, Source: connector.Source,
		InputType: "load_state", Config: map[string]any{}, AccessType: connector.AccessType, Groups: groups})
	if err != nil {
		return err
	}
	credential, err := r.session.Client.CreateCredential(ctx, wire.CredentialRequest{Name: connector.Name, Source: connector.Source,
		JSON: map[string]any{}, AdminPublic: true, Groups: []int{}})
	if err != nil {
		return err
	}
	pair, err := r.session.Client.CreatePair(ctx, made, credential, wire.PairRequest{Name: connector.Name,
		AccessType: connector.AccessType, Groups: groups})
	if err != nil {
		return err
	}
	connector.ID = pair.Data
	connector.Creator, err = r.caller(ctx)
	return err
}

// caller is the address of who asks.
func (r remoteDirectory) caller(ctx context.Context) (string, error) {
	me, err := r.session.Client.Me(ctx)
	if err != nil {
		return "", err
	}
	return me.Email, nil
}

// groupIDs finds the numbers of groups.
func (r remoteDirectory) groupIDs(ctx context.Context, names []string) ([]int, error) {
	ids := []int{}
	if len(names) == 0 {
		return ids, nil
	}
	groups, err := r.session.Client.UserGroups(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		at := slices.IndexFunc(groups, func(g wire.UserGroup) bool { return g.Name == name })
		if at < 0 {
			return nil, &Failure{Code: ExitNotAvailable, What: "there is no group " + strconv.Quote(name),
				Do: "See: quarry admin group list"}
		}
		ids = append(ids, groups[at].ID)
	}
	return ids, nil
}

// RemoveConnector cannot be done over the API.
func (r remoteDirectory) RemoveConnector(context.Context, string) error {
	return notOverTheAPI("remove connectors")
}

// DocumentSets lists the document sets. For whom they are, the server tells in numbers; they are left out.
func (r remoteDirectory) DocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	sets, err := r.session.Client.DocumentSets(ctx)
	listed := []wire.DirectorySet{}
	for _, set := range sets {
		listed = append(listed, wire.DirectorySet{ID: set.ID, Name: set.Name, Description: deref(set.Description),
			IsPublic: set.IsPublic, Users: []string{}, Groups: []string{}, Connectors: namesOfPairs(set.CCPairSummaries)})
	}
	return listed, err
}

// AddDocumentSet makes a document set. Connectors and users have no route that finds them by name.
func (r remoteDirectory) AddDocumentSet(ctx context.Context, set wire.DirectorySet) (int, error) {
	if len(set.Users)+len(set.Connectors) > 0 {
		return 0, notOverTheAPI("find users and connectors by their names")
	}
	groups, err := r.groupIDs(ctx, set.Groups)
	if err != nil {
		return 0, err
	}
	return r.session.Client.CreateDocumentSet(ctx, wire.DocumentSetRequest{Name: set.Name, Description: set.Description,
		IsPublic: set.IsPublic, CCPairIDs: []int{}, Users: []string{}, Groups: groups, FederatedConnectors: []any{}})
}

// RemoveDocumentSet cannot be done over the API.
func (r remoteDirectory) RemoveDocumentSet(context.Context, string) error {
	return notOverTheAPI("remove document sets")
}

// Agents lists the agents, without the one that is built in.
func (r remoteDirectory) Agents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	agents, err := r.session.Client.Personas(ctx)
	listed := []wire.DirectoryAgent{}
	for _, agent := range agents {
		if agent.BuiltinPersona {
			continue
		}
		full, err := r.session.Client.Persona(ctx, agent.ID)
		if err != nil {
			return nil, err
		}
		row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description, IsPublic: agent.IsPublic,
			Users: []string{}, Groups: []string{}, DocumentSets: []string{}, Documents: []string{},
			SearchStartDate: full.SearchStartDate, SystemPrompt: deref(full.SystemPrompt)}
		if agent.Owner != nil {
			row.Owner = deref(agent.Owner.Email)
		}
		for _, set := range agent.DocumentSets {
			row.DocumentSets = append(row.DocumentSets, set.Name)
		}
		listed = append(listed, row)
	}
	return listed, err
}

// AddAgent makes an agent of who asks.
func (r remoteDirectory) AddAgent(ctx context.Context, agent *wire.DirectoryAgent) (err error) {
	if len(agent.Users) > 0 {
		return notOverTheAPI("find users by their address")
	}
	groups, err := r.groupIDs(ctx, agent.Groups)
	if err != nil {
		return err
	}
	request := wire.PersonaRequest{Name: agent.Name, Description: agent.Description, SystemPrompt: agent.SystemPrompt,
		DatetimeAware: true, IsPublic: agent.IsPublic, DocumentIDs: agent.Documents, DocumentSetIDs: []int{}, ToolIDs: []int{},
		Users: []string{}, Groups: groups, LabelIDs: []int{}, UserFileIDs: []string{}, SearchStartDate: agent.SearchStartDate}
	if agent.Model != "" {
		request.Provider, request.Model = &agent.Provider, &agent.Model
	}
	if len(agent.DocumentSets) > 0 {
		sets, err := r.session.Client.DocumentSets(ctx)
		if err != nil {
			return err
		}
		for _, name := range agent.DocumentSets {
			at := slices.IndexFunc(sets, func(s wire.DocumentSet) bool { return s.Name == name })
			if at < 0 {
				return &Failure{Code: ExitNotAvailable, What: "there is no document set " + strconv.Quote(name),
					Do: "See: quarry admin document-set list"}
			}
			request.DocumentSetIDs = append(request.DocumentSetIDs, sets[at].ID)
		}
	}
	if agent.ID, err = r.session.Client.CreatePersona(ctx, request); err != nil {
		return err
	}
	agent.Owner, err = r.caller(ctx)
	return err
}

// RemoveAgent cannot be done over the API.
func (r remoteDirectory) RemoveAgent(context.Context, string) error {
	return notOverTheAPI("remove agents")
}

// Tenants cannot be listed over the API: a token knows of its own alone.
func (r remoteDirectory) Tenants(context.Context) ([]wire.DirectoryTenant, error) {
	return nil, notOverTheAPI("list tenants")
}

// AddTenant cannot be done over the API.
func (r remoteDirectory) AddTenant(context.Context, string) (wire.DirectoryTenant, bool, error) {
	return wire.DirectoryTenant{}, false, notOverTheAPI("add tenants")
}

// RemoveTenant cannot be done over the API.
func (r remoteDirectory) RemoveTenant(context.Context, string, bool) (wire.DirectoryTenant, error) {
	return wire.DirectoryTenant{}, notOverTheAPI("remove tenants")
}

// Close ends the session.
func (r remoteDirectory) Close() error { return r.session.Close() }
