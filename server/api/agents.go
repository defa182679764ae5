package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
)

// personas answers GET /persona.
func (s *Server) personas(c *call) (any, error) {
	c.boolean("include_deleted", false) // deleted agents are not kept
	wanted := c.numbers("persona_ids")
	if err := c.failure(); err != nil {
		return nil, err
	}
	agents, err := s.Directory.Agents(c.Context(), c.who)
	if err != nil {
		return nil, err
	}
	if wanted != nil {
		agents = slices.DeleteFunc(agents, func(a directory.Agent) bool { return !slices.Contains(wanted, a.ID) })
	}
	return s.describeAgents(c.Context(), c.who, agents)
}

// agentPage answers GET /agents: the agents in pages.
func (s *Server) agentPage(c *call) (any, error) {
	const usual, most, lastPage = 10, 1000, 1 << 30
	number, size := c.wholeOr("page_num", 0, 0, lastPage), c.wholeOr("page_size", usual, 1, most)
	if err := c.failure(); err != nil {
		return nil, err
	}
	agents, err := s.Directory.Agents(c.Context(), c.who)
	if err != nil {
		return nil, err
	}
	start := min(number*size, len(agents))
	described, err := s.describeAgents(c.Context(), c.who, agents[start:min(start+size, len(agents))])
	return wire.PersonaPage{Items: described, TotalItems: len(agents)}, err
}

// persona answers GET /persona/{id}.
func (s *Server) persona(c *call) (any, error) {
	agent, err := c.agentOfPath()
	if err != nil {
		return nil, err
	}
	return s.describeFully(c.Context(), c.who, agent)
}

// agentOfPath returns the agent whose id is in the path.
func (c *call) agentOfPath() (directory.Agent, error) {
	id := c.pathNumber("id", "persona_id")
	if err := c.failure(); err != nil {
		return directory.Agent{}, err
	}
	return c.server.agent(c.Context(), c.who, id)
}

// describeAgents returns what the caller may know of agents.
func (s *Server) describeAgents(ctx context.Context, who directory.Principal, agents []directory.Agent) (
	[]wire.Persona, error) {
	sets, err := s.setsOfAgents(ctx, who, agents)
	if err != nil {
		return nil, err
	}
	scopes, err := s.scopesOf(ctx, who, agents)
	if err != nil {
		return nil, err
	}
	return mapped(agents, func(a directory.Agent) wire.Persona {
		permission := "VIEWER"
		switch {
		case a.OwnerID != "" && a.OwnerID == who.UserID:
			permission = "OWNER"
		case who.Admin && !a.Builtin:
			permission = "EDITOR"
		}
		p := wire.Persona{
			ID: a.ID, Name: a.Name, Description: a.Description, Tools: []any{},
			DocumentSets: slices.DeleteFunc(slices.Clone(sets), func(known wire.DocumentSet) bool {
				return !slices.ContainsFunc(a.DocumentSets, func(set directory.DocumentSet) bool { return set.ID == known.ID })
			}),
			AttachedDocumentCount: scopes[a.ID].attached, KnowledgeSources: listed(scopes[a.ID].sources),
			IsPublic: a.Public, IsListed: a.Listed, BuiltinPersona: a.Builtin, Labels: []wire.Label{},
			Permissions: map[string]any{}, UserPermission: &permission,
		}
		if len(a.StarterMessages) > 0 {
			p.StarterMessages = a.StarterMessages
		}
		if a.OwnerID != "" {
			p.Owner = &wire.Owner{ID: a.OwnerID}
			if a.OwnerID == who.UserID || who.Admin {
				p.Owner.Email = &a.OwnerEmail
			}
		}
		return p
	}), nil
}

// setsOfAgents describes the document sets of agents that the caller may know, by name.
func (s *Server) setsOfAgents(ctx context.Context, who directory.Principal, agents []directory.Agent) ([]wire.DocumentSet, error) {
	used := map[int]bool{}
	for _, a := range agents {
		for _, set := range a.DocumentSets {
			used[set.ID] = true
		}
	}
	sets, err := s.Directory.DocumentSets(ctx, who)
	if err != nil {
		return nil, err
	}
	return s.describeSets(ctx, who, slices.DeleteFunc(sets, func(set directory.DocumentSet) bool { return !used[set.ID] }))
}

// addPersona answers POST /persona: it creates an agent that the caller owns. What the caller may not see is answered like
// what does not exist.
func (s *Server) addPersona(c *call) (any, error) {
	ctx, who := c.Context(), c.who
	agent, sets := readAgent(c.fields)
	files := c.texts("user_file_ids")
	nodes := c.list("hierarchy_node_ids")
	if err := c.failure(); err != nil {
		return nil, err
	}
	// Without these restrictions the agent would search more than intended.
	switch {
	case len(files) > 0:
		return nil, coded(http.StatusNotFound, "NOT_FOUND", "User file %s not found; name document sets or documents",
			quoted(clip(files[0])))
	case len(nodes) > 0:
		return nil, coded(http.StatusNotFound, "NOT_FOUND", "Hierarchy node %s not found", clip(string(nodes[0])))
	}
	var err error
	if agent.DocumentSets, err = setsByID(ctx, s.Directory, who, sets); err != nil {
		return nil, err
	}
	if err := ownGroups(ctx, s.Directory, who, agent.Audience.Groups); err != nil {
		return nil, err
	}
	agent.OwnerID, agent.OwnerEmail = who.UserID, who.Email
	agent, err = s.Directory.AddAgent(ctx, who.Tenant, agent)
	if err != nil {
		return nil, err
	}
	return s.describeFully(ctx, who, agent)
}

