package target

import (
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

// Directory administers who may use a served library, and what is arranged for them, on the library's files: who can
// write them is its administrator.
type Directory struct{ tokens *Tokens }

// Directory opens what is arranged for a tenant of the library in dir, or of that of this machine; "" is the default
// tenant. Nothing is made on disk before something is added.
func (h *Host) Directory(ctx context.Context, dir, tenant string) (*Directory, error) {
	tokens, err := h.Tokens(ctx, dir, tenant)
	if err != nil {
		return nil, err
	}
	return &Directory{tokens}, nil
}

// Close releases the files.
func (d *Directory) Close() error { return d.tokens.Close() }

// looking runs look on the directory, if there is one.
func (d *Directory) looking(ctx context.Context, look func(*directory.Directory) error) error {
	if d.tokens.named {
		if err := d.tokens.host.needLibrary(d.tokens.dir); err != nil {
			return err
		}
	}
	people, err := d.tokens.people(ctx)
	if people == nil || err != nil {
		return err
	}
	return arrangeError(look(people))
}

// changing runs change on the directory, which is made where there is none, and lets the documents follow.
func (d *Directory) changing(ctx context.Context, change func(*directory.Directory) error) error {
	if err := d.tokens.host.refuseChange("the directory"); err != nil {
		return err
	}
	if err := d.tokens.host.MayWrite(d.tokens.dir); err != nil {
		return err
	}
	people, err := d.tokens.server.Directory(ctx)
	if err != nil {
		return libraryError(err)
	}
	if err := d.tokens.knowTenant(ctx, people); err != nil {
		return err
	}
	if err := change(people); err != nil {
		return arrangeError(err)
	}
	return arrangeError(d.tokens.server.Settle(ctx, d.tokens.tenant))
}

// arrangeError adds the remedy to what can be wrong with what was asked.
func arrangeError(err error) error {
	var (
		taken  directory.ExistsError
		absent directory.MissingError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &taken):
		return &Error{Kind: ErrUsage, Problem: taken.Reason, Fix: "choose another name, or remove that one first"}
	case errors.As(err, &absent):
		return &Error{Kind: ErrNotAvailable, Problem: absent.Error(),
			Fix: "see quarry admin " + commandOf(absent.Kind) + " list for those that there are"}
	}
	return libraryError(err)
}

// commandOf is the command that lists a kind of thing.
func commandOf(kind directory.Kind) string {
	switch kind {
	case directory.KindUser:
		return "user"
	case directory.KindGroup:
		return "group"
	case directory.KindDocumentSet:
		return "document-set"
	case directory.KindAgent:
		return "agent"
	case directory.KindTenant:
		return "tenant"
	}
	return "connector"
}

// Users lists the users by address.
func (d *Directory) Users(ctx context.Context) ([]wire.DirectoryUser, error) {
	listed := []wire.DirectoryUser{}
	err := d.looking(ctx, func(people *directory.Directory) error {
		users, err := people.Users(ctx, d.tokens.tenant)
		for _, user := range users {
			listed = append(listed, wireUser(user))
		}
		return err
	})
	return listed, err
}

func wireUser(user directory.User) wire.DirectoryUser {
	return wire.DirectoryUser{Email: user.Email, Role: string(user.Role), IsActive: user.Active,
		CreatedAt: directory.Timestamp(user.CreatedAt)}
}

// AddUser makes a user. With a role, one who exists gets it; made tells that there was none.
func (d *Directory) AddUser(ctx context.Context, email, role string) (added wire.DirectoryUser, made bool, err error) {
	err = d.changing(ctx, func(people *directory.Directory) error {
		known, err := people.HasUser(ctx, d.tokens.tenant, email)
		if err != nil {
			return err
		}
		made = !known
		wanted := directory.Role(role)
		if role == "" {
			wanted = directory.RoleBasic
		}
		user, err := people.AddUser(ctx, d.tokens.tenant, email, wanted)
		if err != nil {
			return err
		}
		if role != "" && user.Role != wanted {
			if err := people.SetRole(ctx, d.tokens.tenant, email, wanted); err != nil {
				return err
			}
			user.Role = wanted
		}
		added = wireUser(user)
		return nil
	})
	return added, made, err
}

