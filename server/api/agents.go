package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/index"
	"quarry/server/pipeline"
)

// permissionViewer is the right to use an agent.
const permissionViewer = "VIEWER"

// personas answers GET /persona.
func personas(c *call) any {
	c.boolean("include_deleted", false) // deleted agents are not kept
	wanted := c.numbers("persona_ids")
	check(c.failure())
	agents := must(c.directory.Agents())
	if wanted != nil {
		agents = slices.DeleteFunc(agents, func(a directory.Agent) bool { return !slices.Contains(wanted, a.ID) })
	}
	return c.describeAgents(agents)
}

// agentPage answers GET /agents: the agents in pages.
func agentPage(c *call) any {
	const usual, most, lastPage = 10, 1000, 1 << 30
	number, size := c.wholeOr("page_num", 0, 0, lastPage), c.wholeOr("page_size", usual, 1, most)
	check(c.failure())
	agents := must(c.directory.Agents())
	start := min(number*size, len(agents))
	described := c.describeAgents(agents[start:min(start+size, len(agents))])
	return wire.PersonaPage{Items: described, TotalItems: len(agents)}
}

// persona answers GET /persona/{id}.
func persona(c *call) any { return c.describeOne(must(c.agentOfPath())) }

// agentOfPath returns the agent whose id is in the path.
func (c *call) agentOfPath() (directory.Agent, error) {
	id := c.pathNumber("id", "persona_id")
	check(c.failure())
	agent, err := c.directory.Agent(id)
	if errors.Is(err, directory.ErrNotFound) {
		err = message(noPersona(id))
	}
	return agent, err
}

// describeAgents returns what the caller may know of agents.
func (c *call) describeAgents(agents []directory.Agent) []wire.Persona {
	sets, scopes := c.setsOfAgents(agents), c.scopesOf(agents)
	return mapped(agents, func(a directory.Agent) wire.Persona {
		permission := permissionViewer
		switch {
		case a.OwnerID != "" && a.OwnerID == c.who.UserID:
			permission = "OWNER"
		case c.who.Admin && !a.Builtin:
			permission = "EDITOR"
		}
		p := wire.Persona{
			ID: a.ID, Name: a.Name, Description: a.Description, Tools: []wire.Tool{searchTool()},
			DocumentSets: slices.DeleteFunc(slices.Clone(sets), func(known wire.DocumentSet) bool {
				return !slices.ContainsFunc(a.DocumentSets,
					func(set directory.DocumentSet) bool { return set.ID == known.ID })
			}),
			AttachedDocumentCount: scopes[a.ID].attached, KnowledgeSources: listed(scopes[a.ID].sources),
			IsPublic: a.Public, IsListed: a.Listed, DisplayPriority: a.DisplayPriority, BuiltinPersona: a.Builtin,
			Labels: []wire.Named{}, Permissions: map[string]any{}, UserPermission: &permission,
		}
		if len(a.Files) > 0 {
			p.KnowledgeSources = append(p.KnowledgeSources, "user_file")
		}
		if len(a.StarterMessages) > 0 {
			p.StarterMessages = a.StarterMessages
		}
		if a.OwnerID != "" {
			p.Owner = &wire.Owner{ID: a.OwnerID, Email: new("")}
			if a.OwnerID == c.who.UserID || c.who.Admin {
				p.Owner.Email = &a.OwnerEmail
			}
		}
		return p
	})
}

// setsOfAgents describes the document sets of agents that the caller may know, by name.
func (c *call) setsOfAgents(agents []directory.Agent) []wire.DocumentSet {
	used := map[int]bool{}
	for _, a := range agents {
		for _, set := range a.DocumentSets {
			used[set.ID] = true
		}
	}
	sets := must(c.directory.DocumentSets())
	return c.describeSets(slices.DeleteFunc(sets, func(set directory.DocumentSet) bool { return !used[set.ID] }))
}

// noPersona is what Onyx says of an agent that does not exist, or that the caller may not use.
func noPersona(id int) string {
	return fmt.Sprintf("Persona with ID %d does not exist or user is not authorized to access it", id)
}

