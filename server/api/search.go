package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/llm"
	"quarry/server/pipeline"
)

// searchLibrary answers POST /search, at once or as a stream.
func searchLibrary(c *call) (_ any, err error) {
	audit := c.startAudit()
	defer func() { audit.end(err) }()
	request, err := searchRequest(c.fields)
	if err != nil {
		return nil, err
	}
	audit.request = request
	prepared, err := c.prepare(request)
	if err != nil {
		return nil, err
	}
	prepared.Model, audit.meter, err = c.metered(prepared.Model, request)
	if errors.Is(err, llm.ErrUncounted) {
		prepared.NoModelReason, err = err.Error(), nil
	}
	if err != nil {
		return nil, err
	}
	c.byVector(&prepared, audit.meter)
	visible, err := c.visibleSets()
	if err != nil {
		return nil, err
	}
	done, err := c.slots.acquireFor(c.ctx, prepared)
	if err != nil {
		return nil, err
	}
	defer done()
	var response *wire.SearchResponse
	err = c.read(func(snapshot index.Snapshot) (err error) {
		edge, err := c.cross(snapshot, &prepared)
		if err != nil {
			return err
		}
		if request.Stream {
			return c.stream(snapshot, prepared, func(response *wire.SearchResponse) {
				visible.narrow(response)
				edge.narrow(response)
			}, audit)
		}
		if response, err = pipeline.Run(c.ctx, snapshot, prepared, nil); err == nil {
			edge.narrow(response)
		}
		return err
	})
	if request.SimilarTo != "" && errors.Is(err, fault.ErrNotFound) {
		err = detailed(http.StatusNotFound, documentNotFound)
	}
	if err != nil || response == nil {
		return written{}, err
	}
	audit.answered(response)
	visible.narrow(response)
	return response, nil // written when the snapshot is closed and the slot is free: a slow reader blocks nothing
}

// cross completes a search with what the library that it reads says: the names of its documents, and its sources.
func (c *call) cross(snapshot index.Snapshot, prepared *pipeline.Request) (edge, error) {
	edge, err := c.edge(snapshot)
	if err != nil {
		return edge, err
	}
	prepared.Name = edge.names.Public
	similar := &prepared.Search.SimilarTo
	if *similar, err = edge.stored(*similar); err != nil {
		return edge, err
	}
	return edge, findSources(c.ctx, snapshot, prepared)
}

// findSources lists the sources that a model may limit the search to, if the search uses a model.
func findSources(ctx context.Context, snapshot index.Snapshot, prepared *pipeline.Request) error {
	if prepared.Model == nil || prepared.Search.Instant || len(prepared.Search.Sources) == 1 {
		return nil
	}
	counts, err := snapshot.Facets(ctx, index.Filter{Access: prepared.Access})
	if err != nil {
		return err
	}
	prepared.Sources = sourcesIn(counts.Values[field.Source])
	return nil
}

// stream sends the pipeline's events, and at the end exactly one event with the response or the error.
func (c *call) stream(snapshot index.Snapshot, prepared pipeline.Request, narrow func(*wire.SearchResponse),
	audit *audit) error {
	ctx, out := c.ctx, newLines(c.w, wire.MediaTypeNDJSON)
	response, err := pipeline.Run(ctx, snapshot, prepared, func(event wire.SearchEvent) {
		if event.Type == wire.EventFinal || event.Type == wire.EventError {
			return
		}
		if event.Response != nil {
			narrow(event.Response)
		}
		out.send(event)
	})
	switch {
	case err == nil:
		audit.answered(response)
		narrow(response)
		out.send(wire.SearchEvent{Type: wire.EventFinal, Response: response})
		return nil
	case !out.begun():
		return err
	}
	f, known := explain(err, isTrusted(ctx))
	switch {
	case ctx.Err() == context.Canceled: // the server stops, or the caller disconnected
		f = canceled()
	case !known:
		c.Log.ErrorContext(ctx, "search failed", guard.Attr(err))
	}
	out.send(wire.SearchEvent{Type: wire.EventError, ErrorCode: f.code, Detail: f.detail})
	audit.failed = f.code
	return nil
}

// prepare checks a request against the caller's rights, and adds the agent's scope.
func (c *call) prepare(request wire.SearchRequest) (pipeline.Request, error) {
	prepared := pipeline.Request{Search: request, Access: c.who.Access(), Now: c.Now(), FileLinks: !isListener(c.ctx),
		Cache: c.cache, Caller: c.who.Tenant + "/" + chatUser(c.who)}
	if !isListener(c.ctx) && !c.Empty {
		prepared.Profile = c.Profile
	}
	if isTrusted(c.ctx) {
		prepared.Federated = c.Federated
	}
	if prepared.Federated == nil { // the federated servers may know the sets
		if err := c.checkSets(slices.Concat(request.DocumentSets, request.ExcludeFilters.DocumentSets)); err != nil {
			return prepared, err
		}
	}
	var own [2]string // the agent's provider and model
	if id := request.PersonaID; id != nil && *id != 0 {
		agent, err := c.agent(*id)
		if err != nil {
			return prepared, err
		}
		prepared.Agent, own = agentScope(agent), [2]string{agent.Provider, agent.Model}
	}
	var err error
	if prepared.Model, err = c.model(request, own); err != nil {
		return prepared, err
	}
	if request.WithoutModel() {
		if request.Offset != nil && prepared.Model != nil && !request.SkipDocumentSelection {
			return prepared, invalid(problem{kind: "value_error", where: []any{"body", "offset"},
				text: "Value error, offset needs skip_document_selection where a language model is configured"})
		}
		prepared.Model = nil
	}
	prepared.Trusted, prepared.Log = isTrusted(c.ctx), c.Log
	asked := func(m wire.Message) bool { return m.Type == "user" }
	if len(request.MessageHistory) > 0 && !request.SkipQueryExpansion &&
		!slices.ContainsFunc(request.MessageHistory, asked) {
		return prepared, message("No user message found in message history")
	}
	return prepared, nil
}

