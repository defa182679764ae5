package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"

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

// own is a call of the /admin routes, which only a library in this process has. It has no time limit by default.
func own(method, path string, query url.Values, body any) call {
	verb := map[string]string{http.MethodGet: "list", http.MethodPost: "add", http.MethodPatch: "change",
		http.MethodDelete: "remove"}[method]
	return call{method: method, path: "/admin/" + path, query: query, body: body, limit: maxSearchBytes,
		onlyHere: verb + " " + noun(path)}
}

// noun is what a path lists: "document sets".
func noun(path string) string { return strings.ReplaceAll(path, "-", " ") }

// addOwn adds the thing that body describes to a library in this process, with users who may be new.
func addOwn[T any](ctx context.Context, c *Client, path string, body any, users ...string) (*wire.Added[T], error) {
	s := steps{Client: c, ctx: ctx}
	unknown := s.newUsers(users)
	added := step[wire.Added[T]](&s, own(http.MethodPost, path, nil, body))
	if s.err != nil {
		return nil, s.err
	}
	added.NewUsers = unknown
	return &added, nil
}

// removeOwn removes the thing with a name from a library in this process.
func (c *Client) removeOwn(ctx context.Context, path, name string) error {
	return c.do(ctx, own(http.MethodDelete, path, url.Values{"name": {name}}, nil))
}

// AdminUsers lists the users by address.
func (c *Client) AdminUsers(ctx context.Context) ([]wire.DirectoryUser, error) {
	return listed[wire.DirectoryUser](ctx, c, own(http.MethodGet, "users", nil, nil))
}

// AdminAddUser adds a user. With a role, one who exists gets it.
func (c *Client) AdminAddUser(ctx context.Context, email, role string) (*wire.Added[wire.DirectoryUser], error) {
	return addOwn[wire.DirectoryUser](ctx, c, "users", wire.DirectoryUser{Email: email, Role: role})
}

// AdminSetUserActive activates or deactivates a user with all their tokens.
func (c *Client) AdminSetUserActive(ctx context.Context, email string, active bool) error {
	return c.do(ctx, own(http.MethodPatch, "users", nil, wire.DirectoryUserState{Email: email, IsActive: active}))
}

// AdminRemoveUser removes a user with their tokens and memberships.
func (c *Client) AdminRemoveUser(ctx context.Context, email string) error {
	return c.removeOwn(ctx, "users", email)
}

// AdminGroups lists the groups by name, and then those of other systems, which a server's API does not list.
func (c *Client) AdminGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := c.ownGroups(ctx)
	if err != nil || !c.options.Local {
		return groups, err
	}
	external, err := listed[wire.DirectoryGroup](ctx, c, own(http.MethodGet, "groups", nil, nil))
	return append(groups, external...), err
}

// ownGroups lists the groups that are not of other systems.
func (c *Client) ownGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	groups, err := listed[wire.UserGroup](ctx, c, get(userGroupsPath, nil))
	return exslices.CastFunc(groups, func(group wire.UserGroup) wire.DirectoryGroup {
		return wire.DirectoryGroup{ID: group.ID, Name: group.Name,
			Connectors: exslices.CastFunc(group.CCPairs, func(pair wire.CCPair) string { return pair.Name }),
			Users:      exslices.CastFunc(group.Users, func(user wire.Me) string { return user.Email })}
	}), err
}

