package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"quarry/client/wire"
	"quarry/server/directory"
)

// personas answers GET /persona.
func (s *Server) personas(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := queryFields(r.URL.Query(), "persona_ids")
	f.boolean("include_deleted", false) // none is kept
	var wanted []int
	for i, raw := range f.list("persona_ids") {
		id, err := strconv.Atoi(f.text(raw, 1, 20, "persona_ids", i))
		if err != nil {
			f.refuse(raw, "int_parsing", "Input should be a valid integer", "persona_ids", i)
		}
		wanted = append(wanted, id)
	}
	if err := f.failure(); err != nil {
		return err
	}
	agents, err := s.agents(r.Context(), who)
	if err != nil {
		return err
	}
	if wanted != nil {
		agents = slices.DeleteFunc(agents, func(a directory.Agent) bool { return !slices.Contains(wanted, a.ID) })
	}
	described, err := s.describeAgents(r.Context(), who, agents)
	if err != nil {
		return err
	}
	return answer(w, described)
}

// agentPage answers GET /agents: the same, by pages.
func (s *Server) agentPage(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	const usual, most, lastPage = 10, 1000, 1 << 30
	f := queryFields(r.URL.Query())
	number, size := f.wholeOr("page_num", 0, 0, lastPage), f.wholeOr("page_size", usual, 1, most)
	if err := f.failure(); err != nil {
		return err
	}
	agents, err := s.agents(r.Context(), who)
	if err != nil {
		return err
	}
	start := min(number*size, len(agents))
	described, err := s.describeAgents(r.Context(), who, agents[start:min(start+size, len(agents))])
	if err != nil {
		return err
	}
	return answer(w, wire.PersonaPage{Items: described, TotalItems: len(agents)})
}

// persona answers GET /persona/{id}.
func (s *Server) persona(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	id, err := pathNumber(r, "id", "persona_id")
	if err != nil {
		return err
	}
	agent, err := s.agent(r.Context(), who, id)
	if err != nil {
		return err
	}
	described, err := s.describeFully(r.Context(), who, agent)
	if err != nil {
		return err
	}
	return answer(w, described)
}

func (s *Server) agents(ctx context.Context, who directory.Principal) ([]directory.Agent, error) {
	d, err := s.Directory(ctx, false)
	if err != nil {
		return nil, err
	}
	return d.Agents(ctx, who)
}

// describeAgents tells of agents what the caller may know of them.
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
	described := []wire.Persona{}
	for _, a := range agents {
		sets := []wire.DocumentSet{}
		for _, set := range visible.of(a.DocumentSets) {
			sets = append(sets, byID[set.ID])
		}
		p := wire.Persona{
			ID: a.ID, Name: a.Name, Description: a.Description, Tools: []any{}, StarterMessages: a.StarterMessages,
			DocumentSets: sets, AttachedDocumentCount: scopes[a.ID].attached,
			KnowledgeSources: append([]string{}, scopes[a.ID].sources...),
			IsPublic:         a.Public, IsListed: a.Listed, BuiltinPersona: a.Builtin, Labels: []wire.Label{},
			Permissions: map[string]any{},
		}
		if len(p.StarterMessages) == 0 {
			p.StarterMessages = nil
		}
		permission := "VIEWER"
		if a.OwnerID != "" {
			p.Owner = &wire.Owner{ID: a.OwnerID}
			if a.OwnerID == who.UserID || who.Admin {
				p.Owner.Email = &a.OwnerEmail
			}
		}
		switch {
		case a.OwnerID != "" && a.OwnerID == who.UserID:
			permission = "OWNER"
		case who.Admin && !a.Builtin:
			permission = "EDITOR"
		}
		p.UserPermission = &permission
		described = append(described, p)
	}
	return described, nil
}

// setsOfAgents describes the document sets of agents, each of them once, by id.
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