// SetUserActive lets a user in or keeps them out, with all their tokens.
func (d *Directory) SetUserActive(ctx context.Context, email string, active bool) error {
	return d.changing(ctx, func(people *directory.Directory) error { return people.SetActive(ctx, d.tokens.tenant, email, active) })
}

// RemoveUser removes a user with their tokens and memberships.
func (d *Directory) RemoveUser(ctx context.Context, email string) error {
	return d.changing(ctx, func(people *directory.Directory) error { return people.RemoveUser(ctx, d.tokens.tenant, email) })
}

// Groups lists the groups of this server by name, and then those of other systems.
func (d *Directory) Groups(ctx context.Context) ([]wire.DirectoryGroup, error) {
	listed := []wire.DirectoryGroup{}
	err := d.looking(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		for _, group := range known.groups {
			row := wire.DirectoryGroup{ID: group.ID, Name: group.Name, Users: []string{}, Connectors: known.pairNames(group.CCPairs)}
			for _, member := range group.Members {
				row.Users = append(row.Users, member.Email)
			}
			listed = append(listed, row)
		}
		members, err := people.ExternalMembers(ctx, d.tokens.tenant)
		for _, member := range members {
			name := member.Group.Source + ":" + member.Group.ID
			if last := len(listed) - 1; last < 0 || !listed[last].External || listed[last].Name != name {
				listed = append(listed, wire.DirectoryGroup{Name: name, External: true, Users: []string{}, Connectors: []string{}})
			}
			last := &listed[len(listed)-1]
			last.Users = append(last.Users, member.Email)
		}
		return err
	})
	return listed, err
}

// AddGroup makes a group, or adds users and connectors to the one of that name. Users who were not known are made, and
// returned.
func (d *Directory) AddGroup(ctx context.Context, group wire.DirectoryGroup) (made []string, err error) {
	err = d.changing(ctx, func(people *directory.Directory) error {
		for _, email := range group.Users {
			known, err := people.HasUser(ctx, d.tokens.tenant, email)
			if err != nil {
				return err
			}
			if !known {
				made = append(made, email)
			}
		}
		if group.External {
			external, err := externalGroup(group.Name)
			if err != nil {
				return err
			}
			for _, email := range group.Users {
				if err := people.JoinExternalGroup(ctx, d.tokens.tenant, external, email); err != nil {
					return err
				}
			}
			return nil
		}
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		pairs, err := known.pairIDs(group.Connectors)
		if err != nil {
			return err
		}
		found, err := people.GroupNamed(ctx, d.tokens.tenant, group.Name)
		if errors.Is(err, directory.ErrNotFound) {
			found, err = people.AddGroup(ctx, d.tokens.tenant, group.Name, nil, nil)
		}
		if err != nil {
			return err
		}
		for _, email := range group.Users {
			if err := people.JoinGroup(ctx, d.tokens.tenant, group.Name, email); err != nil {
				return err
			}
		}
		return people.GivePairs(ctx, d.tokens.tenant, found.ID, pairs)
	})
	return made, err
}

// externalGroup reads SOURCE:ID.
func externalGroup(name string) (directory.ExternalGroup, error) {
	source, id, found := strings.Cut(name, ":")
	if !found {
		return directory.ExternalGroup{}, directory.InputError{Reason: fmt.Sprintf("a group of another system is written SOURCE:ID, not %q", name)}
	}
	return directory.ExternalGroup{Source: source, ID: id}, nil
}