// AdminAddGroup creates a group, or adds users and connectors to the group with that name. Unknown users are added too.
func (c *Client) AdminAddGroup(ctx context.Context,
	group wire.DirectoryGroup) (*wire.Added[wire.DirectoryGroup], error) {
	if group.External {
		return addOwn[wire.DirectoryGroup](ctx, c, "groups", group, group.Users...)
	}
	s := steps{Client: c, ctx: ctx}
	added := wire.Added[wire.DirectoryGroup]{Item: group, NewUsers: s.newUsers(group.Users)}
	pairs := s.connectorIDs(group.Connectors)
	known, isKnown := s.userGroup(group.Name)
	if added.IsNew = !isKnown; added.IsNew {
		known = step[wire.UserGroup](&s, post(userGroupsPath,
			wire.UserGroupRequest{Name: group.Name, UserIDs: []string{}, CCPairIDs: pairs}))
	} else if len(pairs) > 0 {
		s.setMembers(known, known.Users, pairs)
	}
	added.Item.ID = known.ID
	var joining []string
	for _, email := range group.Users {
		joining = append(joining, step[wire.Added[wire.DirectoryUser]](&s,
			own(http.MethodPost, "users", nil, wire.DirectoryUser{Email: email})).Item.ID)
	}
	if len(joining) > 0 {
		step[wire.UserGroup](&s, post(groupPath(known.ID)+"/add-users", map[string][]string{"user_ids": joining}))
	}
	return &added, s.err
}

// AdminRemoveGroup removes users from a group, or the group itself if none are given.
func (c *Client) AdminRemoveGroup(ctx context.Context, group wire.DirectoryGroup) error {
	if group.External {
		return c.do(ctx, own(http.MethodDelete, "groups", url.Values{"name": {group.Name}, "user": group.Users}, nil))
	}
	s := steps{Client: c, ctx: ctx}
	known, isKnown := s.userGroup(group.Name)
	switch {
	case s.err != nil:
		return s.err
	case !isKnown:
		return missingNamed("group", group.Name)
	case len(group.Users) == 0:
		return c.removeAt(ctx, groupPath(known.ID))
	}
	for _, email := range group.Users {
		at := slices.IndexFunc(known.Users, func(user wire.Me) bool { return user.Email == address(email) })
		if at < 0 {
			return &Error{Kind: BadRequest, Reason: fmt.Sprintf("%s is not a member of group %q", email, group.Name),
				remedy: "list them with quarry admin group list"}
		}
		known.Users = slices.Delete(known.Users, at, at+1)
	}
	s.setMembers(known, known.Users, nil)
	return s.err
}

// AdminConnectors lists the connectors by number.
func (c *Client) AdminConnectors(ctx context.Context) ([]wire.DirectoryConnector, error) {
	return listed[wire.DirectoryConnector](ctx, c, own(http.MethodGet, "connectors", nil, nil))
}

// AdminAddConnector makes a connector and a credential without a secret, and pairs them, so that documents can be
// posted for it. The creator is the caller if none is given.
func (c *Client) AdminAddConnector(ctx context.Context, connector wire.DirectoryConnector) (
	*wire.Added[wire.DirectoryConnector], error) {
	if connector.Creator != "" && !c.options.Local {
		return nil, notOverTheAPI("name another creator")
	}
	s := steps{Client: c, ctx: ctx}
	groups := s.groupIDs(connector.Groups)
	made := step[wire.Created](&s, post("/manage/admin/connector", wire.ConnectorRequest{Name: connector.Name,
		Source: connector.Source, InputType: "load_state", Config: map[string]any{}, AccessType: connector.AccessType,
		Groups: groups}))
	credential := step[wire.Created](&s, post("/manage/credential", wire.CredentialRequest{Name: connector.Name,
		Source: connector.Source, JSON: map[string]any{}, AdminPublic: true, Groups: []int{}}))
	connector.ID = step[wire.PairResponse](&s, change(http.MethodPut,
		fmt.Sprintf("/manage/connector/%d/credential/%d", made.ID, credential.ID),
		wire.PairRequest{Name: connector.Name,
			AccessType: connector.AccessType, Groups: groups, Creator: connector.Creator})).Data
	connector.Creator = cmp.Or(connector.Creator, s.callerEmail())
	return addedBy(&s, connector)
}

// AdminRemoveConnector removes a connector with its documents.
func (c *Client) AdminRemoveConnector(ctx context.Context, name string) error {
	return c.removeOwn(ctx, "connectors", name)
}

