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

// adminRoutes administer a tenant: its users, groups, connectors, document sets, agents and tokens, by name. Only the
// owner's in-process handler has them.
func (s *Server) adminRoutes() []route {
	look := func(pattern string, do administering) route { return noBody(pattern, identity, administer(do)) }
	change := func(pattern string, do administering) route {
		if strings.HasPrefix(pattern, http.MethodDelete) {
			return noBody(pattern, identity, administer(syncing(do)))
		}
		return withBody(pattern, identity, administer(syncing(do)), large)
	}
	return []route{
		look("GET /admin/users", listing(storedUsers, wireUser)), change("POST /admin/users", adding(addAdminUser)),
		change("PATCH /admin/users", setUserState), change("DELETE /admin/users", removing((*directory.Directory).RemoveUser)),
		look("GET /admin/groups", adminGroups), change("POST /admin/groups", adding(addAdminGroup)),
		change("DELETE /admin/groups", removeAdminGroup),
		look("GET /admin/connectors", listing((*directory.Directory).CCPairs, wireConnector)), change("POST /admin/connectors", adding(addAdminConnector)),
		change("DELETE /admin/connectors", removing((*directory.Directory).RemoveCCPair)),
		look("GET /admin/document-sets", adminSets), change("POST /admin/document-sets", adding(addAdminSet)),
		look("GET /admin/agents", adminAgents), change("POST /admin/agents", adding(addAdminAgent)),
		look("GET /admin/tenants", s.adminTenants), change("POST /admin/tenants", adding(s.addTenant)),
		change("DELETE /admin/tenants", s.dropTenant),
		// Tokens do not change who may see a document.
		look("GET /admin/tokens", listing(everybodysTokens, wireToken)), look("DELETE /admin/tokens/{id}", removeAdminToken),
		withBody("POST /admin/tokens", identity, administer(addAdminToken)),
		withBody("POST /admin/sandbox-tokens", identity, administer(s.ensureSandboxToken)),
	}
}

// administering returns the answer of a route of /admin.
type administering func(c *call, d *directory.Directory) (any, error)

// administer returns the responder of a route of /admin.
func administer(do administering) responder {
	return func(c *call) (any, error) {
		if err := c.server.knowTenant(c.Context(), c.who.Tenant); err != nil {
			return nil, adminError(err)
		}
		value, err := do(c, c.server.Directory)
		return value, adminError(err)
	}
}