// removePersona answers DELETE /persona/{id} for the agent's owner and administrators.
func removePersona(c *call) (any, error) {
	agent, err := c.agentOfPath()
	if err != nil {
		return nil, err
	}
	if agent.Builtin || !c.who.Admin && agent.OwnerID != c.who.UserID {
		return nil, forbidden("You can remove only your own agents.")
	}
	return nil, c.server.Directory.RemoveAgent(c.Context(), c.who.Tenant, agent.ID)
}

// readAgent reads an agent and the ids of its document sets.
func readAgent(f *fields) (agent directory.Agent, sets []int) {
	agent = directory.Agent{
		Name: f.requireText("name", 1, longestLabel), Description: f.textOr("description", "", longestPrompt),
		SystemPrompt: f.textOr("system_prompt", "", longestPrompt), TaskPrompt: f.textOr("task_prompt", "", longestPrompt),
		Public: f.flag("is_public"), Listed: true, Documents: nonEmpty(f.texts("document_ids")),
		Audience: directory.Audience{Users: f.texts("users"), Groups: f.numbers("groups")},
		Provider: f.textOr("llm_model_provider_override", "", maxItemRunes),
		Model:    f.textOr("llm_model_version_override", "", maxItemRunes),
	}
	if start := f.moment("search_start_date"); start != nil {
		agent.SearchStart = start.Time
	}
	agent.StarterMessages = objects(f, "starter_messages", func(i item) wire.StarterMessage {
		return wire.StarterMessage{Name: i.text("name", longestName), Message: i.text("message", longestPrompt)}
	})
	for _, name := range []string{"tool_ids", "label_ids"} { // of which this server has none
		f.numbers(name)
	}
	return agent, f.numbers("document_set_ids")
}

// setsByID returns document sets that the caller may see, by their ids.
func setsByID(ctx context.Context, d *directory.Directory, who directory.Principal, ids []int) (
	[]directory.DocumentSet, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	known, err := d.DocumentSets(ctx, who)
	if err != nil {
		return nil, err
	}
	var sets []directory.DocumentSet
	for _, id := range ids {
		at := slices.IndexFunc(known, func(set directory.DocumentSet) bool { return set.ID == id })
		if at < 0 {
			return nil, directory.MissingError{Kind: directory.KindDocumentSet, Named: strconv.Itoa(id)}
		}
		sets = append(sets, known[at])
	}
	return sets, nil
}

// ownGroups returns an error if the caller is not an administrator and not in all of the groups.
func ownGroups(ctx context.Context, d *directory.Directory, who directory.Principal, ids []int) error {
	if len(ids) == 0 || who.Admin {
		return nil
	}
	known, err := d.Groups(ctx, who.Tenant)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(known, func(g directory.Group) bool { return g.ID == id && slices.Contains(who.Groups, g.Name) }) {
			return directory.MissingError{Kind: directory.KindGroup, Named: strconv.Itoa(id)}
		}
	}
	return nil
}

// describeFully describes an agent for GET /persona/{id}. Only its owner and administrators see its audience.
func (s *Server) describeFully(ctx context.Context, who directory.Principal, agent directory.Agent) (
	wire.FullPersona, error) {
	described, err := s.describeAgents(ctx, who, []directory.Agent{agent})
	if err != nil {
		return wire.FullPersona{}, err
	}
	full := wire.FullPersona{
		Persona: described[0], Users: []wire.Owner{}, Groups: []int{}, SearchStartDate: directory.TimestampOrNil(agent.SearchStart),
		SystemPrompt: orNil(agent.SystemPrompt), TaskPrompt: orNil(agent.TaskPrompt),
	}
	if agent.Builtin || !who.Admin && (agent.OwnerID == "" || agent.OwnerID != who.UserID) {
		return full, nil
	}
	audience, err := s.Directory.AgentAudience(ctx, agent)
	if err != nil {
		return full, err
	}
	full.Groups = listed(audience.Groups)
	full.Users = mapped(audience.Users, func(id string) wire.Owner { return wire.Owner{ID: id} })
	return full, nil
}

func orNil(text string) *string {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return &text
}

// describeSets describes document sets with the connectors that the caller may know, and the audience for
// administrators.
func (s *Server) describeSets(ctx context.Context, who directory.Principal, sets []directory.DocumentSet) (
	[]wire.DocumentSet, error) {
	if len(sets) == 0 {
		return []wire.DocumentSet{}, nil
	}
	known, err := s.Directory.CCPairs(ctx, who.Tenant)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(pair directory.CCPair) bool { return !mayKnow(who, pair) })
	details, err := s.Directory.DescribeSets(ctx, sets)
	return mapped(details, func(details directory.SetDetails) wire.DocumentSet {
		set := details.DocumentSet
		described := wire.DocumentSet{
			ID: set.ID, Name: set.Name, IsUpToDate: true, IsPublic: set.Public,
			CCPairSummaries: summaries(details.CCPairs, known), Users: []string{}, Groups: []int{},
			Permissions: map[string]any{}, FederatedConnectorSummaries: []wire.FederatedConnection{},
			Description: orNil(set.Description),
		}
		if who.Admin {
			described.Users, described.Groups = listed(details.Audience.Users), listed(details.Audience.Groups)
		}
		return described
	}), err
}

// mayKnow reports whether somebody may know of a connector.
func mayKnow(who directory.Principal, pair directory.CCPair) bool {
	if who.Admin || pair.Access == directory.AccessPublic {
		return true
	}
	return !who.Anonymous && (pair.Creator == who.Email ||
		slices.ContainsFunc(pair.Groups, func(group string) bool { return slices.Contains(who.Groups, group) }))
}
