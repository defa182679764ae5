package directory

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"quarry/server/index"
)

// DefaultTenant is the tenant that exists from the start, and the one that a token without a tenant belongs to.
const DefaultTenant = "default"

// OwnerEmail is the address of the user that every tenant has from the start.
const OwnerEmail = "owner@localhost"

// The permissions that this server knows, by their names in the API.
const (
	PermissionBasic            = "basic"
	PermissionAdmin            = "admin"
	PermissionCraftSandbox     = "craft_sandbox"
	PermissionReadSearch       = "read:search"
	PermissionReadChat         = "read:chat"
	PermissionWriteChat        = "write:chat"
	PermissionGenerateImage    = "generate:image"
	PermissionLLMGateway       = "use:llm_gateway"
	PermissionReadConnectors   = "read:connectors"
	PermissionManageConnectors = "manage:connectors"
	PermissionCreateTokens     = "create:user_api_keys"
)

// publicTerm is the access term that every caller has.
const publicTerm = "PUBLIC"

// Principal is somebody on whose behalf the server works.
type Principal struct {
	Tenant         string
	UserID         string
	Email          string // lower case
	Name           string
	Groups         []string        // names
	ExternalGroups []ExternalGroup // of the systems that documents come from
	Admin          bool
	Anonymous      bool // nobody in particular: sees public documents only
	// Owner is the local user in process, who sees the whole tenant. No token makes one.
	Owner       bool
	Permissions []string  // with all that they imply, in the order of AllPermissions
	Scoped      bool      // the token narrows what its user may do
	TokenID     int       // 0: no token
	RootTokenID int       // the first of the tokens that TokenID was made with; itself if none was
	ExpiresAt   time.Time // of the token; zero: never
}

// ExternalGroup names a group of a system that documents come from.
type ExternalGroup struct{ Source, ID string }

// Owner is the local user of a tenant, in process. It reads nothing from disk.
func Owner(tenant string) Principal {
	return Principal{
		Tenant: tenant, UserID: OwnerID(tenant), Email: OwnerEmail, Name: "Owner",
		Admin: true, Owner: true, Permissions: AllPermissions(),
	}
}

// Anonymous is nobody in particular: somebody who may search a tenant's public documents.
func Anonymous(tenant string) Principal {
	return Principal{
		Tenant: tenant, UserID: "__anonymous_user__", Email: "anonymous@localhost", Name: "Anonymous",
		Anonymous: true, Permissions: []string{PermissionReadSearch},
	}
}

// OwnerID is the id of a tenant's owner.
func OwnerID(tenant string) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("quarry:"+tenant+"/"+OwnerEmail)).String()
}

// Access is what the principal may see: everything for the owner in process, and what is public, or names them or one
// of their groups, for anybody else.
func (p Principal) Access() index.Access {
	if p.Owner {
		return index.Access{All: true}
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

// Can reports whether the principal holds a permission.
func (p Principal) Can(permission string) bool { return slices.Contains(p.Permissions, permission) }

// EmailTerm is the access term of a person.
func EmailTerm(email string) string { return "user_email:" + address(email) }

// GroupTerm is the access term of a group of this server.
func GroupTerm(name string) string { return "group:" + name }

// ExternalGroupTerm is the access term of a group of the system that a document comes from.
func ExternalGroupTerm(source, id string) string {
	return "external_group:" + source + "_" + externalID(id)
}

// AllPermissions lists every permission, the broadest first.
func AllPermissions() []string {
	return []string{
		PermissionAdmin, PermissionBasic, PermissionCraftSandbox, PermissionReadSearch, PermissionReadChat,
		PermissionWriteChat, PermissionGenerateImage, PermissionLLMGateway, PermissionReadConnectors,
		PermissionManageConnectors, PermissionCreateTokens,
	}
}

// Implied lists the permissions that one permission brings with it, without itself.
func Implied(permission string) []string {
	switch permission {
	case PermissionAdmin:
		return AllPermissions()[1:]
	case PermissionBasic:
		return []string{
			PermissionReadSearch, PermissionReadChat, PermissionWriteChat, PermissionGenerateImage, PermissionLLMGateway,
		}
	case PermissionCraftSandbox:
		return []string{PermissionReadSearch, PermissionGenerateImage, PermissionLLMGateway}
	case PermissionManageConnectors:
		return []string{PermissionReadConnectors}
	}
	return nil
}

// closure is the permissions with all that they imply, in the order of AllPermissions; unknown ones are dropped.
func closure(permissions []string) []string {
	held := map[string]bool{}
	for _, p := range permissions {
		held[p] = true
		for _, implied := range Implied(p) {
			held[implied] = true
		}
	}
	all := []string{}
	for _, p := range AllPermissions() {
		if held[p] {
			all = append(all, p)
		}
	}
	return all
}

// effective is what a token may do: all that its user may, or the part of it that the scopes name.
func effective(user, scopes []string) []string {
	mine := closure(user)
	if scopes == nil {
		return mine
	}
	granted := closure(scopes)
	return slices.DeleteFunc(mine, func(p string) bool { return !slices.Contains(granted, p) })
}
