package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/internal/text"
)

// ErrNotOffered is the cause of the error about administration that a server's API has no route for.
var ErrNotOffered = errors.New("not offered by this server")

func notOffered(reason string) error {
	return &Error{Kind: BadRequest, Reason: reason, cause: ErrNotOffered,
		remedy: "run the command on the machine of the library, without --server and --profile"}
}

// notOverTheAPI refuses what only a library in this process can do.
func notOverTheAPI(what string) error { return notOffered("a server's API has no way to " + what) }

// adminCall is a call of the /admin routes, which only a library in this process has. It has no time limit by default.
func adminCall(method, path string, query url.Values, body any) call {
	return call{method: method, path: "/admin/" + path, query: query, body: body, limit: maxSearchBytes}
}

// noun is what a path lists: "document sets".
func noun(path string) string { return strings.ReplaceAll(path, "-", " ") }

// adminList lists one kind of thing. For a server elsewhere, onyx lists it over Onyx's API; nil: that has no route.
func adminList[T any](ctx context.Context, c *Client, path string, onyx func(context.Context) ([]T, error)) ([]T, error) {
	switch {
	case c.options.Local:
		return listed[T](ctx, c, adminCall(http.MethodGet, path, nil, nil))
	case onyx == nil:
		return nil, notOverTheAPI("list " + noun(path))
	}
	return onyx(ctx)
}

// adminAdd adds the thing that body describes. For a server elsewhere, onyx adds it over Onyx's API; nil: that has no
// route.
func adminAdd[T, B any](ctx context.Context, c *Client, path string, body B,
	onyx func(context.Context, B) (*wire.Added[T], error)) (*wire.Added[T], error) {
	switch {
	case c.options.Local:
		return fetched[wire.Added[T]](ctx, c, adminCall(http.MethodPost, path, nil, body))
	case onyx == nil:
		return nil, notOverTheAPI("add " + noun(path))
	}
	return onyx(ctx, body)
}

// adminRemove removes the thing with a name.
func (c *Client) adminRemove(ctx context.Context, path, name string) error {
	return c.adminChange(ctx, "remove "+noun(path), adminCall(http.MethodDelete, path, url.Values{"name": {name}}, nil))
}

func (c *Client) adminChange(ctx context.Context, what string, r call) error {
	if !c.options.Local {
		return notOverTheAPI(what)
	}
	var said map[string]any
	return c.fetch(ctx, r, &said)
}

// AdminUsers lists the users by address.
func (c *Client) AdminUsers(ctx context.Context) ([]wire.DirectoryUser, error) {
	return adminList[wire.DirectoryUser](ctx, c, "users", nil)
}

// AdminAddUser adds a user. With a role, one who exists gets it.
func (c *Client) AdminAddUser(ctx context.Context, email, role string) (*wire.Added[wire.DirectoryUser], error) {
	return adminAdd[wire.DirectoryUser](ctx, c, "users", wire.DirectoryUser{Email: email, Role: role}, nil)
}

// AdminSetUserActive activates or deactivates a user with all their tokens.
func (c *Client) AdminSetUserActive(ctx context.Context, email string, active bool) error {
	return c.adminChange(ctx, "change users",
		adminCall(http.MethodPatch, "users", nil, wire.DirectoryUserState{Email: email, IsActive: active}))
}

// AdminRemoveUser removes a user with their tokens and memberships.
func (c *Client) AdminRemoveUser(ctx context.Context, email string) error {
	return c.adminRemove(ctx, "users", email)
}

// AdminGroups lists the groups by name, and then those of other systems, which a server's API does not list.
func (c *Client) AdminGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	return adminList(ctx, c, "groups", c.onyxGroups)
}

// AdminAddGroup adds a group, or adds users and connectors to the group with that name. Unknown users are added too.
func (c *Client) AdminAddGroup(ctx context.Context, group wire.DirectoryGroup) (*wire.Added[wire.DirectoryGroup], error) {
	if !c.options.Local {
		return nil, notOverTheAPI("find users by their address")
	}
	return adminAdd[wire.DirectoryGroup](ctx, c, "groups", group, nil)
}