// syncing updates the stored documents after do has changed who may see them.
func syncing(do administering) administering {
	return func(c *call, d *directory.Directory) (any, error) {
		value, err := do(c, d)
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

// adminError adds to an error the code by which the client chooses its hint.
func adminError(err error) error {
	var taken directory.ExistsError
	var absent directory.MissingError
	switch {
	case errors.Is(err, directory.ErrNoSecretKey):
		return coded(http.StatusBadRequest, wire.CodeSecretKeyMissing, "%s", err)
	case errors.Is(err, directory.ErrWrongSecretKey):
		return coded(http.StatusConflict, wire.CodeSecretKeyWrong, "%s", err)
	case errors.As(err, &taken):
		return coded(http.StatusConflict, "DUPLICATE_RESOURCE", "%s", taken.Reason)
	case errors.As(err, &absent):
		code := strings.ToUpper(strings.ReplaceAll(string(absent.Kind), " ", "_"))
		switch absent.Kind {
		case directory.KindGroup:
			code = "GROUP"
		case directory.KindCCPair, directory.KindCredential:
			code = "CONNECTOR"
		}
		return coded(http.StatusNotFound, code+"_NOT_FOUND", "%s", absent.Error())
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
func adding[T any](add func(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[T]) error) administering {
	return func(c *call, d *directory.Directory) (any, error) {
		item, err := adminBody[T](c)
		added := wire.Added[T]{Item: item, IsNew: true, NewUsers: []string{}}
		if err == nil {
			err = add(c.Context(), d, c.who.Tenant, &added)
		}
		return added, err
	}
}

// listing returns a route that lists things of the directory.
func listing[T, W any](list func(d *directory.Directory, ctx context.Context, tenant string) ([]T, error), describe func(T) W) administering {
	return func(c *call, d *directory.Directory) (any, error) {
		found, err := list(d, c.Context(), c.who.Tenant)
		return mapped(found, describe), err
	}
}

// removing returns a route that removes what the parameter name names.
func removing(remove func(d *directory.Directory, ctx context.Context, tenant, name string) error) administering {
	return func(c *call, d *directory.Directory) (any, error) {
		name := c.requireText("name", 1, longestPrompt)
		if err := c.failure(); err != nil {
			return nil, err
		}
		return done(remove(d, c.Context(), c.who.Tenant, name))
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
func addAdminUser(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[wire.DirectoryUser]) error {
	asked := added.Item
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

func setUserState(c *call, d *directory.Directory) (any, error) {
	asked, err := adminBody[wire.DirectoryUserState](c)
	if err != nil {
		return nil, err
	}
	return done(d.SetActive(c.Context(), c.who.Tenant, asked.Email, asked.IsActive))
}

func everybodysTokens(d *directory.Directory, ctx context.Context, tenant string) ([]directory.Token, error) {
	return d.ListTokens(ctx, tenant, "")
}

func wireToken(token directory.Token) wire.DirectoryToken {
	return wire.DirectoryToken{AccessToken: token.Wire(), User: token.Email}
}

func addAdminToken(c *call, d *directory.Directory) (any, error) {
	asked, err := adminBody[wire.DirectoryTokenRequest](c)
	return tokenOf(c, d, asked.User, err, func() (directory.Token, string, bool, error) {
		token, secret, err := d.AddToken(c.Context(), directory.TokenRequest{Tenant: c.who.Tenant, Name: asked.Name,
			Email: asked.User, Scopes: asked.Scopes, Days: asked.ExpirationDays})
		return token, secret, true, err
	})
}

// ensureSandboxToken answers with the sandbox token of a user, in the form of a new token.
func (s *Server) ensureSandboxToken(c *call, d *directory.Directory) (any, error) {
	asked, err := adminBody[wire.SandboxTokenRequest](c)
	return tokenOf(c, d, asked.User, err, func() (directory.Token, string, bool, error) {
		return d.EnsureSandboxToken(c.Context(), directory.SandboxRequest{Tenant: c.who.Tenant, Email: asked.User,
			Key: s.SecretKey, Renew: asked.Renew})
	})
}

// tokenOf answers with the token that get returns, and whether its user is new. err is that of the request.
func tokenOf(c *call, d *directory.Directory, user string, err error,
	get func() (directory.Token, string, bool, error)) (any, error) {
	if err != nil {
		return nil, err
	}
	added := wire.Added[wire.NewAccessToken]{}
	if added.NewUsers, err = newUsers(c.Context(), d, c.who.Tenant, nonEmpty([]string{user})); err != nil {
		return nil, err
	}
	token, secret, isNew, err := get()
	added.Item, added.IsNew = wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}, isNew
	return added, err
}

// newUsers returns the addresses that no user has yet.
func newUsers(ctx context.Context, d *directory.Directory, tenant string, emails []string) ([]string, error) {
	unknown := []string{}
	for _, email := range emails {
		known, err := d.HasUser(ctx, tenant, email)
		if err != nil {
			return nil, err
		}
		if !known {
			unknown = append(unknown, email)
		}
	}
	return unknown, nil
}

func removeAdminToken(c *call, d *directory.Directory) (any, error) {
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
func (s *Server) adminTenants(c *call, d *directory.Directory) (any, error) {
	known, err := d.DescribeTenants(c.Context())
	if err != nil {
		return nil, err
	}
	for i := range known {
		if err := s.countStored(c.Context(), &known[i]); err != nil {
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

func (s *Server) addTenant(ctx context.Context, d *directory.Directory, _ string, added *wire.Added[wire.DirectoryTenant]) error {
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
	return s.countStored(ctx, &added.Item)
}

// dropTenant removes a tenant with everything in it, and answers what that was. Without force it removes only an empty
// tenant.
func (s *Server) dropTenant(c *call, d *directory.Directory) (any, error) {
	ctx := c.Context()
	name, force := c.requireText("name", 1, longestPrompt), c.flag("force")
	if err := c.failure(); err != nil {
		return nil, err
	}
	tenant, err := d.DescribeTenant(ctx, name)
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
