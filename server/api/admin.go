package api

import (
	"cmp"
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
func adminBody[T any](c *call) (value T) {
	check(c.failure())
	if err := wire.Unmarshal(c.body, &value); err != nil {
		abort(invalid(problem{kind: "model_attributes_type", where: []any{"body"}, text: err.Error()}))
	}
	return value
}

// adding returns a route that adds what the body describes, and answers with the completed description.
func adding[T any](add func(*call, *wire.Added[T])) responder {
	return func(c *call) any {
		added := wire.Added[T]{Item: adminBody[T](c), IsNew: true}
		add(c, &added)
		return added
	}
}

// listing returns a route that lists things of the directory.
func listing[T, W any](list func(directory.View) ([]T, error), describe func(T) W) responder {
	return func(c *call) any { return mapped(must(list(c.directory)), describe) }
}

// removing returns a route that removes what the parameter name names.
func removing(remove func(people directory.View, name string) error) responder {
	return func(c *call) any {
		name := c.requireText("name", 1, longestPrompt)
		check(c.failure())
		return done(remove(c.directory, name))
	}
}

// done is the answer of routes without a result.
func done(err error) any {
	check(err)
	return wire.MessageError{Message: "Done"}
}

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
func addAdminUser(c *call, added *wire.Added[wire.DirectoryUser]) {
	asked := added.Item
	_, err := c.directory.UserNamed(asked.Email)
	if added.IsNew = errors.Is(err, directory.ErrNotFound); !added.IsNew {
		check(err)
	}
	role := cmp.Or(directory.Role(asked.Role), directory.RoleBasic)
	user := must(c.directory.AddUser(asked.Email, role))
	if asked.Role != "" && user.Role != role {
		check(c.directory.SetRole(asked.Email, role))
		user.Role = role
	}
	added.Item = wireUser(user)
}

func setUserState(c *call) any {
	asked := adminBody[wire.DirectoryUserState](c)
	return done(c.directory.SetActive(asked.Email, asked.IsActive))
}

// externalGroups lists the groups of other systems by source and id.
func externalGroups(c *call) any {
	rows := []wire.DirectoryGroup{}
	for _, member := range must(c.directory.ExternalMembers()) {
		name := member.Group.Source + ":" + member.Group.ID
		if last := len(rows) - 1; last < 0 || rows[last].Name != name {
			rows = append(rows, wire.DirectoryGroup{Name: name, External: true, Connectors: []string{}})
		}
		last := &rows[len(rows)-1]
		last.Users = append(last.Users, member.Email)
	}
	return rows
}

// joinExternalGroup adds users, who are created if they do not exist, to a group of another system.
func joinExternalGroup(c *call, added *wire.Added[wire.DirectoryGroup]) {
	added.IsNew = false // the other system created it
	group := externalGroup(added.Item.Name)
	for _, user := range added.Item.Users {
		check(c.directory.JoinExternalGroup(group, user))
	}
}

// externalGroup parses SOURCE:ID.
func externalGroup(name string) directory.ExternalGroup {
	source, id, found := strings.Cut(name, ":")
	if !found {
		reason := fmt.Sprintf("a group of another system is written SOURCE:ID, not %q", name)
		abort(directory.InputError{Reason: reason})
	}
	return directory.ExternalGroup{Source: source, ID: id}
}

// leaveExternalGroup removes users from a group of another system, everybody if none is named.
func leaveExternalGroup(c *call) any {
	name, users := c.requireText("name", 1, longestPrompt), c.texts("user")
	check(c.failure())
	if len(users) == 0 {
		users = []string{""}
	}
	group := externalGroup(name)
	for _, user := range users {
		check(c.directory.LeaveExternalGroup(group, user))
	}
	return done(nil)
}

func wireConnector(pair directory.CCPair) wire.DirectoryConnector {
	return wire.DirectoryConnector{ID: pair.ID, Name: pair.Name, Source: pair.Source, AccessType: string(pair.Access),
		Groups: listed(pair.Groups), Creator: pair.Creator, DocumentSets: listed(pair.Sets)}
}

// ensureSandboxToken answers with the sandbox token of a user, in the form of a new token.
func ensureSandboxToken(c *call) any {
	asked := adminBody[wire.SandboxTokenRequest](c)
	token, secret, isNew, err := c.Directory.EnsureSandboxToken(c.ctx, directory.SandboxRequest{
		Tenant: c.who.Tenant, Email: asked.User, Key: c.SecretKey, Renew: asked.Renew})
	check(err)
	item := wire.NewAccessToken{AccessToken: token.Wire(), Token: secret}
	return wire.Added[wire.NewAccessToken]{Item: item, IsNew: isNew}
}

// adminTenants lists the tenants by name. An empty library has only the default tenant.
func adminTenants(c *call) any {
	known := must(c.Directory.DescribeTenants(c.ctx))
	for i := range known {
		c.countStored(&known[i])
	}
	return known
}

// countStored counts the documents and conversations of a tenant.
func (c *call) countStored(t *wire.DirectoryTenant) {
	check(c.reading(c.ctx, t.Name, func(snapshot index.Snapshot) error {
		stats, err := snapshot.Stats(c.ctx)
		t.Documents = stats.Documents
		return err
	}))
	t.Conversations = must(c.Chats(t.Name).Count(c.ctx))
}

func addTenant(c *call, added *wire.Added[wire.DirectoryTenant]) {
	name := added.Item.Name
	added.IsNew = !slices.Contains(must(c.Directory.Tenants(c.ctx)), name)
	check(c.Directory.AddTenant(c.ctx, name))
	added.Item = must(c.Directory.DescribeTenant(c.ctx, name))
	c.countStored(&added.Item)
}

// dropTenant removes a tenant with everything in it, and answers what that was. Without force it removes only an empty
// tenant.
func dropTenant(c *call) any {
	name, force := c.requireText("name", 1, longestPrompt), c.flag("force")
	check(c.failure())
	tenant, err := c.Directory.DescribeTenant(c.ctx, name)
	if errors.Is(err, directory.ErrNotFound) || name == directory.DefaultTenant {
		check(c.RemoveTenant(c.ctx, name)) // refuses the default one, and deletes the files of an interrupted removal
		return nil
	}
	check(err)
	c.countStored(&tenant)
	if held := tenant.Holds(); len(held) > 0 && !force {
		abort(coded(wire.CodeTenantNotEmpty, "tenant %s is not empty: it has %s", name, strings.Join(held, ", ")))
	}
	check(c.RemoveTenant(c.ctx, name))
	return tenant
}
