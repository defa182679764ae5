package api

import (
	"errors"
	"slices"

	"quarry/client/wire"
	"quarry/server/directory"
)

// The default groups of Onyx follow from the roles of users, so they are not stored. Their numbers are negative, unlike
// those of stored groups.
const (
	adminGroup = -1
	basicGroup = -2
)

// groupRoutes returns the routes of user groups.
func groupRoutes() []route {
	const admin = directory.PermissionAdmin
	return []route{
		withBody("POST /manage/admin/user-group", admin, addGroup, large, syncs),
		noBody("GET /manage/admin/user-group", admin, groups),
		withBody("PATCH /manage/admin/user-group/rename", admin, renameGroup, syncs),
		withBody("PATCH /manage/admin/user-group/{id}", admin, changeGroup, large, syncs),
		withBody("POST /manage/admin/user-group/{id}/add-users", admin, addToGroup, large, syncs),
		noBody("DELETE /manage/admin/user-group/{id}", admin, numbered("user_group_id", removeGroup), syncs),
		noBody("GET /manage/user-groups/minimal", directory.PermissionBasic, minimalGroups),
	}
}

// addGroup answers POST /manage/admin/user-group.
func addGroup(c *call) any {
	name, users, pairs := c.requireText("name", 1, longestLabel), c.texts("user_ids"), c.numbers("cc_pair_ids")
	check(c.failure())
	return c.describeGroup(must(c.directory.AddGroup(name, users, pairs)))
}

// renameGroup answers PATCH /manage/admin/user-group/rename.
func renameGroup(c *call) any {
	name := c.requireText("name", 1, longestLabel)
	c.require("id")
	return c.updateGroup(c.wholeOr("id", 0, basicGroup, anyNumber), "rename", directory.GroupChange{Name: name})
}

// changeGroup answers PATCH /manage/admin/user-group/{id}.
func changeGroup(c *call) any {
	id := c.pathNumber("id", "user_group_id")
	c.require("user_ids")
	c.require("cc_pair_ids")
	return c.updateGroup(id, "change the members of",
		directory.GroupChange{Users: listed(c.texts("user_ids")), CCPairs: listed(c.numbers("cc_pair_ids"))})
}

// addToGroup answers POST /manage/admin/user-group/{id}/add-users.
func addToGroup(c *call) any {
	id := c.pathNumber("id", "user_group_id")
	c.require("user_ids")
	return c.updateGroup(id, "change the members of", directory.GroupChange{Joining: c.texts("user_ids")})
}

func (c *call) updateGroup(id int, doing string, change directory.GroupChange) any {
	check(c.failure())
	refuseDefaultGroup(id, doing)
	return c.describeGroup(must(c.directory.ChangeGroup(id, change)))
}

// refuseDefaultGroup aborts for the default groups, which cannot be changed.
func refuseDefaultGroup(id int, doing string) {
	if id == adminGroup || id == basicGroup {
		abort(coded("CONFLICT", "Cannot %s a default system group.", doing))
	}
}

// describeGroup describes a group after a change.
func (c *call) describeGroup(group directory.Group) any {
	return c.describeGroups([]directory.Group{group})[0]
}

// removeGroup answers DELETE /manage/admin/user-group/{id}.
func removeGroup(c *call, id int) any {
	refuseDefaultGroup(id, "delete")
	err := c.directory.RemoveGroup(id)
	if _, isMissing := errors.AsType[directory.MissingError](err); isMissing {
		err = coded("NOT_FOUND", "User group not found")
	}
	check(err)
	return nil
}

// groups answers GET /manage/admin/user-group.
func groups(c *call) any { return c.describeGroups(c.listGroups()) }

// minimalGroups answers GET /manage/user-groups/minimal: all groups for administrators, otherwise the caller's.
func minimalGroups(c *call) any {
	groups := c.listGroups()
	if !c.who.Admin {
		groups = slices.DeleteFunc(groups, func(g directory.Group) bool {
			return !slices.ContainsFunc(g.Members, func(m directory.User) bool { return m.ID == c.who.UserID })
		})
	}
	return mapped(groups, func(g directory.Group) wire.MinimalUserGroup {
		return wire.MinimalUserGroup{ID: g.ID, Name: g.Name, IsDefault: g.ID < 0}
	})
}