// RemoveGroup takes users out of a group, or removes the group if none are given.
func (d *Directory) RemoveGroup(ctx context.Context, group wire.DirectoryGroup) error {
	return d.changing(ctx, func(people *directory.Directory) error {
		if !group.External && len(group.Users) == 0 {
			return people.RemoveGroup(ctx, d.tokens.tenant, group.Name)
		}
		if !group.External {
			for _, email := range group.Users {
				if err := people.LeaveGroup(ctx, d.tokens.tenant, group.Name, email); err != nil {
					return err
				}
			}
			return nil
		}
		external, err := externalGroup(group.Name)
		if err != nil {
			return err
		}
		users := group.Users
		if len(users) == 0 {
			users = []string{""} // everybody
		}
		for _, email := range users {
			if err := people.LeaveExternalGroup(ctx, d.tokens.tenant, external, email); err != nil {
				return err
			}
		}
		return nil
	})
}

// Connectors lists the connectors by number.
func (d *Directory) Connectors(ctx context.Context) ([]wire.DirectoryConnector, error) {
	listed := []wire.DirectoryConnector{}
	err := d.looking(ctx, func(people *directory.Directory) error {
		pairs, err := people.CCPairs(ctx, d.tokens.tenant)
		for _, pair := range pairs {
			listed = append(listed, wire.DirectoryConnector{ID: pair.ID, Name: pair.Name, Source: pair.Source,
				AccessType: string(pair.Access), Groups: append([]string{}, pair.Groups...), Creator: pair.Creator,
				DocumentSets: append([]string{}, pair.Sets...)})
		}
		return err
	})
	return listed, err
}

// AddConnector makes a connector, which documents can be posted for, and completes it with its number and its creator.
func (d *Directory) AddConnector(ctx context.Context, connector *wire.DirectoryConnector) error {
	return d.changing(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		if connector.Creator == "" {
			connector.Creator = directory.OwnerEmail
		}
		request := directory.PairRequest{Name: connector.Name, Access: directory.AccessType(connector.AccessType), Creator: connector.Creator}
		if request.GroupIDs, err = known.groupIDs(connector.Groups); err != nil {
			return err
		}
		if request.ConnectorID, err = people.AddConnector(ctx, d.tokens.tenant, connector.Name, connector.Source); err != nil {
			return err
		}
		if request.CredentialID, err = people.AddCredential(ctx, d.tokens.tenant, connector.Name, connector.Source); err != nil {
			return err
		}
		connector.ID, _, err = people.AddCCPair(ctx, d.tokens.tenant, request)
		return err
	})
}

// RemoveConnector removes a connector with its documents.
func (d *Directory) RemoveConnector(ctx context.Context, name string) error {
	return d.changing(ctx, func(people *directory.Directory) error { return people.RemoveCCPair(ctx, d.tokens.tenant, name) })
}

// DocumentSets lists the document sets by name.
func (d *Directory) DocumentSets(ctx context.Context) ([]wire.DirectorySet, error) {
	listed := []wire.DirectorySet{}
	err := d.looking(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		sets, err := people.DocumentSets(ctx, directory.Owner(d.tokens.tenant))
		if err != nil {
			return err
		}
		described, err := people.DescribeSets(ctx, sets)
		if err != nil {
			return err
		}
		for _, details := range described {
			set := details.DocumentSet
			row := wire.DirectorySet{ID: set.ID, Name: set.Name, Description: set.Description, IsPublic: set.Public,
				Connectors: known.pairNames(details.CCPairs)}
			row.Users, row.Groups = known.audience(details.Audience)
			listed = append(listed, row)
		}
		return nil
	})
	return listed, err
}

// AddDocumentSet makes a document set and returns its number.
func (d *Directory) AddDocumentSet(ctx context.Context, set wire.DirectorySet) (id int, err error) {
	err = d.changing(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		details := directory.SetDetails{DocumentSet: directory.DocumentSet{Name: set.Name, Description: set.Description, Public: set.IsPublic}}
		if details.Audience, err = known.audienceIDs(set.Users, set.Groups); err != nil {
			return err
		}
		if details.CCPairs, err = known.pairIDs(set.Connectors); err != nil {
			return err
		}
		id, err = people.CreateDocumentSet(ctx, d.tokens.tenant, details)
		return err
	})
	return id, err
}