// addPersona answers POST /persona: it creates an agent that the caller owns. What the caller may not see is answered
// like what does not exist.
func addPersona(c *call) any {
	return c.saveAgent(directory.Agent{OwnerID: c.who.UserID, OwnerEmail: c.who.Email, Listed: true},
		c.directory.AddAgent)
}

// saveAgent reads an agent, of which some is known, and answers with it as it is stored.
func (c *call) saveAgent(known directory.Agent, save func(directory.Agent) (directory.Agent, error)) any {
	return c.describeOne(must(save(c.readAgent(known))))
}

// changePersona answers PATCH /persona/{id} for the agent's owner and administrators.
func changePersona(c *call) any {
	agent := must(c.agentOfPath())
	if agent.Builtin || !c.who.Admin && agent.OwnerID != c.who.UserID {
		abort(message(noPersona(agent.ID)))
	}
	agent.Audience = must(c.directory.AgentAudience(agent))
	return c.saveAgent(agent, c.directory.UpdateAgent)
}

// removePersona answers DELETE /persona/{id} for the agent's owner and administrators.
func removePersona(c *call) any {
	agent, err := c.agentOfPath()
	if c.who.Owner && agent.Builtin {
		err = directory.InputError{Reason: "agent 0 is built in and cannot be removed"}
	}
	if statusOf(err) == http.StatusBadRequest ||
		err == nil && (agent.Builtin || !c.who.Admin && agent.OwnerID != c.who.UserID) {
		err = forbidden("You can only delete agents you created.")
	}
	check(err)
	check(c.directory.RemoveAgent(agent.ID))
	return nil
}

// readAgent reads an agent, and checks the ids of what it refers to. Audience, files, priority and whether it is public
// stay as they are if they are not given.
func readAgent(f *fields, agent directory.Agent) directory.Agent {
	agent.Name, agent.Description = f.requireText("name", 1, longestLabel), f.textOf("description", longestPrompt)
	agent.SystemPrompt, agent.TaskPrompt = f.textOf("system_prompt", longestPrompt),
		f.textOf("task_prompt", longestPrompt)
	agent.Public, agent.WithoutDate = f.boolean("is_public", agent.Public), !f.boolean("datetime_aware", true)
	agent.Documents = nonEmpty(f.texts("document_ids"))
	agent.Provider = f.textOf("llm_model_provider_override", maxItemRunes)
	agent.Model = f.textOf("llm_model_version_override", maxItemRunes)
	agent.DisplayPriority = cmp.Or(f.whole("display_priority", -1<<31, 1<<31), agent.DisplayPriority)
	agent.SearchStart = time.Time{}
	if start := f.moment("search_start_date"); start != nil {
		agent.SearchStart = start.Time
	}
	agent.StarterMessages = objects(f, "starter_messages", func(starter *fields) wire.StarterMessage {
		return wire.StarterMessage{Name: starter.requireText("name", 0, longestName),
			Message: starter.requireText("message", 0, longestPrompt)}
	})
	if _, given := f.given("users"); given {
		agent.Audience.Users = f.texts("users")
	}
	if _, given := f.given("groups"); given {
		agent.Audience.Groups = f.numbers("groups")
	}
	f.numbers("document_set_ids")
	f.texts("user_file_ids")
	f.list("hierarchy_node_ids")
	f.numbers("label_ids") // of which this server has none
	f.numbers("tool_ids")  // every agent searches
	return agent
}

// readAgent reads an agent from the body, with what it refers to.
func (c *call) readAgent(known directory.Agent) directory.Agent {
	agent := readAgent(c.fields, known)
	check(c.failure())
	moved := !reflect.DeepEqual(agent.DisplayPriority, known.DisplayPriority)
	if !c.who.Admin && (agent.Public && !known.Public || moved) {
		abort(forbidden("Only an administrator makes an agent public or sets its display_priority."))
	}
	if nodes := c.list("hierarchy_node_ids"); len(nodes) > 0 { // without them the agent would search more than intended
		abort(coded("NOT_FOUND", "Hierarchy node %s not found", clip(string(nodes[0]))))
	}
	c.storeIDs(agent.Documents)
	agent.DocumentSets = c.setsByID(c.numbers("document_set_ids"))
	if _, given := c.given("groups"); given {
		c.requireGroups(agent.Audience.Groups)
	}
	if _, given := c.given("user_file_ids"); given {
		agent.Files = c.filesOfAgent(agent.Files, c.texts("user_file_ids"))
	}
	return agent
}

