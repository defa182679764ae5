package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
)

// namesOf returns the names of the things with the given ids.
func namesOf[T any, ID comparable](all []T, key func(T) (string, ID), ids []ID) []string {
	names := []string{}
	for _, one := range all {
		if name, id := key(one); slices.Contains(ids, id) {
			names = append(names, name)
		}
	}
	return names
}

// externalGroups lists the groups of other systems by source and id.
func externalGroups(c *call) (any, error) {
	rows := []wire.DirectoryGroup{}
	members, err := c.server.Directory.ExternalMembers(c.Context(), c.who.Tenant)
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
func joinExternalGroup(c *call, added *wire.Added[wire.DirectoryGroup]) (err error) {
	added.IsNew = false // the other system created it
	if added.NewUsers, err = newUsers(c, added.Item.Users); err != nil {
		return err
	}
	group, err := externalGroup(added.Item.Name)
	for i := 0; err == nil && i < len(added.Item.Users); i++ {
		err = c.server.Directory.JoinExternalGroup(c.Context(), c.who.Tenant, group, added.Item.Users[i])
	}
	return err
}

// externalGroup parses SOURCE:ID.
func externalGroup(name string) (directory.ExternalGroup, error) {
	source, id, found := strings.Cut(name, ":")
	if !found {
		return directory.ExternalGroup{}, directory.InputError{Reason: fmt.Sprintf("a group of another system is written SOURCE:ID, not %q", name)}
	}
	return directory.ExternalGroup{Source: source, ID: id}, nil
}

// leaveGroup removes users from a group, of another system everybody if no user is named.
func leaveGroup(c *call) (any, error) {
	name, users := c.requireText("name", 1, longestPrompt), c.texts("user")
	isExternal, d := c.flag("external"), c.server.Directory
	if !isExternal {
		c.require("user")
	}
	if err := c.failure(); err != nil {
		return nil, err
	}
	var err error
	leave := func(email string) error { return d.LeaveGroup(c.Context(), c.who.Tenant, name, email) }
	if isExternal {
		var group directory.ExternalGroup
		if group, err = externalGroup(name); len(users) == 0 {
			users = []string{""} // everybody
		}
		leave = func(email string) error { return d.LeaveExternalGroup(c.Context(), c.who.Tenant, group, email) }
	}
	for i := 0; err == nil && i < len(users); i++ {
		err = leave(users[i])
	}
	return done(err)
}

func wireConnector(pair directory.CCPair) wire.DirectoryConnector {
	return wire.DirectoryConnector{ID: pair.ID, Name: pair.Name, Source: pair.Source, AccessType: string(pair.Access),
		Groups: listed(pair.Groups), Creator: pair.Creator, DocumentSets: listed(pair.Sets)}
}

// adminAgents lists the agents by id, without the built-in one.
func adminAgents(c *call) (any, error) {
	ctx, d := c.Context(), c.server.Directory
	users, usersErr := d.Users(ctx, c.who.Tenant)
	groups, groupsErr := d.Groups(ctx, c.who.Tenant)
	agents, err := d.Agents(ctx, c.who)
	if err := cmp.Or(usersErr, groupsErr, err); err != nil {
		return nil, err
	}
	rows := []wire.DirectoryAgent{}
	for _, agent := range agents {
		if agent.Builtin {
			continue
		}
		if agent, err = d.Agent(ctx, c.who, agent.ID); err != nil {
			return nil, err
		}
		audience, err := d.AgentAudience(ctx, agent)
		if err != nil {
			return nil, err
		}
		row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description, IsPublic: agent.Public,
			Owner: agent.OwnerEmail, DocumentSets: mapped(agent.DocumentSets, setName), Documents: listed(agent.Documents),
			SearchStartDate: directory.TimestampOrNil(agent.SearchStart), SystemPrompt: agent.SystemPrompt,
			Provider: agent.Provider, Model: agent.Model,
			Users:  namesOf(users, func(u directory.User) (string, string) { return u.Email, u.ID }, audience.Users),
			Groups: namesOf(groups, func(g directory.Group) (string, int) { return g.Name, g.ID }, audience.Groups)}
		rows = append(rows, row)
	}
	return rows, nil
}
