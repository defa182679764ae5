package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/directory"
)

// known has the things of a tenant that requests refer to by name.
type known struct {
	users  []directory.User
	groups []directory.Group
	pairs  []directory.CCPair
}

func readKnown(ctx context.Context, d *directory.Directory, tenant string) (known, error) {
	users, usersErr := d.Users(ctx, tenant)
	groups, groupsErr := d.Groups(ctx, tenant)
	pairs, pairsErr := d.CCPairs(ctx, tenant)
	return known{users, groups, pairs}, cmp.Or(usersErr, groupsErr, pairsErr)
}

func userKey(u directory.User) (name, id string)       { return u.Email, u.ID }
func groupKey(g directory.Group) (name string, id int) { return g.Name, g.ID }
func pairKey(p directory.CCPair) (name string, id int) { return p.Name, p.ID }

// idsOf returns the ids of a tenant's things by their names.
func idsOf[T, ID any](ctx context.Context, d *directory.Directory, tenant string, kind directory.Kind, names []string,
	list func(*directory.Directory, context.Context, string) ([]T, error), key func(T) (string, ID)) ([]ID, error) {
	var ids []ID
	all, err := list(d, ctx, tenant)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		at := slices.IndexFunc(all, func(one T) bool { known, _ := key(one); return known == name })
		if at < 0 {
			return nil, directory.MissingError{Kind: kind, Named: strconv.Quote(name)}
		}
		_, id := key(all[at])
		ids = append(ids, id)
	}
	return ids, nil
}

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

// audience returns the ids of users and groups.
func audience(ctx context.Context, d *directory.Directory, tenant string, emails, groups []string) (a directory.Audience, err error) {
	addresses := mapped(emails, func(email string) string { return strings.ToLower(strings.TrimSpace(email)) })
	a.Users, err = idsOf(ctx, d, tenant, directory.KindUser, addresses, (*directory.Directory).Users, userKey)
	if err != nil {
		return a, err
	}
	a.Groups, err = idsOf(ctx, d, tenant, directory.KindGroup, groups, (*directory.Directory).Groups, groupKey)
	return a, err
}

// names returns the names of an audience.
func (k known) names(a directory.Audience) (emails, groups []string) {
	return namesOf(k.users, userKey, a.Users), namesOf(k.groups, groupKey, a.Groups)
}

// adminGroups lists the groups of this server by name, and then those of other systems.
func adminGroups(c *call, d *directory.Directory) (any, error) {
	k, err := readKnown(c.Context(), d, c.who.Tenant)
	if err != nil {
		return nil, err
	}
	rows := mapped(k.groups, func(group directory.Group) wire.DirectoryGroup {
		return wire.DirectoryGroup{ID: group.ID, Name: group.Name, Connectors: namesOf(k.pairs, pairKey, group.CCPairs),
			Users: mapped(group.Members, func(member directory.User) string { return member.Email })}
	})
	members, err := d.ExternalMembers(c.Context(), c.who.Tenant)
	for _, member := range members {
		name := member.Group.Source + ":" + member.Group.ID
		if last := len(rows) - 1; last < 0 || !rows[last].External || rows[last].Name != name {
			rows = append(rows, wire.DirectoryGroup{Name: name, External: true, Connectors: []string{}})
		}
		last := &rows[len(rows)-1]
		last.Users = append(last.Users, member.Email)
	}
	return rows, err
}