// filesOfAgent returns the files of an agent: those that it has, and files of the caller.
func (c *call) filesOfAgent(known []directory.File, wanted []string) (files []directory.File) {
	for _, id := range wanted {
		if at := slices.IndexFunc(known, func(f directory.File) bool { return f.ID == id }); at >= 0 {
			files = append(files, known[at])
			continue
		}
		_, err := c.Chats(c.who.Tenant).File(c.ctx, chatUser(c.who), id)
		if errors.Is(err, chat.ErrNotFound) {
			err = coded("NOT_FOUND", "User file %s not found", quoted(clip(id)))
		}
		check(err)
		files = append(files, directory.File{ID: id, UserID: chatUser(c.who)})
	}
	return files
}

// noLabels answers GET /persona/labels: agents have none here.
func noLabels(*call) any { return []wire.Named{} }

// The tool that every agent uses.
const (
	searchToolID   = 1
	searchToolName = "internal_search"
)

func searchTool() wire.Tool {
	return wire.Tool{ID: searchToolID, Name: searchToolName, DisplayName: "Internal Search",
		Description:  "Search the library.",
		InCodeToolID: new("SearchTool"), Enabled: true, Permissions: map[string]bool{}, ChatSelectable: true,
		AgentCreationSelectable: true, DefaultEnabled: true}
}

// tools answers GET /tool.
func tools(*call) any { return []wire.Tool{searchTool()} }

// setsByID returns document sets that the caller may see, by their ids.
func (c *call) setsByID(ids []int) (sets []directory.DocumentSet) {
	if len(ids) == 0 {
		return nil
	}
	known := must(c.directory.DocumentSets())
	for _, id := range ids {
		at := slices.IndexFunc(known, func(set directory.DocumentSet) bool { return set.ID == id })
		if at < 0 {
			abort(directory.MissingError{Kind: directory.KindDocumentSet, Named: strconv.Itoa(id)})
		}
		sets = append(sets, known[at])
	}
	return sets
}

// requireGroups refuses a caller who is not an administrator and not in all of the groups.
func (c *call) requireGroups(ids []int) {
	if len(ids) == 0 || c.who.Admin {
		return
	}
	known := must(c.directory.Groups())
	for _, id := range ids {
		if !slices.ContainsFunc(known, func(g directory.Group) bool {
			return g.ID == id && slices.Contains(c.who.Groups, g.Name)
		}) {
			abort(directory.MissingError{Kind: directory.KindGroup, Named: strconv.Itoa(id)})
		}
	}
}

// describeOne describes an agent for GET /persona/{id}.
func (c *call) describeOne(agent directory.Agent) wire.FullPersona {
	return c.describeFully([]directory.Agent{agent})[0]
}

// describeFully describes agents. Only their owner and administrators see their audience and files.
func (c *call) describeFully(agents []directory.Agent) (full []wire.FullPersona) {
	described := c.describeAgents(agents)
	users, groups := must(c.directory.Users()), must(c.directory.Groups())
	admins := 0
	for _, user := range users {
		if user.Active && user.Role == directory.RoleAdmin {
			admins++
		}
	}
	attached := c.attachedTo(agents)
	for i, agent := range agents {
		one := wire.FullPersona{
			Persona: described[i], Users: []wire.Owner{}, Groups: []int{},
			SearchStartDate: directory.TimestampOrNil(agent.SearchStart),
			SystemPrompt:    orNil(agent.SystemPrompt), TaskPrompt: orNil(agent.TaskPrompt),
			DatetimeAware: !agent.WithoutDate,
			UserShares:    []wire.UserShare{}, GroupShares: []wire.GroupShare{}, PublicPermission: permissionViewer,
			UserFileIDs: []string{}, HierarchyNodes: []any{}, AttachedDocuments: attached(agent), AdminCount: admins,
			OwnershipVacant: agent.OwnerID == "" && !agent.Builtin, SharingStatus: "PRIVATE",
		}
		if agent.Public {
			one.SharingStatus = "PUBLIC"
		}
		if c.who.Owner {
			one.Provider, one.Model = agent.Provider, agent.Model
		}
		if !agent.Builtin && (c.who.Admin || agent.OwnerID != "" && agent.OwnerID == c.who.UserID) {
			c.describeAudience(agent, users, groups, &one)
		}
		full = append(full, one)
	}
	return full
}