// AdminRemoveGroup removes users from a group, or the group itself if none are given.
func (c *Client) AdminRemoveGroup(ctx context.Context, group wire.DirectoryGroup) error {
	query := url.Values{"name": {group.Name}, "external": {fmt.Sprint(group.External)}, "user": group.Users}
	return c.adminChange(ctx, "remove groups", adminCall(http.MethodDelete, "groups", query, nil))
}

// AdminConnectors lists the connectors by number.
func (c *Client) AdminConnectors(ctx context.Context) ([]wire.DirectoryConnector, error) {
	return adminList[wire.DirectoryConnector](ctx, c, "connectors", nil)
}

// AdminAddConnector adds a connector, which documents can be posted for.
func (c *Client) AdminAddConnector(ctx context.Context, connector wire.DirectoryConnector) (*wire.Added[wire.DirectoryConnector], error) {
	return adminAdd(ctx, c, "connectors", connector, c.onyxAddConnector)
}

// AdminRemoveConnector removes a connector with its documents.
func (c *Client) AdminRemoveConnector(ctx context.Context, name string) error {
	return c.adminRemove(ctx, "connectors", name)
}

// AdminDocumentSets lists the document sets by name. A server's API gives the users and groups of a set only by number:
// they are left out.
func (c *Client) AdminDocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	return adminList(ctx, c, "document-sets", c.onyxDocumentSets)
}

// AdminAddDocumentSet adds a document set.
func (c *Client) AdminAddDocumentSet(ctx context.Context, set wire.DirectorySet) (*wire.Added[wire.DirectorySet], error) {
	return adminAdd(ctx, c, "document-sets", set, c.onyxAddDocumentSet)
}

// AdminRemoveDocumentSet removes a document set; its documents stay. One without a number is not there.
func (c *Client) AdminRemoveDocumentSet(ctx context.Context, set wire.DirectorySet) error {
	if set.ID == 0 {
		return missingNamed("document-set", set.Name)
	}
	return c.removeAt(ctx, fmt.Sprintf("/manage/admin/document-set/%d", set.ID))
}

// removeAt deletes what is at a path of Onyx's API. For a library in this process it has no time limit by default:
// documents may follow.
func (c *Client) removeAt(ctx context.Context, path string) error {
	r := get(path, nil)
	r.method = http.MethodDelete
	if c.options.Local {
		r.timeout = 0
	}
	answered, err := c.open(ctx, r)
	if err == nil {
		answered.Close() // it is null
	}
	return err
}

// AdminAgents lists the agents by number, without the built-in one.
func (c *Client) AdminAgents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	return adminList(ctx, c, "agents", c.onyxAgents)
}

// AdminAddAgent adds an agent of the owner's, or over the API of the caller's.
func (c *Client) AdminAddAgent(ctx context.Context, agent wire.DirectoryAgent) (*wire.Added[wire.DirectoryAgent], error) {
	return adminAdd(ctx, c, "agents", agent, c.onyxAddAgent)
}

// AdminRemoveAgent removes an agent by its number. What is no number is not there.
func (c *Client) AdminRemoveAgent(ctx context.Context, number string) error {
	id, err := strconv.Atoi(number)
	if err != nil {
		return missingNamed("agent", number)
	}
	err = c.removeAt(ctx, fmt.Sprintf("/persona/%d", id))
	if KindOf(err) == Auth { // Onyx refuses agents that do not exist like those of others
		if _, missing := c.Persona(ctx, id); KindOf(missing) == NotAvailable {
			return missingNamed("agent", number)
		}
	}
	return err
}

// AdminTenants lists the tenants by name.
func (c *Client) AdminTenants(ctx context.Context) ([]wire.DirectoryTenant, error) {
	return adminList[wire.DirectoryTenant](ctx, c, "tenants", nil)
}

// AdminAddTenant adds a tenant; one that exists is left as it is.
func (c *Client) AdminAddTenant(ctx context.Context, name string) (*wire.Added[wire.DirectoryTenant], error) {
	return adminAdd[wire.DirectoryTenant](ctx, c, "tenants", wire.DirectoryTenantRequest{Name: name}, nil)
}

