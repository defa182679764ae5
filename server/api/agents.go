package api

import (
	"context"
	"slices"
	"strconv"

	"quarry/client/wire"
	"quarry/server/directory"
)

// personas answers GET /persona.
func (s *Server) personas(c *call) (any, error) {
	c.boolean("include_deleted", false) // deleted agents are not kept
	var wanted []int
	for i, raw := range c.list("persona_ids") {
		id, err := strconv.Atoi(c.text(raw, 1, 20, "persona_ids", i))
		if err != nil {
			c.refuse(raw, "int_parsing", notAnInteger, "persona_ids", i)
		}
		wanted = append(wanted, id)
	}
	agents, err := c.agents()
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
	agents, err := c.agents()
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

func (c *call) agents() ([]directory.Agent, error) {
	d, err := c.directory(false)
	if err != nil {
		return nil, err
	}
	return d.Agents(c.Context(), c.who)
}

// describeAgents returns what the caller may know of agents.
func (s *Server) describeAgents(ctx context.Context, who directory.Principal, agents []directory.Agent) (
	[]wire.Persona, error) {
	visible, err := s.visibleSets(ctx, who)
	if err != nil {
		return nil, err
	}
	byID, err := s.setsOfAgents(ctx, who, visible, agents)
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
			DocumentSets: mapped(visible.of(a.DocumentSets), func(set directory.DocumentSet) wire.DocumentSet {
				return byID[set.ID]
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

// setsOfAgents describes the document sets of agents, by id.
func (s *Server) setsOfAgents(ctx context.Context, who directory.Principal, visible setFilter, agents []directory.Agent) (
	map[int]wire.DocumentSet, error) {
	byID := map[int]wire.DocumentSet{}
	var sets []directory.DocumentSet
	for _, a := range agents {
		for _, set := range visible.of(a.DocumentSets) {
			if _, known := byID[set.ID]; !known {
				byID[set.ID] = wire.DocumentSet{}
				sets = append(sets, set)
			}
		}
	}
	described, err := s.describeSets(ctx, who, sets)
	for _, set := range described {
		byID[set.ID] = set
	}
	return byID, err
}
