package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
)

// adminRoutes administer a tenant by names: who may use a library, and what is arranged for them. They exist on the
// owner's in-process handler only.
func (s *Server) adminRoutes() []route {
	look := func(pattern string, do administering) route {
		return route{pattern: pattern, needs: identity, handle: s.administer(false, do)}
	}
	change := func(pattern string, do administering) route {
		return route{pattern: pattern, needs: identity, maxBody: megabyte, handle: s.administer(true, s.settling(do))}
	}
	return []route{
		look("GET /admin/users", adminUsers), change("POST /admin/users", addAdminUser),
		change("PATCH /admin/users", setUserState), change("DELETE /admin/users", named(removeUser)),
		look("GET /admin/groups", adminGroups), change("POST /admin/groups", addAdminGroup),
		change("DELETE /admin/groups", removeAdminGroup),
		look("GET /admin/connectors", adminConnectors), change("POST /admin/connectors", addAdminConnector),
		change("DELETE /admin/connectors", named(removeConnector)),
		look("GET /admin/document-sets", adminSets), change("POST /admin/document-sets", addAdminSet),
		change("DELETE /admin/document-sets", named(s.removeDocumentSet)),
		look("GET /admin/agents", adminAgents), change("POST /admin/agents", addAdminAgent),
		change("DELETE /admin/agents", named(removeAdminAgent)),
		look("GET /admin/tenants", s.adminTenants), change("POST /admin/tenants", s.addTenant),
		change("DELETE /admin/tenants", s.dropTenant),
		// No document follows a token.
		look("GET /admin/tokens", adminTokens), look("DELETE /admin/tokens/{id}", removeAdminToken),
		{pattern: "POST /admin/tokens", needs: identity, handle: s.administer(true, addAdminToken)},
	}
}

// administering answers a route of /admin with a value.
type administering func(r *http.Request, d *directory.Directory, tenant string) (any, error)

// administer makes a handler of a route of /admin. With create, a directory that does not exist is made.
func (s *Server) administer(create bool, do administering) handler {
	return func(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
		if err := s.knowTenant(r.Context(), who.Tenant); err != nil {
			return adminError(err)
		}
		d, err := s.Directory(r.Context(), create)
		if err != nil {
			return err
		}
		value, err := do(r, d, who.Tenant)
		if err != nil {
			return adminError(err)
		}
		return answer(w, value)
	}
}

// settling brings the documents in step with what do has changed.
func (s *Server) settling(do administering) administering {
	return func(r *http.Request, d *directory.Directory, tenant string) (any, error) {
		value, err := do(r, d, tenant)
		if err == nil {
			err = s.Settle(r.Context(), tenant)
		}
		return value, err
	}
}

// knowTenant refuses a tenant that does not exist, before anything is made for it.
func (s *Server) knowTenant(ctx context.Context, tenant string) error {
	if tenant == directory.DefaultTenant {
		return nil
	}
	d, err := s.Directory(ctx, false)
	if err != nil {
		return err
	}
	known, err := d.Tenants(ctx)
	if err == nil && !slices.Contains(known, tenant) {
		err = directory.MissingError{Kind: directory.KindTenant, Named: strconv.Quote(tenant)}
	}
	return err
}

// adminError gives an error the code by which the client finds the command that helps.
func adminError(err error) error {
	var taken directory.ExistsError
	var absent directory.MissingError
	switch {
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
func adminBody[T any](r *http.Request) (value T, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return value, unreadable(err)
	}
	if _, err := objectFields(body); err != nil {
		return value, err
	}
	if err := wire.Unmarshal(body, &value); err != nil {
		return value, invalid(problem{kind: "model_attributes_type", where: []any{"body"}, text: err.Error()})
	}
	return value, nil
}

// named makes an answer of what changes the one thing that the request names.
func named(change func(ctx context.Context, d *directory.Directory, tenant, name string) error) administering {
	return func(r *http.Request, d *directory.Directory, tenant string) (any, error) {
		f := queryFields(r.URL.Query())
		name := f.requireText("name", longestPrompt)
		if err := f.failure(); err != nil {
			return nil, err
		}
		return done(change(r.Context(), d, tenant, name))
	}
}

// done is the answer of routes that have nothing to tell.
func done(err error) (any, error) { return wire.MessageError{Message: "Done"}, err }

func adminUsers(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	listed := []wire.DirectoryUser{}
	if d.IsAbsent() { // its owner was not stored either
		return listed, nil
	}
	users, err := d.Users(r.Context(), tenant)
	for _, user := range users {
		listed = append(listed, wireUser(user))
	}
	return listed, err
}

func wireUser(user directory.User) wire.DirectoryUser {
	return wire.DirectoryUser{Email: user.Email, Role: string(user.Role), IsActive: user.Active,
		CreatedAt: directory.Timestamp(user.CreatedAt)}
}

// addAdminUser makes a user. With a role, one who exists gets it.
func addAdminUser(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	ctx := r.Context()
	asked, err := adminBody[wire.DirectoryUser](r)
	if err != nil {
		return nil, err
	}
	known, err := d.HasUser(ctx, tenant, asked.Email)
	if err != nil {
		return nil, err
	}
	wanted := directory.Role(asked.Role)
	if wanted == "" {
		wanted = directory.RoleBasic
	}
	user, err := d.AddUser(ctx, tenant, asked.Email, wanted)
	if err == nil && asked.Role != "" && user.Role != wanted {
		user.Role, err = wanted, d.SetRole(ctx, tenant, asked.Email, wanted)
	}
	return wire.Added[wire.DirectoryUser]{Item: wireUser(user), IsNew: !known, NewUsers: []string{}}, err
}

func setUserState(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	asked, err := adminBody[wire.DirectoryUserState](r)
	if err != nil {
		return nil, err
	}
	return done(d.SetActive(r.Context(), tenant, asked.Email, asked.IsActive))
}

func removeUser(ctx context.Context, d *directory.Directory, tenant, email string) error {
	return d.RemoveUser(ctx, tenant, email)
}

func adminTokens(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	tokens, err := d.ListTokens(r.Context(), tenant, "")
	listed := []wire.DirectoryToken{}
	for _, token := range tokens {
		listed = append(listed, wire.DirectoryToken{AccessToken: token.Wire(), User: token.Email})
	}
	return listed, err
}

func addAdminToken(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	asked, err := adminBody[wire.DirectoryTokenRequest](r)
	if err != nil {
		return nil, err
	}
	made, err := newUsers(r.Context(), d, tenant, nonEmpty([]string{asked.User}))
	if err != nil {
		return nil, err
	}
	token, secret, err := d.AddToken(r.Context(), directory.TokenRequest{Tenant: tenant, Name: asked.Name, Email: asked.User,
		Scopes: asked.Scopes, Days: asked.ExpirationDays})
	return wire.Added[wire.NewAccessToken]{Item: wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}, IsNew: true,
		NewUsers: made}, err
}

// newUsers are those of the addresses that no user has yet.
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

func removeAdminToken(r *http.Request, d *directory.Directory, tenant string) (any, error) {
	id, err := pathNumber(r, "id", "token_id")
	if err != nil {
		return nil, err
	}
	err = directory.ErrNotFound
	if !d.IsAbsent() {
		err = d.RevokeToken(r.Context(), tenant, "", id)
	}
	if errors.Is(err, directory.ErrNotFound) {
		err = directory.MissingError{Kind: directory.KindToken, Named: strconv.Itoa(id)}
	}
	return done(err)
}