// AdminDocumentSets lists the document sets by name. A server's API gives the users and groups of a set only by number:
// they are left out.
func (c *Client) AdminDocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	sets, err := c.DocumentSets(ctx)
	var users []wire.DirectoryUser
	var groups []wire.DirectoryGroup
	if c.options.Local && err == nil {
		if users, err = c.AdminUsers(ctx); err == nil {
			groups, err = c.ownGroups(ctx)
		}
	}
	return exslices.CastFunc(sets, func(set wire.DocumentSet) wire.DirectorySet {
		return wire.DirectorySet{ID: set.ID, Name: set.Name, Description: text.OrEmpty(set.Description),
			IsPublic: set.IsPublic,
			Users:    namesOf(users, userKey, set.Users), Groups: namesOf(groups, groupKey, set.Groups),
			Connectors: exslices.CastFunc(set.CCPairSummaries, func(c wire.ConnectorSummary) string { return c.Name })}
	}), err
}

// AdminAddDocumentSet adds a document set.
func (c *Client) AdminAddDocumentSet(ctx context.Context,
	set wire.DirectorySet) (*wire.Added[wire.DirectorySet], error) {
	s := steps{Client: c, ctx: ctx}
	set.ID = step[int](&s, post("/manage/admin/document-set", wire.DocumentSetRequest{Name: set.Name,
		Description: set.Description, IsPublic: set.IsPublic, Users: s.userIDs(set.Users),
		Groups: s.groupIDs(set.Groups), CCPairIDs: s.connectorIDs(set.Connectors), FederatedConnectors: []any{}}))
	return addedBy(&s, set)
}

// AdminRemoveDocumentSet removes a document set; its documents stay. One without a number is not there.
func (c *Client) AdminRemoveDocumentSet(ctx context.Context, set wire.DirectorySet) error {
	if set.ID == 0 {
		return missingNamed("document-set", set.Name)
	}
	return c.removeAt(ctx, fmt.Sprintf("/manage/admin/document-set/%d", set.ID))
}

// removeAt deletes what is at a path of Onyx's API.
func (c *Client) removeAt(ctx context.Context, path string) error {
	return c.do(ctx, c.unhurried(change(http.MethodDelete, path, nil)))
}

// AdminAgents lists the agents by number, without the built-in one. Only a library in this process tells their models,
// and only administrators learn who may use them.
func (c *Client) AdminAgents(ctx context.Context) ([]wire.DirectoryAgent, error) {
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
		row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description,
			IsPublic: agent.IsPublic,
			Users:    exslices.CastFunc(full.Users, func(u wire.Owner) string { return text.OrEmpty(u.Email) }),
			Groups:   exslices.CastFunc(full.GroupShares, func(g wire.GroupShare) string { return g.GroupName }),
			Documents: exslices.CastFunc(full.AttachedDocuments,
				func(d wire.AttachedDocument) string { return d.ID }),
			DocumentSets:    exslices.CastFunc(agent.DocumentSets, func(s wire.DocumentSet) string { return s.Name }),
			SearchStartDate: full.SearchStartDate, SystemPrompt: text.OrEmpty(full.SystemPrompt),
			Provider: full.Provider, Model: full.Model}
		if agent.Owner != nil {
			row.Owner = text.OrEmpty(agent.Owner.Email)
		}
		listed = append(listed, row)
	}
	return listed, err
}

