package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// adminRoutes administer a tenant by names, where Onyx's API has no route: its users, groups of other systems, tokens,
// and the lists of connectors and agents. Only the owner's in-process handler has them.
func (s *Server) adminRoutes() []route {
	look := func(pattern string, do responder) route { return noBody(pattern, identity, do) }
	change := func(pattern string, do responder) route {
		if strings.HasPrefix(pattern, http.MethodDelete) {
			return noBody(pattern, identity, syncing(do))
		}
		return withBody(pattern, identity, syncing(do), large)
	}
	return []route{
		look("GET /admin/users", listing(storedUsers, wireUser)), change("POST /admin/users", adding(addAdminUser)),
		change("PATCH /admin/users", setUserState), change("DELETE /admin/users", removing((*directory.Directory).RemoveUser)),
		look("GET /admin/groups", externalGroups), change("POST /admin/groups", adding(joinExternalGroup)),
		change("DELETE /admin/groups", leaveGroup),
		look("GET /admin/connectors", listing((*directory.Directory).CCPairs, wireConnector)),
		change("DELETE /admin/connectors", removing((*directory.Directory).RemoveCCPair)),
		look("GET /admin/agents", adminAgents),
		look("GET /admin/tenants", adminTenants), change("POST /admin/tenants", adding(addTenant)),
		change("DELETE /admin/tenants", dropTenant),
		// Tokens do not change who may see a document.
		look("GET /admin/tokens", listing(everybodysTokens, wireToken)), look("DELETE /admin/tokens/{id}", removeAdminToken),
		withBody("POST /admin/tokens", identity, addAdminToken),
		withBody("POST /admin/sandbox-tokens", identity, ensureSandboxToken),
	}
}

// syncing updates the stored documents after do has changed who may see them.
func syncing(do responder) responder {
	return func(c *call) (any, error) {
		value, err := do(c)
		if err == nil {
			err = c.server.SyncConnectors(c.Context(), c.who.Tenant)
		}
		return value, err
	}
}

// knowTenant returns an error if there is no such tenant, before anything is created for it.
func (s *Server) knowTenant(ctx context.Context, tenant string) error {
	if tenant == directory.DefaultTenant {
		return nil
	}
	known, err := s.Directory.Tenants(ctx)
	if err == nil && !slices.Contains(known, tenant) {
		err = directory.MissingError{Kind: directory.KindTenant, Named: strconv.Quote(tenant)}
	}
	return err
}

// adminBody reads the body of a route of /admin.
func adminBody[T any](c *call) (value T, err error) {
	if err := c.failure(); err != nil {
		return value, err
	}
	if err := wire.Unmarshal(c.body, &value); err != nil {
		return value, invalid(problem{kind: "model_attributes_type", where: []any{"body"}, text: err.Error()})
	}
	return value, nil
}

// adding returns a route that adds what the body describes, and answers with the completed description.
func adding[T any](add func(*call, *wire.Added[T]) error) responder {
	return func(c *call) (any, error) {
		item, err := adminBody[T](c)
		added := wire.Added[T]{Item: item, IsNew: true, NewUsers: []string{}}
		if err == nil {
			err = add(c, &added)
		}
		return added, err
	}
}

// listing returns a route that lists things of the directory.
func listing[T, W any](list func(d *directory.Directory, ctx context.Context, tenant string) ([]T, error),
	describe func(T) W) responder {
	return func(c *call) (any, error) {
		found, err := list(c.server.Directory, c.Context(), c.who.Tenant)
		return mapped(found, describe), err
	}
}

// removing returns a route that removes what the parameter name names.
func removing(remove func(d *directory.Directory, ctx context.Context, tenant, name string) error) responder {
	return func(c *call) (any, error) {
		name := c.requireText("name", 1, longestPrompt)
		if err := c.failure(); err != nil {
			return nil, err
		}
		return done(remove(c.server.Directory, c.Context(), c.who.Tenant, name))
	}
}

// done is the answer of routes without a result.
func done(err error) (any, error) { return wire.MessageError{Message: "Done"}, err }

// storedUsers lists the users. A directory that was never created has none, not even the owner.
func storedUsers(d *directory.Directory, ctx context.Context, tenant string) ([]directory.User, error) {
	if absent, err := d.IsAbsent(ctx); absent || err != nil {
		return nil, err
	}
	return d.Users(ctx, tenant)
}

func wireUser(user directory.User) wire.DirectoryUser {
	return wire.DirectoryUser{ID: user.ID, Email: user.Email, Role: string(user.Role), IsActive: user.Active,
		CreatedAt: directory.Timestamp(user.CreatedAt)}
}

// addAdminUser creates a user, or changes the role of an existing user if one is given.
func addAdminUser(c *call, added *wire.Added[wire.DirectoryUser]) error {
	ctx, d, tenant, asked := c.Context(), c.server.Directory, c.who.Tenant, added.Item
	known, err := d.HasUser(ctx, tenant, asked.Email)
	if err != nil {
		return err
	}
	role := directory.Role(asked.Role)
	if role == "" {
		role = directory.RoleBasic
	}
	user, err := d.AddUser(ctx, tenant, asked.Email, role)
	if err == nil && asked.Role != "" && user.Role != role {
		user.Role, err = role, d.SetRole(ctx, tenant, asked.Email, role)
	}
	added.Item, added.IsNew = wireUser(user), !known
	return err
}

