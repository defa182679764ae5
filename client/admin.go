package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"quarry/client/wire"
)

// ErrNotOffered is the cause of the error about administration that a server's API has no route for.
var ErrNotOffered = errors.New("not offered by this server")

func notOffered(reason string) error {
	return &Error{Kind: BadRequest, Reason: reason, cause: ErrNotOffered,
		remedy: "run the command where the library lies, without --server and --profile"}
}

// notOverTheAPI refuses what only a library in this process can do.
func notOverTheAPI(what string) error { return notOffered("a server's API has no way to " + what) }

// administer makes a call of the /admin routes, which a library in this process has. It may take as long as the caller
// waits.
func administer(method, path string, query url.Values, body any) call {
	return call{method: method, path: "/admin/" + path, query: query, body: body, limit: maxSearchBytes}
}

// adminList lists one kind of thing.
func adminList[T any](ctx context.Context, c *Client, path, what string) ([]T, error) {
	if !c.options.Local {
		return nil, notOverTheAPI("list " + what)
	}
	return listed[T](ctx, c, administer(http.MethodGet, path, nil, nil))
}

// adminAdd adds a thing that is described by a body.
func adminAdd[T any](ctx context.Context, c *Client, path, what string, body any) (*wire.Added[T], error) {
	if !c.options.Local {
		return nil, notOverTheAPI("add " + what)
	}
	return fetched[wire.Added[T]](ctx, c, administer(http.MethodPost, path, nil, body))
}

// adminRemove removes the thing of a name.
func adminRemove(ctx context.Context, c *Client, path, what, name string) error {
	return c.adminChange(ctx, "remove "+what, administer(http.MethodDelete, path, url.Values{"name": {name}}, nil))
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
	return adminList[wire.DirectoryUser](ctx, c, "users", "users")
}

// AdminAddUser makes a user. With a role, one who exists gets it.
func (c *Client) AdminAddUser(ctx context.Context, email, role string) (*wire.Added[wire.DirectoryUser], error) {
	return adminAdd[wire.DirectoryUser](ctx, c, "users", "users", wire.DirectoryUser{Email: email, Role: role})
}

// AdminSetUserActive lets a user in or keeps them out, with all their tokens.
func (c *Client) AdminSetUserActive(ctx context.Context, email string, active bool) error {
	return c.adminChange(ctx, "change users",
		administer(http.MethodPatch, "users", nil, wire.DirectoryUserState{Email: email, IsActive: active}))
}

// AdminRemoveUser removes a user with their tokens and memberships.
func (c *Client) AdminRemoveUser(ctx context.Context, email string) error {
	return adminRemove(ctx, c, "users", "users", email)
}

// AdminGroups lists the groups by name, and then those of other systems, which a server's API does not list.
func (c *Client) AdminGroups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	if !c.options.Local {
		return c.onyxGroups(ctx)
	}
	return adminList[wire.DirectoryGroup](ctx, c, "groups", "groups")
}

// AdminAddGroup makes a group, or adds users and connectors to the one of that name. Unknown users are made.
func (c *Client) AdminAddGroup(ctx context.Context, group wire.DirectoryGroup) (*wire.Added[wire.DirectoryGroup], error) {
	if !c.options.Local {
		return nil, notOverTheAPI("find users by their address")
	}
	return adminAdd[wire.DirectoryGroup](ctx, c, "groups", "groups", group)
}

// AdminRemoveGroup takes users out of a group, or removes the group if none are given.
func (c *Client) AdminRemoveGroup(ctx context.Context, group wire.DirectoryGroup) error {
	query := url.Values{"name": {group.Name}, "external": {fmt.Sprint(group.External)}, "user": group.Users}
	return c.adminChange(ctx, "remove groups", administer(http.MethodDelete, "groups", query, nil))
}

// AdminConnectors lists the connectors by number.
func (c *Client) AdminConnectors(ctx context.Context) ([]wire.DirectoryConnector, error) {
	return adminList[wire.DirectoryConnector](ctx, c, "connectors", "connectors")
}

// AdminAddConnector makes a connector, which documents can be posted for.
func (c *Client) AdminAddConnector(ctx context.Context, connector wire.DirectoryConnector) (*wire.Added[wire.DirectoryConnector], error) {
	if !c.options.Local {
		return c.onyxAddConnector(ctx, connector)
	}
	return adminAdd[wire.DirectoryConnector](ctx, c, "connectors", "connectors", connector)
}

// AdminRemoveConnector removes a connector with its documents.
func (c *Client) AdminRemoveConnector(ctx context.Context, name string) error {
	return adminRemove(ctx, c, "connectors", "connectors", name)
}