// model returns the language model of a search: the one that it names, else the agent's, else the default one; nil if
// none is configured. An agent whose model is no longer configured uses the default one.
func (c *call) model(request wire.SearchRequest, own [2]string) (llm.Chat, error) {
	if request.Provider != nil && request.Model != nil {
		model, err := c.Models.Chat(*request.Provider, *request.Model)
		if errors.Is(err, llm.ErrUnknown) || errors.Is(err, llm.ErrNone) {
			err = coded("NOT_FOUND", "LLM provider %s not found", quoted(clip(*request.Provider)))
		}
		return model, err
	}
	model, err := c.Models.Chat(own[0], own[1])
	if errors.Is(err, llm.ErrUnknown) {
		c.Log.WarnContext(c.ctx, "the agent's model is not configured", "provider", own[0], "model", own[1])
		model, err = c.Models.Chat("", "")
	}
	if errors.Is(err, llm.ErrNone) {
		return nil, nil
	}
	return model, err
}

// checkSets returns an error for sets that the caller may not see, which is the same for sets that do not exist.
func (c *call) checkSets(names []string) error {
	if len(names) == 0 {
		return nil
	}
	sets, err := c.directory.DocumentSets()
	if err != nil {
		return err
	}
	var refused []string
	for _, name := range names {
		if !slices.ContainsFunc(sets, func(set directory.DocumentSet) bool { return set.Name == name }) {
			refused = append(refused, quoted(clip(name)))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return forbidden("You do not have access to the following document sets: [%s]", strings.Join(refused, ", "))
}

// agentScope returns the restrictions of an agent.
func agentScope(agent directory.Agent) *pipeline.Agent {
	scope := &pipeline.Agent{ID: agent.ID, Name: agent.Name, Documents: agent.Documents, Since: agent.SearchStart,
		DocumentSets: mapped(agent.DocumentSets, setName)}
	if len(agent.Files) > 0 && len(scope.DocumentSets)+len(scope.Documents) == 0 {
		scope.Documents = []string{""} // no document: it stays within its files
	}
	return scope
}

// agent returns an agent that the caller may use, or the API's error.
func (c *call) agent(id int) (directory.Agent, error) {
	agent, err := c.directory.Agent(id)
	if errors.Is(err, directory.ErrNotFound) {
		err = coded("PERSONA_NOT_FOUND", "Persona with id %d not found", id)
	}
	return agent, err
}

// setFilter has the names of the document sets that a caller may know; nil allows all.
type setFilter map[string]bool

// visibleSets returns the sets that may appear in counts. Administrators may see every set, so the directory is not
// opened for them.
func (c *call) visibleSets() (setFilter, error) {
	if c.who.Admin {
		return nil, nil
	}
	sets, err := c.directory.DocumentSets()
	if err != nil {
		return nil, err
	}
	names := setFilter{}
	for _, set := range sets {
		names[set.Name] = true
	}
	return names, nil
}

// narrow removes from a response what the caller may not know. Over a listener it removes the profile, whose name only
// the client knows.
func (v setFilter) narrow(response *wire.SearchResponse) {
	response.Searched = slices.DeleteFunc(response.Searched, func(profile string) bool { return profile == "" })
	v.narrowFacets(&response.Facets)
	if v == nil {
		return
	}
	response.AppliedFilters = slices.DeleteFunc(listed(response.AppliedFilters), func(f wire.AppliedFilter) bool {
		// An agent may search in a set that its users may not know.
		return f.Field == field.Of(field.Set).Key && !v[f.Value]
	})
}

// narrowFacets removes the sets that the caller may not know.
func (v setFilter) narrowFacets(facets *wire.Facets) {
	if v == nil {
		return
	}
	facets.DocumentSets = slices.DeleteFunc(listed(facets.DocumentSets), func(f wire.FacetValue) bool {
		return !v[f.Value]
	})
}

// facets answers GET /search/facets: counts of all documents that pass the filters.
func facets(c *call) any {
	request := must(decodeFilters(c.values))
	prepared, visible := must(c.prepare(request)), must(c.visibleSets())
	return c.view(func(snapshot index.Snapshot) any {
		counts := must(pipeline.Facets(c.ctx, snapshot, prepared))
		facets := pipeline.WireFacets(counts, request.FacetPlace)
		visible.narrowFacets(&facets)
		return wire.FacetCounts{Facets: facets, TotalMatches: counts.Documents}
	})
}

// suggest answers GET /search/suggest with completions from what the caller may see.
func suggest(c *call) any {
	const usual = 10
	prefix, limit := c.requireText("prefix", 0, wire.MaxQueryRunes), c.wholeOr("limit", usual, 1, wire.MaxSuggestions)
	return c.view(func(snapshot index.Snapshot) any {
		edge := must(c.edge(snapshot))
		found := must(snapshot.Suggest(c.ctx, prefix, c.who.Access(), limit))
		return wire.Suggestions{Words: listed(found.Words), Titles: mapped(found.Titles,
			func(title index.Title) wire.TitleSuggestion {
				return wire.TitleSuggestion{Title: title.Title, DocumentID: edge.id(title.DocumentID)}
			})}
	})
}