// AdminRemoveTenant removes a tenant with all that it has, and returns what that was. One that is not empty is refused
// with wire.CodeTenantNotEmpty, unless force is set.
func (c *Client) AdminRemoveTenant(ctx context.Context, name string, force bool) (*wire.DirectoryTenant, error) {
	if !c.options.Local {
		return nil, notOverTheAPI("remove tenants")
	}
	return fetched[wire.DirectoryTenant](ctx, c, adminCall(http.MethodDelete, "tenants",
		url.Values{"name": {name}, "force": {fmt.Sprint(force)}}, nil))
}

// AdminTokens lists the tokens of all users, or over the API those of the caller.
func (c *Client) AdminTokens(ctx context.Context) ([]wire.DirectoryToken, error) {
	return adminList(ctx, c, "tokens", func(ctx context.Context) ([]wire.DirectoryToken, error) {
		return listed[wire.DirectoryToken](ctx, c, get("/user/pats", nil))
	})
}

// AdminAddToken creates a token. The answer is the only time that the token itself is shown.
func (c *Client) AdminAddToken(ctx context.Context, request wire.DirectoryTokenRequest) (*wire.Added[wire.NewAccessToken], error) {
	return adminAdd(ctx, c, "tokens", request, c.onyxAddToken)
}

// AdminEnsureSandboxToken returns the sandbox token of a user, new or reused.
func (c *Client) AdminEnsureSandboxToken(ctx context.Context, request wire.SandboxTokenRequest) (*wire.Added[wire.NewAccessToken], error) {
	return adminAdd[wire.NewAccessToken](ctx, c, "sandbox-tokens", request, nil)
}

// AdminRemoveToken revokes a token at once.
func (c *Client) AdminRemoveToken(ctx context.Context, id int) error {
	if !c.options.Local {
		return c.DeleteToken(ctx, id)
	}
	return c.adminChange(ctx, "revoke tokens", adminCall(http.MethodDelete, fmt.Sprintf("tokens/%d", id), nil, nil))
}

// The functions below administer a server over the routes of Onyx's API, as far as it has any.

const (
	documentSetsPath = "/manage/document-set"
	userGroupsPath   = "/manage/admin/user-group"
)

func (c *Client) onyxGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := listed[wire.UserGroup](ctx, c, get(userGroupsPath, nil))
	return mapped(groups, func(group wire.UserGroup) wire.DirectoryGroup {
		return wire.DirectoryGroup{ID: group.ID, Name: group.Name, Connectors: mapped(group.CCPairs, func(pair wire.CCPair) string { return pair.Name }),
			Users: mapped(group.Users, func(user wire.Me) string { return user.Email })}
	}), err
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

// steps makes calls one after the other; after the first error no more are made.
type steps struct {
	client *Client
	err    error
}

// step makes the next call.
func step[T any](ctx context.Context, s *steps, r call) (answer T) {
	if s.err == nil {
		s.err = s.client.fetch(ctx, r, &answer)
	}
	return answer
}

// addedBy returns what the steps added, or their error.
func addedBy[T any](s *steps, item T) (*wire.Added[T], error) {
	if s.err != nil {
		return nil, s.err
	}
	return &wire.Added[T]{Item: item, IsNew: true}, nil
}

// groupIDs finds the numbers of groups.
func (s *steps) groupIDs(ctx context.Context, names []string) []int {
	var groups []wire.UserGroup
	if len(names) > 0 {
		groups = step[[]wire.UserGroup](ctx, s, get(userGroupsPath, nil))
	}
	return idsNamed(s, groups, names, "group", func(g wire.UserGroup) (string, int) { return g.Name, g.ID })
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
	s := steps{client: c}
	groups := s.groupIDs(ctx, connector.Groups)
	made := step[wire.Created](ctx, &s, post("/manage/admin/connector", wire.ConnectorRequest{Name: connector.Name,
		Source: connector.Source, InputType: "load_state", Config: map[string]any{}, AccessType: connector.AccessType, Groups: groups}))
	credential := step[wire.Created](ctx, &s, post("/manage/credential", wire.CredentialRequest{Name: connector.Name,
		Source: connector.Source, JSON: map[string]any{}, AdminPublic: true, Groups: []int{}}))
	pairing := post(fmt.Sprintf("/manage/connector/%d/credential/%d", made.ID, credential.ID),
		wire.PairRequest{Name: connector.Name, AccessType: connector.AccessType, Groups: groups})
	pairing.method = http.MethodPut
	connector.ID = step[wire.PairResponse](ctx, &s, pairing).Data
	connector.Creator = step[wire.Me](ctx, &s, get("/me", nil)).Email
	return addedBy(&s, connector)
}