// AdminAddAgent adds an agent of the caller's, who is the owner of a library in this process.
func (c *Client) AdminAddAgent(ctx context.Context,
	agent wire.DirectoryAgent) (*wire.Added[wire.DirectoryAgent], error) {
	s := steps{Client: c, ctx: ctx}
	request := wire.PersonaRequest{Name: agent.Name, Description: agent.Description, SystemPrompt: agent.SystemPrompt,
		DatetimeAware: true, IsPublic: agent.IsPublic, DocumentIDs: agent.Documents, ToolIDs: []int{},
		Users: s.userIDs(agent.Users), Groups: s.groupIDs(agent.Groups), LabelIDs: []int{}, UserFileIDs: []string{},
		DocumentSetIDs: idsOf(&s, "document-set", agent.DocumentSets, c.DocumentSets,
			func(set wire.DocumentSet) (string, int) { return set.Name, set.ID }),
		SearchStartDate: agent.SearchStartDate}
	if agent.Model != "" {
		request.Provider, request.Model = &agent.Provider, &agent.Model
	}
	agent.ID = step[wire.Created](&s, post("/persona", request)).ID
	agent.Owner = s.callerEmail()
	return addedBy(&s, agent)
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
	return listed[wire.DirectoryTenant](ctx, c, own(http.MethodGet, "tenants", nil, nil))
}

// AdminAddTenant adds a tenant; one that exists is left as it is.
func (c *Client) AdminAddTenant(ctx context.Context, name string) (*wire.Added[wire.DirectoryTenant], error) {
	return addOwn[wire.DirectoryTenant](ctx, c, "tenants", wire.DirectoryTenantRequest{Name: name})
}

// AdminRemoveTenant removes a tenant with all that it has, and returns what that was. One that is not empty is refused
// with wire.CodeTenantNotEmpty, unless force is set.
func (c *Client) AdminRemoveTenant(ctx context.Context, name string, force bool) (*wire.DirectoryTenant, error) {
	return fetched[wire.DirectoryTenant](ctx, c, own(http.MethodDelete, "tenants",
		url.Values{"name": {name}, "force": {fmt.Sprint(force)}}, nil))
}

// AdminTokens lists the tokens of all users, or over the API those of the caller.
func (c *Client) AdminTokens(ctx context.Context) ([]wire.DirectoryToken, error) {
	return listed[wire.DirectoryToken](ctx, c, c.unhurried(get(tokensPath, nil)))
}

// AdminAddToken creates a token, over the API for the caller. The answer is the only time that the token itself is
// shown.
func (c *Client) AdminAddToken(ctx context.Context, request wire.AccessTokenRequest) (
	*wire.Added[wire.NewAccessToken], error) {
	s := steps{Client: c, ctx: ctx}
	unknown := []string{}
	switch {
	case request.User != "" && !c.options.Local:
		return nil, notOffered("a server creates tokens only for the caller, not for --user " + request.User)
	case request.User != "":
		unknown = s.newUsers([]string{request.User})
	}
	added, err := addedBy(&s, step[wire.NewAccessToken](&s, post(tokensPath, request)))
	if err == nil {
		added.NewUsers = unknown
	}
	return added, err
}

// AdminEnsureSandboxToken returns the sandbox token of a user, new or reused.
func (c *Client) AdminEnsureSandboxToken(ctx context.Context,
	request wire.SandboxTokenRequest) (*wire.Added[wire.NewAccessToken], error) {
	return addOwn[wire.NewAccessToken](ctx, c, "sandbox-tokens", request, request.User)
}

// AdminRemoveToken revokes a token at once, over the API one of the caller's own; for an unknown one the error is
// NotAvailable.
func (c *Client) AdminRemoveToken(ctx context.Context, id int) error {
	return c.removeAt(ctx, fmt.Sprintf("%s/%d", tokensPath, id))
}

const (
	documentSetsPath = "/manage/document-set"
	userGroupsPath   = "/manage/admin/user-group"
	tokensPath       = "/user/pats"
)

func groupPath(id int) string { return fmt.Sprintf("%s/%d", userGroupsPath, id) }

// change is a call that changes what is at a path.
func change(method, path string, body any) call {
	r := post(path, body)
	r.method = method
	return r
}

// unhurried is a call without a time limit by default for a library in this process: documents may follow.
func (c *Client) unhurried(r call) call {
	if c.options.Local {
		r.timeout = 0
	}
	return r
}

// steps makes calls one after the other; after the first error no more are made.
type steps struct {
	*Client
	ctx context.Context
	err error
}