// describeAudience adds who may use an agent, and its files.
func (c *call) describeAudience(agent directory.Agent, users []directory.User, groups []directory.Group,
	full *wire.FullPersona) {
	audience := must(c.directory.AgentAudience(agent))
	full.Groups = listed(audience.Groups)
	for _, user := range users {
		if slices.Contains(audience.Users, user.ID) {
			owner := wire.Owner{ID: user.ID, Email: &user.Email}
			full.Users = append(full.Users, owner)
			full.UserShares = append(full.UserShares, wire.UserShare{User: owner, Permission: permissionViewer})
		}
	}
	for _, group := range groups {
		if slices.Contains(audience.Groups, group.ID) {
			full.GroupShares = append(full.GroupShares,
				wire.GroupShare{GroupID: group.ID, GroupName: group.Name, Permission: permissionViewer})
		}
	}
	if !agent.Public && len(full.UserShares)+len(full.GroupShares) > 0 {
		full.SharingStatus = "SHARED"
	}
	full.UserFileIDs = mapped(agent.Files, func(f directory.File) string { return f.ID })
}

// attachedTo returns a function that describes the attached documents of an agent that the caller may see.
func (c *call) attachedTo(agents []directory.Agent) (of func(directory.Agent) []wire.AttachedDocument) {
	seen, edge, files := map[string]index.Stored{}, edge{}, !isListener(c.ctx)
	if slices.ContainsFunc(agents, func(a directory.Agent) bool { return len(a.Documents) > 0 }) {
		c.read(func(snapshot index.Snapshot) {
			edge, seen = c.edge(snapshot), c.attachedDocuments(snapshot, agents)
		})
	}
	return func(agent directory.Agent) []wire.AttachedDocument {
		documents := []wire.AttachedDocument{}
		for _, id := range agent.Documents {
			d, ok := seen[id]
			if ok && !d.Damaged {
				documents = append(documents, wire.AttachedDocument{ID: edge.id(d.ID), Title: d.Title,
					Link: pipeline.Link(files, d.Link), LastModified: directory.TimestampOrNil(d.UpdatedAt),
					Source: orNil(d.Source)})
			} else if c.who.Owner { // who can attach it to no other agent
				documents = append(documents, wire.AttachedDocument{ID: id})
			}
		}
		return documents
	}
}

func orNil(text string) *string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return &text
}

// describeSets describes document sets with the connectors that the caller may know, and the audience for
// administrators.
func (c *call) describeSets(sets []directory.DocumentSet) []wire.DocumentSet {
	if len(sets) == 0 {
		return []wire.DocumentSet{}
	}
	known := must(c.directory.CCPairs())
	known = slices.DeleteFunc(known, func(pair directory.CCPair) bool { return !mayKnow(c.who, pair) })
	return mapped(must(c.directory.DescribeSets(sets)), func(details directory.SetDetails) wire.DocumentSet {
		set := details.DocumentSet
		described := wire.DocumentSet{
			ID: set.ID, Name: set.Name, IsUpToDate: true, IsPublic: set.Public,
			CCPairSummaries: summaries(details.CCPairs, known), Users: []string{}, Groups: []int{},
			Permissions: map[string]any{}, FederatedConnectorSummaries: []wire.FederatedConnection{},
			Description: orNil(set.Description),
		}
		if c.who.Admin {
			described.Users, described.Groups = listed(details.Audience.Users), listed(details.Audience.Groups)
		}
		return described
	})
}

// mayKnow reports whether somebody may know of a connector.
func mayKnow(who directory.Principal, pair directory.CCPair) bool {
	if who.Admin || pair.Access == directory.AccessPublic {
		return true
	}
	return !who.Anonymous && (pair.Creator == who.Email ||
		slices.ContainsFunc(pair.Groups, func(group string) bool { return slices.Contains(who.Groups, group) }))
}
