package directory

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"quarry/client/wire"
	"quarry/server/index"
)

// DefaultTenant is the tenant of a new directory, and of tokens that name no tenant.
const DefaultTenant = wire.DefaultTenant

// OwnerEmail is the address of the first user of every tenant.
const OwnerEmail = "owner@localhost"

// The permissions, by their names in the API.
const (
	PermissionBasic            = "basic"
	PermissionAdmin            = "admin"
	PermissionReadSearch       = "read:search"
	PermissionReadChat         = "read:chat"
	PermissionWriteChat        = "write:chat"
	PermissionLLMGateway       = "use:llm_gateway"
	PermissionReadConnectors   = "read:connectors"
	PermissionManageConnectors = "manage:connectors"
	PermissionCreateTokens     = "create:user_api_keys"
	PermissionAddAgents        = "add:agents"
)

// publicTerm is the access term of every caller.
const publicTerm = "PUBLIC"

// Principal is an authenticated caller with their rights.
type Principal struct {
	Tenant         string
	UserID         string
	Email          string // lower case
	Name           string
	Groups         []string        // names
	ExternalGroups []ExternalGroup // of other systems
	Admin          bool
	Anonymous      bool // may see public documents only
	// Owner is the local user in process, who may see the whole tenant. No token has this right.
	Owner       bool
	Permissions []string  // including implied ones, in the order of AllPermissions
	Scoped      bool      // the token has less than its user's permissions
	Sandbox     bool      // the token is that of a sandbox
	TokenID     int       // 0: no token
	RootTokenID int       // the first token in the chain of parents of TokenID
	ExpiresAt   time.Time // of the token; zero: never
}

// ExternalGroup names a group of another system.
type ExternalGroup struct{ Source, ID string }

// Owner returns the local user of a tenant, in process. It does not read the disk.
func Owner(tenant string) Principal {
	return Principal{
		Tenant: tenant, UserID: OwnerID(tenant), Email: OwnerEmail, Name: "Owner",
		Admin: true, Owner: true, Permissions: AllPermissions(),
	}
}

// Anonymous returns a caller who may search a tenant's public documents.
func Anonymous(tenant string) Principal {
	return Principal{
		Tenant: tenant, UserID: "__anonymous_user__", Email: "anonymous@localhost", Name: "Anonymous",
		Anonymous: true, Permissions: []string{PermissionReadSearch},
	}
}

// OwnerID returns the id of a tenant's owner.
func OwnerID(tenant string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("quarry:"+tenant+"/"+OwnerEmail)).String()
}

// Access returns what the principal may see: everything for the owner in process, otherwise public documents and those
// that name the principal or one of their groups.
func (p Principal) Access() index.Access {
	if p.Owner {
		return index.Everything()
	}
	terms := []string{publicTerm}
	if p.Anonymous {
		return index.Access{Terms: terms}
	}
	if p.Email != "" {
		terms = append(terms, EmailTerm(p.Email))
	}
	for _, g := range p.Groups {
		terms = append(terms, GroupTerm(g))
	}
	for _, g := range p.ExternalGroups {
		terms = append(terms, ExternalGroupTerm(g.Source, g.ID))
	}
	return index.Access{Terms: terms}
}

// Can reports whether the principal has a permission.
func (p Principal) Can(permission string) bool { return slices.Contains(p.Permissions, permission) }

// EmailTerm returns the access term of a user.
func EmailTerm(email string) string { return "user_email:" + address(email) }

// GroupTerm returns the access term of a group of this server.
func GroupTerm(name string) string { return "group:" + name }

// ExternalGroupTerm returns the access term of a group of another system.
func ExternalGroupTerm(source, id string) string {
	return "external_group:" + source + "_" + externalID(id)
}

// AllPermissions returns all permissions, the broadest first.
func AllPermissions() []string {
	return strings.Fields(`admin basic craft_sandbox read:search read:chat write:chat generate:image use:llm_gateway
		read:connectors manage:connectors create:user_api_keys add:agents`)
}

// Implied returns the permissions that a permission implies, without itself.
func Implied(permission string) []string {
	if permission == PermissionAdmin {
		return AllPermissions()[1:]
	}
	return strings.Fields(map[string]string{
		PermissionBasic:            "read:search read:chat write:chat generate:image use:llm_gateway",
		"craft_sandbox":            "read:search generate:image use:llm_gateway",
		PermissionWriteChat:        PermissionReadChat,
		PermissionManageConnectors: PermissionReadConnectors,
	}[permission])
}

// closure returns the known permissions with those that they imply, in the order of AllPermissions.
func closure(permissions []string) []string {
	return slices.DeleteFunc(AllPermissions(), func(p string) bool {
		return !slices.ContainsFunc(permissions,
			func(held string) bool { return held == p || slices.Contains(Implied(held), p) })
	})
}

// effective returns the permissions of a token: those of its user, limited to its scopes if it has any.
func effective(user, scopes []string) []string {
	mine := closure(user)
	if scopes == nil {
		return mine
	}
	granted := closure(scopes)
	return slices.DeleteFunc(mine, func(p string) bool { return !slices.Contains(granted, p) })
}