func setUserState(c *call) (any, error) {
	asked, err := adminBody[wire.DirectoryUserState](c)
	if err != nil {
		return nil, err
	}
	return done(c.server.Directory.SetActive(c.Context(), c.who.Tenant, asked.Email, asked.IsActive))
}

func everybodysTokens(d *directory.Directory, ctx context.Context, tenant string) ([]directory.Token, error) {
	return d.ListTokens(ctx, tenant, "")
}

func wireToken(token directory.Token) wire.DirectoryToken {
	return wire.DirectoryToken{AccessToken: token.Wire(), User: token.Email}
}

func addAdminToken(c *call) (any, error) {
	asked, err := adminBody[wire.DirectoryTokenRequest](c)
	return tokenOf(c, asked.User, err, func() (directory.Token, string, bool, error) {
		token, secret, err := c.server.Directory.AddToken(c.Context(), directory.TokenRequest{Tenant: c.who.Tenant, Name: asked.Name,
			Email: asked.User, Scopes: asked.Scopes, Days: asked.ExpirationDays})
		return token, secret, true, err
	})
}

// ensureSandboxToken answers with the sandbox token of a user, in the form of a new token.
func ensureSandboxToken(c *call) (any, error) {
	asked, err := adminBody[wire.SandboxTokenRequest](c)
	return tokenOf(c, asked.User, err, func() (directory.Token, string, bool, error) {
		return c.server.Directory.EnsureSandboxToken(c.Context(), directory.SandboxRequest{Tenant: c.who.Tenant, Email: asked.User,
			Key: c.server.SecretKey, Renew: asked.Renew})
	})
}

// tokenOf answers with the token that get returns, and whether its user is new. err is that of the request.
func tokenOf(c *call, user string, err error, get func() (directory.Token, string, bool, error)) (any, error) {
	if err != nil {
		return nil, err
	}
	added := wire.Added[wire.NewAccessToken]{}
	if added.NewUsers, err = newUsers(c, nonEmpty([]string{user})); err != nil {
		return nil, err
	}
	token, secret, isNew, err := get()
	added.Item, added.IsNew = wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}, isNew
	return added, err
}

// newUsers returns the addresses that no user has yet.
func newUsers(c *call, emails []string) ([]string, error) {
	unknown := []string{}
	for _, email := range emails {
		known, err := c.server.Directory.HasUser(c.Context(), c.who.Tenant, email)
		if err != nil {
			return nil, err
		}
		if !known {
			unknown = append(unknown, email)
		}
	}
	return unknown, nil
}

func removeAdminToken(c *call) (any, error) {
	d := c.server.Directory
	id := c.pathNumber("id", "token_id")
	if err := c.failure(); err != nil {
		return nil, err
	}
	absent, err := d.IsAbsent(c.Context())
	switch {
	case absent:
		err = directory.ErrNotFound
	case err == nil:
		err = d.RevokeToken(c.Context(), c.who.Tenant, "", id)
	}
	if errors.Is(err, directory.ErrNotFound) {
		err = directory.MissingError{Kind: directory.KindToken, Named: strconv.Itoa(id)}
	}
	return done(err)
}

// adminTenants lists the tenants by name. An empty library has only the default tenant.
func adminTenants(c *call) (any, error) {
	known, err := c.server.Directory.DescribeTenants(c.Context())
	if err != nil {
		return nil, err
	}
	for i := range known {
		if err := c.server.countStored(c.Context(), &known[i]); err != nil {
			return nil, err
		}
	}
	return known, nil
}

// countStored counts the documents and conversations of a tenant.
func (s *Server) countStored(ctx context.Context, t *wire.DirectoryTenant) error {
	err := s.reading(ctx, t.Name, func(snapshot index.Snapshot) error {
		stats, err := snapshot.Stats(ctx)
		t.Documents = stats.Documents
		return err
	})
	if err != nil {
		return err
	}
	t.Conversations, err = s.Chats(t.Name).Count(ctx)
	return err
}

func addTenant(c *call, added *wire.Added[wire.DirectoryTenant]) error {
	ctx, d := c.Context(), c.server.Directory
	known, err := d.Tenants(ctx)
	if err != nil {
		return err
	}
	added.IsNew = !slices.Contains(known, added.Item.Name)
	if err := d.AddTenant(ctx, added.Item.Name); err != nil {
		return err
	}
	if added.Item, err = d.DescribeTenant(ctx, added.Item.Name); err != nil {
		return err
	}
	return c.server.countStored(ctx, &added.Item)
}

// dropTenant removes a tenant with everything in it, and answers what that was. Without force it removes only an empty
// tenant.
func dropTenant(c *call) (any, error) {
	ctx, s := c.Context(), c.server
	name, force := c.requireText("name", 1, longestPrompt), c.flag("force")
	if err := c.failure(); err != nil {
		return nil, err
	}
	tenant, err := s.Directory.DescribeTenant(ctx, name)
	if errors.Is(err, directory.ErrNotFound) || name == directory.DefaultTenant {
		return nil, s.RemoveTenant(ctx, name) // refuses the default one, and deletes the files of an interrupted removal
	}
	if err != nil {
		return nil, err
	}
	if err := s.countStored(ctx, &tenant); err != nil {
		return nil, err
	}
	if held := tenant.Holds(); len(held) > 0 && !force {
		return nil, coded(http.StatusConflict, wire.CodeTenantNotEmpty, "tenant %s is not empty: it has %s", name, strings.Join(held, ", "))
	}
	return tenant, s.RemoveTenant(ctx, name)
}