// AdminDocumentSets lists the document sets by name. For whom they are, a server's API says only in numbers; that is
// left out.
func (c *Client) AdminDocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	if !c.options.Local {
		return c.onyxDocumentSets(ctx)
	}
	return adminList[wire.DirectorySet](ctx, c, "document-sets", "document sets")
}

// AdminAddDocumentSet makes a document set.
func (c *Client) AdminAddDocumentSet(ctx context.Context, set wire.DirectorySet) (*wire.Added[wire.DirectorySet], error) {
	if !c.options.Local {
		return c.onyxAddDocumentSet(ctx, set)
	}
	return adminAdd[wire.DirectorySet](ctx, c, "document-sets", "document sets", set)
}

// AdminRemoveDocumentSet removes a document set; its documents stay.
func (c *Client) AdminRemoveDocumentSet(ctx context.Context, name string) error {
	return adminRemove(ctx, c, "document-sets", "document sets", name)
}

// AdminAgents lists the agents by number, without the one that is built in.
func (c *Client) AdminAgents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	if !c.options.Local {
		return c.onyxAgents(ctx)
	}
	return adminList[wire.DirectoryAgent](ctx, c, "agents", "agents")
}

// AdminAddAgent makes an agent of the owner's, or over the API of the caller's.
func (c *Client) AdminAddAgent(ctx context.Context, agent wire.DirectoryAgent) (*wire.Added[wire.DirectoryAgent], error) {
	if !c.options.Local {
		return c.onyxAddAgent(ctx, agent)
	}
	return adminAdd[wire.DirectoryAgent](ctx, c, "agents", "agents", agent)
}

// AdminRemoveAgent removes an agent that is named by its number or its name.
func (c *Client) AdminRemoveAgent(ctx context.Context, name string) error {
	return adminRemove(ctx, c, "agents", "agents", name)
}

// AdminTenants lists the tenants by name.
func (c *Client) AdminTenants(ctx context.Context) ([]wire.DirectoryTenant, error) {
	return adminList[wire.DirectoryTenant](ctx, c, "tenants", "tenants")
}

// AdminAddTenant makes a tenant; one that exists is left as it is.
func (c *Client) AdminAddTenant(ctx context.Context, name string) (*wire.Added[wire.DirectoryTenant], error) {
	return adminAdd[wire.DirectoryTenant](ctx, c, "tenants", "tenants", wire.DirectoryTenantRequest{Name: name})
}

// AdminRemoveTenant removes a tenant with all that it has, and returns what that was. One that is not empty is refused
// with wire.CodeTenantNotEmpty, unless force is set.
func (c *Client) AdminRemoveTenant(ctx context.Context, name string, force bool) (*wire.DirectoryTenant, error) {
	if !c.options.Local {
		return nil, notOverTheAPI("remove tenants")
	}
	return fetched[wire.DirectoryTenant](ctx, c, administer(http.MethodDelete, "tenants",
		url.Values{"name": {name}, "force": {fmt.Sprint(force)}}, nil))
}

// AdminTokens lists the tokens of everybody, or over the API those of the caller.
func (c *Client) AdminTokens(ctx context.Context) ([]wire.DirectoryToken, error) {
	if c.options.Local {
		return adminList[wire.DirectoryToken](ctx, c, "tokens", "tokens")
	}
	return listed[wire.DirectoryToken](ctx, c, get("/user/pats", nil))
}

// AdminAddToken makes a token. The answer is the only time that the token itself is shown.
func (c *Client) AdminAddToken(ctx context.Context, request wire.DirectoryTokenRequest) (*wire.Added[wire.NewAccessToken], error) {
	switch {
	case c.options.Local:
		return adminAdd[wire.NewAccessToken](ctx, c, "tokens", "tokens", request)
	case request.User != "":
		return nil, notOffered("a server makes tokens only for the one who asks, not for --user " + request.User)
	}
	token, err := c.CreateToken(ctx, request.AccessTokenRequest)
	if err != nil {
		return nil, err
	}
	return &wire.Added[wire.NewAccessToken]{Item: *token, IsNew: true}, nil
}

// AdminRemoveToken revokes a token at once.
func (c *Client) AdminRemoveToken(ctx context.Context, id int) error {
	if !c.options.Local {
		return c.DeleteToken(ctx, id)
	}
	return c.adminChange(ctx, "revoke tokens", administer(http.MethodDelete, fmt.Sprintf("tokens/%d", id), nil, nil))
}