// missingNamed returns the error of a name that nothing has; kind is also the command that lists them.
func missingNamed(kind, name string) *Error {
	return &Error{Kind: NotAvailable, Reason: "there is no " + noun(kind) + " " + strconv.Quote(name),
		remedy: "list them with quarry admin " + kind + " list"}
}

// idsNamed finds the numbers of what is named.
func idsNamed[T any](s *steps, all []T, names []string, kind string, key func(T) (string, int)) []int {
	ids := []int{}
	for _, name := range names {
		at := slices.IndexFunc(all, func(one T) bool { known, _ := key(one); return known == name })
		if at >= 0 {
			_, id := key(all[at])
			ids = append(ids, id)
		} else if s.err == nil {
			s.err = missingNamed(kind, name)
		}
	}
	return ids
}

func (c *Client) onyxDocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	sets, err := c.DocumentSets(ctx)
	return mapped(sets, func(set wire.DocumentSet) wire.DirectorySet {
		return wire.DirectorySet{ID: set.ID, Name: set.Name, Description: text.OrEmpty(set.Description),
			IsPublic: set.IsPublic, Users: []string{}, Groups: []string{}, Connectors: mapped(set.CCPairSummaries, connectorName)}
	}), err
}

// onyxAddDocumentSet makes a document set. The API has no route that finds connectors and users by name.
func (c *Client) onyxAddDocumentSet(ctx context.Context, set wire.DirectorySet) (*wire.Added[wire.DirectorySet], error) {
	if len(set.Users)+len(set.Connectors) > 0 {
		return nil, notOverTheAPI("find users and connectors by their names")
	}
	s := steps{client: c}
	set.ID = step[int](ctx, &s, post("/manage/admin/document-set", wire.DocumentSetRequest{Name: set.Name,
		Description: set.Description, IsPublic: set.IsPublic, CCPairIDs: []int{}, Users: []string{}, Groups: s.groupIDs(ctx, set.Groups),
		FederatedConnectors: []any{}}))
	return addedBy(&s, set)
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
			SearchStartDate: full.SearchStartDate, SystemPrompt: text.OrEmpty(full.SystemPrompt)}
		if agent.Owner != nil {
			row.Owner = text.OrEmpty(agent.Owner.Email)
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
	s := steps{client: c}
	request := wire.PersonaRequest{Name: agent.Name, Description: agent.Description, SystemPrompt: agent.SystemPrompt,
		DatetimeAware: true, IsPublic: agent.IsPublic, DocumentIDs: agent.Documents, DocumentSetIDs: []int{}, ToolIDs: []int{},
		Users: []string{}, Groups: s.groupIDs(ctx, agent.Groups), LabelIDs: []int{}, UserFileIDs: []string{}, SearchStartDate: agent.SearchStartDate}
	if agent.Model != "" {
		request.Provider, request.Model = &agent.Provider, &agent.Model
	}
	if len(agent.DocumentSets) > 0 {
		sets := step[[]wire.DocumentSet](ctx, &s, get(documentSetsPath, nil))
		request.DocumentSetIDs = idsNamed(&s, sets, agent.DocumentSets, "document-set",
			func(s wire.DocumentSet) (string, int) { return s.Name, s.ID })
	}
	agent.ID = step[wire.Created](ctx, &s, post("/persona", request)).ID
	agent.Owner = step[wire.Me](ctx, &s, get("/me", nil)).Email
	return addedBy(&s, agent)
}