// RemoveDocumentSet ends a document set; its documents stay.
func (d *Directory) RemoveDocumentSet(ctx context.Context, name string) error {
	return d.changing(ctx, func(*directory.Directory) error { return d.tokens.server.RemoveDocumentSet(ctx, d.tokens.tenant, name) })
}

// Agents lists the agents by number, without the one that is built in.
func (d *Directory) Agents(ctx context.Context) ([]wire.DirectoryAgent, error) {
	listed := []wire.DirectoryAgent{}
	err := d.looking(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		agents, err := people.Agents(ctx, directory.Owner(d.tokens.tenant))
		if err != nil {
			return err
		}
		for _, agent := range agents {
			if agent.Builtin {
				continue
			}
			if agent, err = people.Agent(ctx, directory.Owner(d.tokens.tenant), agent.ID); err != nil {
				return err
			}
			audience, err := people.AgentAudience(ctx, agent)
			if err != nil {
				return err
			}
			listed = append(listed, known.agent(agent, audience))
		}
		return nil
	})
	return listed, err
}

// AddAgent makes an agent, of the owner's unless another owner is named, and completes it with its number and its owner.
func (d *Directory) AddAgent(ctx context.Context, agent *wire.DirectoryAgent) error {
	return d.changing(ctx, func(people *directory.Directory) error {
		known, err := namesOf(ctx, people, d.tokens.tenant)
		if err != nil {
			return err
		}
		made := directory.Agent{Name: agent.Name, Description: agent.Description, Public: agent.IsPublic, Listed: true,
			Documents: agent.Documents, SystemPrompt: agent.SystemPrompt, Provider: agent.Provider, Model: agent.Model}
		for _, name := range agent.DocumentSets {
			made.DocumentSets = append(made.DocumentSets, directory.DocumentSet{Name: name})
		}
		if made.Audience, err = known.audienceIDs(agent.Users, agent.Groups); err != nil {
			return err
		}
		if agent.Owner == "" {
			agent.Owner = directory.OwnerEmail
		}
		user, err := people.UserNamed(ctx, d.tokens.tenant, agent.Owner)
		if err != nil {
			return err
		}
		made.OwnerID = user.ID
		if agent.SearchStartDate != nil {
			if made.SearchStart, err = time.Parse(time.DateOnly, *agent.SearchStartDate); err != nil {
				return directory.InputError{Reason: fmt.Sprintf("not a date: %q", *agent.SearchStartDate)}
			}
		}
		made, err = people.AddAgent(ctx, d.tokens.tenant, made)
		agent.ID = made.ID
		return err
	})
}

// RemoveAgent removes an agent that is named by its number or its name.
func (d *Directory) RemoveAgent(ctx context.Context, named string) error {
	return d.changing(ctx, func(people *directory.Directory) error {
		agents, err := people.Agents(ctx, directory.Owner(d.tokens.tenant))
		if err != nil {
			return err
		}
		var ids []int
		for _, agent := range agents {
			if agent.Name == named || strconv.Itoa(agent.ID) == named {
				ids = append(ids, agent.ID)
			}
		}
		switch {
		case slices.Equal(ids, []int{0}):
			return directory.InputError{Reason: "agent 0 is built in and stays"}
		case len(ids) == 0:
			return directory.MissingError{Kind: directory.KindAgent, Named: strconv.Quote(named)}
		case len(ids) > 1:
			return directory.InputError{Reason: fmt.Sprintf("%q names %d agents; give the number of one", named, len(ids))}
		}
		return people.RemoveAgent(ctx, d.tokens.tenant, ids[0])
	})
}
