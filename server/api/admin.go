package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// adminRoutes administer a tenant by names, where Onyx's API has no route: its users, groups of other systems, sandbox
// tokens, and the list of connectors. Only the owner's in-process handler has them.
func adminRoutes() []route {
	look := func(pattern string, do responder) route { return noBody(pattern, identity, do) }
	change := func(pattern string, do responder) route {
		if strings.HasPrefix(pattern, http.MethodDelete) {
			return noBody(pattern, identity, do, syncs)
		}
		return withBody(pattern, identity, do, large, syncs)
	}
	return []route{
		look("GET /admin/users", listing(storedUsers, wireUser)), change("POST /admin/users", adding(addAdminUser)),
		change("PATCH /admin/users", setUserState), change("DELETE /admin/users", removing(directory.View.RemoveUser)),
		look("GET /admin/groups", externalGroups), change("POST /admin/groups", adding(joinExternalGroup)),
		change("DELETE /admin/groups", leaveExternalGroup),
		look("GET /admin/connectors", listing(directory.View.CCPairs, wireConnector)),
		change("DELETE /admin/connectors", removing(directory.View.RemoveCCPair)),
		look("GET /admin/tenants", adminTenants), change("POST /admin/tenants", adding(addTenant)),
		change("DELETE /admin/tenants", dropTenant),
		withBody("POST /admin/sandbox-tokens", identity, ensureSandboxToken), // changes nobody's rights
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
		added := wire.Added[T]{Item: item, IsNew: true}
		if err == nil {
			err = add(c, &added)
		}
		return added, err
	}
}

// listing returns a route that lists things of the directory.
func listing[T, W any](list func(directory.View) ([]T, error), describe func(T) W) responder {
	return func(c *call) (any, error) {
		found, err := list(c.directory)
		return mapped(found, describe), err
	}
}

// removing returns a route that removes what the parameter name names.
func removing(remove func(people directory.View, name string) error) responder {
	return func(c *call) (any, error) {
		name := c.requireText("name", 1, longestPrompt)
		if err := c.failure(); err != nil {
			return nil, err
		}
		return done(remove(c.directory, name))
	}
}

// done is the answer of routes without a result.
func done(err error) (any, error) { return wire.MessageError{Message: "Done"}, err }

// storedUsers lists the users. A directory that was never created has none, not even the owner.
func storedUsers(people directory.View) ([]directory.User, error) {
	if absent, err := people.IsAbsent(); absent || err != nil {
		return nil, err
	}
	return people.Users()
}

func wireUser(user directory.User) wire.DirectoryUser {
	return wire.DirectoryUser{ID: user.ID, Email: user.Email, Role: string(user.Role), IsActive: user.Active,
		CreatedAt: directory.Timestamp(user.CreatedAt)}
}

// addAdminUser creates a user, or changes the role of an existing user if one is given.
func addAdminUser(c *call, added *wire.Added[wire.DirectoryUser]) error {
	asked := added.Item
	_, err := c.directory.UserNamed(asked.Email)
	if added.IsNew = errors.Is(err, directory.ErrNotFound); err != nil && !added.IsNew {
		return err
	}
	role := directory.Role(asked.Role)
	if role == "" {
		role = directory.RoleBasic
	}
	user, err := c.directory.AddUser(asked.Email, role)
	if err == nil && asked.Role != "" && user.Role != role {
		user.Role, err = role, c.directory.SetRole(asked.Email, role)
	}
	added.Item = wireUser(user)
	return err
}

func setUserState(c *call) (any, error) {
	asked, err := adminBody[wire.DirectoryUserState](c)
	if err != nil {
		return nil, err
	}
	return done(c.directory.SetActive(asked.Email, asked.IsActive))
}

// externalGroups lists the groups of other systems by source and id.
func externalGroups(c *call) (any, error) {
	rows := []wire.DirectoryGroup{}
	members, err := c.directory.ExternalMembers()
	for _, member := range members {
		name := member.Group.Source + ":" + member.Group.ID
		if last := len(rows) - 1; last < 0 || rows[last].Name != name {
			rows = append(rows, wire.DirectoryGroup{Name: name, External: true, Connectors: []string{}})
		}
		last := &rows[len(rows)-1]
		last.Users = append(last.Users, member.Email)
	}
	return rows, err
}

// joinExternalGroup adds users, who are created if they do not exist, to a group of another system.
func joinExternalGroup(c *call, added *wire.Added[wire.DirectoryGroup]) error {
	added.IsNew = false // the other system created it
	group, err := externalGroup(added.Item.Name)
	for i := 0; err == nil && i < len(added.Item.Users); i++ {
		err = c.directory.JoinExternalGroup(group, added.Item.Users[i])
	}
	return err
}

// externalGroup parses SOURCE:ID.
func externalGroup(name string) (directory.ExternalGroup, error) {
	source, id, found := strings.Cut(name, ":")
	if !found {
		reason := fmt.Sprintf("a group of another system is written SOURCE:ID, not %q", name)
		return directory.ExternalGroup{}, directory.InputError{Reason: reason}
	}
	return directory.ExternalGroup{Source: source, ID: id}, nil
}

// leaveExternalGroup removes users from a group of another system, everybody if none is named.
func leaveExternalGroup(c *call) (any, error) {
	name, users := c.requireText("name", 1, longestPrompt), c.texts("user")
	if err := c.failure(); err != nil {
		return nil, err
	}
	if len(users) == 0 {
		users = []string{""}
	}
	group, err := externalGroup(name)
	for i := 0; err == nil && i < len(users); i++ {
		err = c.directory.LeaveExternalGroup(group, users[i])
	}
	return done(err)
}

func wireConnector(pair directory.CCPair) wire.DirectoryConnector {
	return wire.DirectoryConnector{ID: pair.ID, Name: pair.Name, Source: pair.Source, AccessType: string(pair.Access),
		Groups: listed(pair.Groups), Creator: pair.Creator, DocumentSets: listed(pair.Sets)}
}

// ensureSandboxToken answers with the sandbox token of a user, in the form of a new token.
func ensureSandboxToken(c *call) (any, error) {
	asked, err := adminBody[wire.SandboxTokenRequest](c)
	if err != nil {
		return nil, err
	}
	token, secret, isNew, err := c.Directory.EnsureSandboxToken(c.ctx, directory.SandboxRequest{
		Tenant: c.who.Tenant, Email: asked.User, Key: c.SecretKey, Renew: asked.Renew})
	item := wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}
	return wire.Added[wire.NewAccessToken]{Item: item, IsNew: isNew}, err
}

// adminTenants lists the tenants by name. An empty library has only the default tenant.
func adminTenants(c *call) (any, error) {
	known, err := c.Directory.DescribeTenants(c.ctx)
	if err != nil {
		return nil, err
	}
	for i := range known {
		if err := c.countStored(c.ctx, &known[i]); err != nil {
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
	ctx, d := c.ctx, c.Directory
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
	return c.countStored(ctx, &added.Item)
}

// dropTenant removes a tenant with everything in it, and answers what that was. Without force it removes only an empty
// tenant.
func dropTenant(c *call) (any, error) {
	ctx, s := c.ctx, c.Server
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
		return nil, coded(wire.CodeTenantNotEmpty, "tenant %s is not empty: it has %s", name, strings.Join(held, ", "))
	}
	return tenant, s.RemoveTenant(ctx, name)
}