// listGroups reads the groups that a request asks for.
func (c *call) listGroups() []directory.Group {
	withDefault := c.boolean("include_default", false)
	check(c.failure())
	groups := must(c.directory.Groups())
	if !withDefault {
		return groups
	}
	admins, basic := directory.Group{ID: adminGroup, Name: "Admin"}, directory.Group{ID: basicGroup, Name: "Basic"}
	for _, user := range must(c.directory.Users()) {
		if user.Role == directory.RoleAdmin {
			admins.Members = append(admins.Members, user)
		} else {
			basic.Members = append(basic.Members, user)
		}
	}
	return append([]directory.Group{admins, basic}, groups...)
}

// describeGroups describes groups for an administrator, with the sets and agents that they may use.
func (c *call) describeGroups(groups []directory.Group) []wire.UserGroup {
	pairs := must(c.directory.CCPairs())
	sets := must(c.directory.DescribeSets(must(c.directory.DocumentSets())))
	personas := c.describeFully(must(c.directory.Agents()))
	return mapped(groups, func(g directory.Group) wire.UserGroup {
		described := wire.UserGroup{ID: g.ID, Name: g.Name, IsUpToDate: true, IsDefault: g.ID < 0,
			ManagerIDs: []string{},
			Users:      mapped(g.Members, userInfo), CCPairs: wirePairs(g.CCPairs, pairs),
			DocumentSets: []wire.GroupSet{},
			Personas:     []wire.FullPersona{}, Permissions: map[string]bool{"manage": g.ID > 0}}
		for _, set := range sets {
			if slices.Contains(set.Audience.Groups, g.ID) {
				described.DocumentSets = append(described.DocumentSets, wire.GroupSet{ID: set.ID, Name: set.Name,
					Description: orNil(set.Description), CCPairs: wirePairs(set.CCPairs, pairs), IsUpToDate: true,
					IsPublic: set.Public,
					Users:    listed(set.Audience.Users), Groups: listed(set.Audience.Groups),
					FederatedConnectors: []any{}})
			}
		}
		for _, persona := range personas {
			if slices.Contains(persona.Groups, g.ID) {
				described.Personas = append(described.Personas, persona)
			}
		}
		return described
	})
}

// userInfo describes a user of a group.
func userInfo(user directory.User) wire.Me {
	return wire.Me{ID: user.ID, Email: user.Email, IsActive: user.Active, IsSuperuser: user.Role == directory.RoleAdmin,
		IsVerified: true, AccountType: accountType, Preferences: wire.DefaultPreferences(),
		Personalization: wire.Personalization{Name: user.Name, UseMemories: true, EnableMemoryTool: true,
			Memories: []wire.Memory{}},
		EffectivePermissions: []string{}, AdminCapabilities: []string{}}
}

// wirePairs describes the known pairs with these ids.
func wirePairs(ids []int, known []directory.CCPair) []wire.CCPair {
	described := []wire.CCPair{}
	for _, p := range known {
		if !slices.Contains(ids, p.ID) {
			continue
		}
		made := directory.Timestamp(p.CreatedAt)
		described = append(described, wire.CCPair{ID: p.ID, Name: p.Name, AccessType: string(p.Access),
			Connector: wireConnectorOf(directory.Connector{ID: p.ConnectorID, Name: p.ConnectorName, Source: p.Source,
				CreatedAt: p.CreatedAt, Credentials: []int{p.CredentialID}}),
			Credential: wireCredential(p.CredentialID, p.CredentialName, p.Source, made)})
	}
	return described
}

// wireCredential describes a credential, of which only the name is stored.
func wireCredential(id int, name, source, made string) wire.Credential {
	return wire.Credential{ID: id, TimeCreated: made, TimeUpdated: made,
		CredentialRequest: wire.CredentialRequest{Name: name,
			Source: source, AdminPublic: true, JSON: map[string]any{}, Groups: []int{}}}
}