// step makes the next call.
func step[T any](s *steps, r call) (answer T) {
	if s.err == nil {
		s.err = s.fetch(s.ctx, s.unhurried(r), &answer)
	}
	return answer
}

// addedBy returns what the steps added, or their error.
func addedBy[T any](s *steps, item T) (*wire.Added[T], error) {
	if s.err != nil {
		return nil, s.err
	}
	return &wire.Added[T]{Item: item, IsNew: true, NewUsers: []string{}}, nil
}

func (s *steps) callerEmail() string {
	return step[wire.Me](s, get("/me", nil)).Email
}

// newUsers returns the addresses that no user has yet.
func (s *steps) newUsers(emails []string) []string {
	if len(emails) == 0 {
		return []string{}
	}
	known := step[[]wire.DirectoryUser](s, own(http.MethodGet, "users", nil, nil))
	return slices.DeleteFunc(slices.Clone(emails), func(email string) bool {
		return slices.ContainsFunc(known, func(user wire.DirectoryUser) bool { return user.Email == address(email) })
	})
}

// userGroup returns the group with a name, and whether there is one.
func (s *steps) userGroup(name string) (wire.UserGroup, bool) {
	for _, group := range step[[]wire.UserGroup](s, get(userGroupsPath, nil)) {
		if group.Name == name {
			return group, true
		}
	}
	return wire.UserGroup{}, false
}

// setMembers gives a group other members, and connectors in addition to those that it has.
func (s *steps) setMembers(group wire.UserGroup, users []wire.Me, pairs []int) {
	step[wire.UserGroup](s, change(http.MethodPatch, groupPath(group.ID), wire.UserGroupChange{
		UserIDs:   exslices.CastFunc(users, func(user wire.Me) string { return user.ID }),
		CCPairIDs: append(exslices.CastFunc(group.CCPairs, func(pair wire.CCPair) int { return pair.ID }), pairs...)}))
}

func userKey(u wire.DirectoryUser) (name, id string)       { return u.Email, u.ID }
func groupKey(g wire.DirectoryGroup) (name string, id int) { return g.Name, g.ID }

// address is the form in which addresses are stored.
func address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

func (s *steps) userIDs(emails []string) []string {
	return idsOf(s, "user", exslices.CastFunc(emails, address), s.AdminUsers, userKey)
}

func (s *steps) groupIDs(names []string) []int {
	return idsOf(s, "group", names, s.ownGroups, groupKey)
}

func (s *steps) connectorIDs(names []string) []int {
	return idsOf(s, "connector", names, s.AdminConnectors,
		func(c wire.DirectoryConnector) (string, int) { return c.Name, c.ID })
}

// idsOf finds the ids of what is named in a list, which is read only if there are names.
func idsOf[T, ID any](s *steps, kind string, names []string,
	list func(context.Context) ([]T, error), key func(T) (string, ID)) []ID {
	ids := []ID{}
	if len(names) == 0 || s.err != nil {
		return ids
	}
	var all []T
	all, s.err = list(s.ctx)
	for _, name := range names {
		at := slices.IndexFunc(all, func(one T) bool { known, _ := key(one); return known == name })
		switch {
		case s.err != nil:
		case at < 0:
			s.err = missingNamed(kind, name)
		default:
			_, id := key(all[at])
			ids = append(ids, id)
		}
	}
	return ids
}

// namesOf returns the names of the things with the given ids.
func namesOf[T any, ID comparable](all []T, key func(T) (string, ID), ids []ID) []string {
	return exslices.CastFuncFilter(all, func(one T) (string, bool) {
		name, id := key(one)
		return name, slices.Contains(ids, id)
	})
}

// missingNamed returns the error of a name that nothing has; kind is also the command that lists them.
func missingNamed(kind, name string) *Error {
	return &Error{Kind: NotAvailable, Reason: "there is no " + noun(kind) + " " + strconv.Quote(name),
		remedy: "list them with quarry admin " + kind + " list"}
}
