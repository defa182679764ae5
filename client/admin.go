package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"quarry/client/wire"
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

// AdminRemoveDocumentSet removes a document set; its documents stay.
func (c *Client) AdminRemoveDocumentSet(ctx context.Context, name string) error {
	return c.adminRemove(ctx, "document-sets", name)
}

// AdminAgents lists the agents by number, without the built-in one.
func (c *Client) AdminAgents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	return adminList(ctx, c, "agents", c.onyxAgents)
}

// AdminAddAgent adds an agent of the owner's, or over the API of the caller's.
func (c *Client) AdminAddAgent(ctx context.Context, agent wire.DirectoryAgent) (*wire.Added[wire.DirectoryAgent], error) {
	return adminAdd(ctx, c, "agents", agent, c.onyxAddAgent)
}

// AdminRemoveAgent removes an agent by its number or name.
func (c *Client) AdminRemoveAgent(ctx context.Context, name string) error {
	return c.adminRemove(ctx, "agents", name)
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

// AdminRemoveToken revokes a token at once.
func (c *Client) AdminRemoveToken(ctx context.Context, id int) error {
	if !c.options.Local {
		return c.DeleteToken(ctx, id)
	}
	return c.adminChange(ctx, "revoke tokens", adminCall(http.MethodDelete, fmt.Sprintf("tokens/%d", id), nil, nil))
}