// addAdminGroup creates a group, or adds users and connectors to the group of that name. It creates missing users.
func addAdminGroup(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[wire.DirectoryGroup]) (err error) {
	group := added.Item
	if added.NewUsers, err = newUsers(ctx, d, tenant, group.Users); err != nil {
		return err
	}
	if group.External {
		external, err := externalGroup(group.Name)
		for i := 0; err == nil && i < len(group.Users); i++ {
			err = d.JoinExternalGroup(ctx, tenant, external, group.Users[i])
		}
		added.IsNew = false // the other system created it
		return err
	}
	pairs, err := idsOf(ctx, d, tenant, directory.KindConnector, group.Connectors, (*directory.Directory).CCPairs, pairKey)
	if err != nil {
		return err
	}
	found, err := d.GroupNamed(ctx, tenant, group.Name)
	if added.IsNew = errors.Is(err, directory.ErrNotFound); added.IsNew {
		found, err = d.AddGroup(ctx, tenant, group.Name, nil, nil)
	}
	added.Item.ID = found.ID
	for i := 0; err == nil && i < len(group.Users); i++ {
		err = d.JoinGroup(ctx, tenant, group.Name, group.Users[i])
	}
	if err == nil {
		err = d.GivePairs(ctx, tenant, found.ID, pairs)
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

// removeAdminGroup removes users from a group, or the group itself if no user is named.
func removeAdminGroup(c *call, d *directory.Directory) (any, error) {
	name, users := c.requireText("name", 1, longestPrompt), c.texts("user")
	isExternal := c.flag("external")
	if err := c.failure(); err != nil {
		return nil, err
	}
	if !isExternal && len(users) == 0 {
		return done(d.RemoveGroup(c.Context(), c.who.Tenant, name))
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

// addAdminConnector creates a connector and its credential, for which documents can be posted.
func addAdminConnector(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[wire.DirectoryConnector]) error {
	connector := &added.Item
	if connector.Creator == "" {
		connector.Creator = directory.OwnerEmail
	}
	request := directory.PairRequest{Name: connector.Name, Access: directory.AccessType(connector.AccessType), Creator: connector.Creator}
	var err error
	request.GroupIDs, err = idsOf(ctx, d, tenant, directory.KindGroup, connector.Groups, (*directory.Directory).Groups, groupKey)
	if err != nil {
		return err
	}
	if request.ConnectorID, err = d.AddConnector(ctx, tenant, connector.Name, connector.Source); err != nil {
		return err
	}
	if request.CredentialID, err = d.AddCredential(ctx, tenant, connector.Name, connector.Source); err != nil {
		return err
	}
	connector.ID, _, err = d.AddCCPair(ctx, tenant, request)
	return err
}

// adminSets lists the document sets by name.
func adminSets(c *call, d *directory.Directory) (any, error) {
	ctx := c.Context()
	sets, setsErr := d.DocumentSets(ctx, directory.Owner(c.who.Tenant))
	described, describeErr := d.DescribeSets(ctx, sets)
	k, err := readKnown(ctx, d, c.who.Tenant)
	return mapped(described, func(set directory.SetDetails) wire.DirectorySet {
		row := wire.DirectorySet{ID: set.ID, Name: set.Name, Description: set.Description, IsPublic: set.Public,
			Connectors: namesOf(k.pairs, pairKey, set.CCPairs)}
		row.Users, row.Groups = k.names(set.Audience)
		return row
	}), cmp.Or(setsErr, describeErr, err)
}

func addAdminSet(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[wire.DirectorySet]) error {
	set := &added.Item
	details := directory.SetDetails{DocumentSet: directory.DocumentSet{Name: set.Name, Description: set.Description, Public: set.IsPublic}}
	var err error
	if details.Audience, err = audience(ctx, d, tenant, set.Users, set.Groups); err != nil {
		return err
	}
	details.CCPairs, err = idsOf(ctx, d, tenant, directory.KindConnector, set.Connectors, (*directory.Directory).CCPairs, pairKey)
	if err != nil {
		return err
	}
	set.ID, err = d.CreateDocumentSet(ctx, tenant, details)
	return err
}

// adminAgents lists the agents by id, without the built-in one.
func adminAgents(c *call, d *directory.Directory) (any, error) {
	ctx, owner := c.Context(), directory.Owner(c.who.Tenant)
	k, knownErr := readKnown(ctx, d, c.who.Tenant)
	agents, err := d.Agents(ctx, owner)
	if err := cmp.Or(knownErr, err); err != nil {
		return nil, err
	}
	rows := []wire.DirectoryAgent{}
	for _, agent := range agents {
		if agent.Builtin {
			continue
		}
		if agent, err = d.Agent(ctx, owner, agent.ID); err != nil {
			return nil, err
		}
		audience, err := d.AgentAudience(ctx, agent)
		if err != nil {
			return nil, err
		}
		row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description, IsPublic: agent.Public,
			Owner: agent.OwnerEmail, DocumentSets: mapped(agent.DocumentSets, setName), Documents: listed(agent.Documents),
			SearchStartDate: directory.TimestampOrNil(agent.SearchStart), SystemPrompt: agent.SystemPrompt,
			Provider: agent.Provider, Model: agent.Model}
		row.Users, row.Groups = k.names(audience)
		rows = append(rows, row)
	}
	return rows, nil
}

// addAdminAgent creates an agent. It belongs to the owner unless the request names another user.
func addAdminAgent(ctx context.Context, d *directory.Directory, tenant string, added *wire.Added[wire.DirectoryAgent]) error {
	agent := &added.Item
	made := directory.Agent{Name: agent.Name, Description: agent.Description, Public: agent.IsPublic, Listed: true,
		Documents: agent.Documents, SystemPrompt: agent.SystemPrompt, Provider: agent.Provider, Model: agent.Model}
	made.DocumentSets = mapped(agent.DocumentSets, func(name string) directory.DocumentSet {
		return directory.DocumentSet{Name: name}
	})
	var err error
	if made.Audience, err = audience(ctx, d, tenant, agent.Users, agent.Groups); err != nil {
		return err
	}
	if agent.Owner == "" {
		agent.Owner = directory.OwnerEmail
	}
	owner, err := d.UserNamed(ctx, tenant, agent.Owner)
	if err != nil {
		return err
	}
	made.OwnerID = owner.ID
	if agent.SearchStartDate != nil {
		if made.SearchStart, err = time.Parse(time.DateOnly, *agent.SearchStartDate); err != nil {
			return directory.InputError{Reason: fmt.Sprintf("not a date: %q", *agent.SearchStartDate)}
		}
	}
	made, err = d.AddAgent(ctx, tenant, made)
	agent.ID = made.ID
	return err
}
