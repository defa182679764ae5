package target

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
)

// names translate between the names that people use and the numbers of a directory.
type names struct {
	users  []directory.User
	groups []directory.Group
	pairs  []directory.CCPair
}

func namesOf(ctx context.Context, people *directory.Directory, tenant string) (known names, err error) {
	if known.users, err = people.Users(ctx, tenant); err != nil {
		return known, err
	}
	if known.groups, err = people.Groups(ctx, tenant); err != nil {
		return known, err
	}
	known.pairs, err = people.CCPairs(ctx, tenant)
	return known, err
}

func (n names) pairNames(ids []int) []string {
	list := []string{}
	for _, pair := range n.pairs {
		if slices.Contains(ids, pair.ID) {
			list = append(list, pair.Name)
		}
	}
	return list
}

func (n names) pairIDs(list []string) ([]int, error) {
	var ids []int
	for _, name := range list {
		at := slices.IndexFunc(n.pairs, func(p directory.CCPair) bool { return p.Name == name })
		if at < 0 {
			return nil, directory.MissingError{Kind: directory.KindConnector, Named: strconv.Quote(name)}
		}
		ids = append(ids, n.pairs[at].ID)
	}
	return ids, nil
}

func (n names) groupIDs(list []string) ([]int, error) {
	var ids []int
	for _, name := range list {
		at := slices.IndexFunc(n.groups, func(g directory.Group) bool { return g.Name == name })
		if at < 0 {
			return nil, directory.MissingError{Kind: directory.KindGroup, Named: strconv.Quote(name)}
		}
		ids = append(ids, n.groups[at].ID)
	}
	return ids, nil
}

func (n names) audienceIDs(emails, groups []string) (audience directory.Audience, err error) {
	for _, email := range emails {
		at := slices.IndexFunc(n.users, func(u directory.User) bool { return strings.EqualFold(u.Email, strings.TrimSpace(email)) })
		if at < 0 {
			return audience, directory.MissingError{Kind: directory.KindUser, Named: email}
		}
		audience.Users = append(audience.Users, n.users[at].ID)
	}
	audience.Groups, err = n.groupIDs(groups)
	return audience, err
}

func (n names) audience(a directory.Audience) (emails, groups []string) {
	emails, groups = []string{}, []string{}
	for _, user := range n.users {
		if slices.Contains(a.Users, user.ID) {
			emails = append(emails, user.Email)
		}
	}
	for _, group := range n.groups {
		if slices.Contains(a.Groups, group.ID) {
			groups = append(groups, group.Name)
		}
	}
	return emails, groups
}

func (n names) agent(agent directory.Agent, audience directory.Audience) wire.DirectoryAgent {
	row := wire.DirectoryAgent{ID: agent.ID, Name: agent.Name, Description: agent.Description, IsPublic: agent.Public,
		Owner: agent.OwnerEmail, DocumentSets: []string{}, Documents: append([]string{}, agent.Documents...),
		SystemPrompt: agent.SystemPrompt, Provider: agent.Provider, Model: agent.Model}
	row.Users, row.Groups = n.audience(audience)
	for _, set := range agent.DocumentSets {
		row.DocumentSets = append(row.DocumentSets, set.Name)
	}
	if !agent.SearchStart.IsZero() {
		start := directory.Timestamp(agent.SearchStart)
		row.SearchStartDate = &start
	}
	return row
}
