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
func searchLibrary(c *call) (answer any) {
	audit := c.startAudit()
	audit.of(func() { answer = c.runSearch(audit) })
	return answer
}

// runSearch returns the answer, which is written when the snapshot is closed and the slot is free: a slow reader blocks
// nothing.
func (c *call) runSearch(audit *audit) any {
	request := must(searchRequest(c.fields))
	audit.request = request
	prepared := c.prepare(request)
	var err error
	prepared.Model, audit.meter, err = c.metered(prepared.Model, request)
	if errors.Is(err, llm.ErrUncounted) {
		prepared.NoModelReason, err = err.Error(), nil
	}
	check(err)
	c.byVector(&prepared, audit.meter)
	visible := c.visibleSets()
	defer must(c.slots.acquireFor(c.ctx, prepared))()
	var response *wire.SearchResponse
	err = c.reading(c.ctx, c.who.Tenant, func(snapshot index.Snapshot) (err error) {
		edge := c.cross(snapshot, &prepared)
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
	check(err)
	if response == nil {
		return written{}
	}
	audit.answered(response)
	visible.narrow(response)
	return response
}

// cross completes a search with what the library that it reads says: the names of its documents, and its sources.
func (c *call) cross(snapshot index.Snapshot, prepared *pipeline.Request) edge {
	edge := c.edge(snapshot)
	prepared.Name = edge.names.Public
	prepared.Search.SimilarTo = edge.stored(prepared.Search.SimilarTo)
	if prepared.Model != nil && !prepared.Search.Instant && len(prepared.Search.Sources) != 1 { // it may choose some
		counts := must(snapshot.Facets(c.ctx, index.Filter{Access: prepared.Access}))
		prepared.Sources = sourcesIn(counts.Values[field.Source])
	}
	return edge
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
	case ctx.Err() == context.Canceled:
		f = canceled(c.Request)
	case !known:
		c.Log.ErrorContext(ctx, "search failed", guard.Attr(err))
	}
	out.send(wire.SearchEvent{Type: wire.EventError, ErrorCode: f.code, Detail: f.detail})
	audit.failed = f.code
	return nil
}

// prepare checks a request against the caller's rights, and adds the agent's scope.
func (c *call) prepare(request wire.SearchRequest) pipeline.Request {
	prepared := pipeline.Request{Search: request, Access: c.who.Access(), Now: c.Now(), FileLinks: !isListener(c.ctx),
		Cache: c.cache, Caller: c.who.Tenant + "/" + chatUser(c.who)}
	if !isListener(c.ctx) && !c.Empty {
		prepared.Profile = c.Profile
	}
	if isTrusted(c.ctx) {
		prepared.Federated = c.Federated
	}
	if prepared.Federated == nil { // the federated servers may know the sets
		c.checkSets(slices.Concat(request.DocumentSets, request.ExcludeFilters.DocumentSets))
	}
	var own [2]string // the agent's provider and model
	if id := request.PersonaID; id != nil && *id != 0 {
		agent := must(c.agent(*id))
		prepared.Agent, own = agentScope(agent), [2]string{agent.Provider, agent.Model}
	}
	prepared.Model = c.model(request, own)
	if request.WithoutModel() {
		if request.Offset != nil && prepared.Model != nil && !request.SkipDocumentSelection {
			abort(invalid(problem{kind: "value_error", where: []any{"body", "offset"},
				text: "Value error, offset needs skip_document_selection where a language model is configured"}))
		}
		prepared.Model = nil
	}
	prepared.Trusted, prepared.Log = isTrusted(c.ctx), c.Log
	asked := func(m wire.Message) bool { return m.Type == "user" }
	if len(request.MessageHistory) > 0 && !request.SkipQueryExpansion &&
		!slices.ContainsFunc(request.MessageHistory, asked) {
		abort(message("No user message found in message history"))
	}
	return prepared
}

// model returns the language model of a search: the one that it names, else the agent's, else the default one; nil if
// none is configured. An agent whose model is no longer configured uses the default one.
func (c *call) model(request wire.SearchRequest, own [2]string) llm.Chat {
	if request.Provider != nil && request.Model != nil {
		model, err := c.Models.Chat(*request.Provider, *request.Model)
		if errors.Is(err, llm.ErrUnknown) || errors.Is(err, llm.ErrNone) {
			err = coded("NOT_FOUND", "LLM provider %s not found", quoted(clip(*request.Provider)))
		}
		return must(model, err)
	}
	model, err := c.Models.Chat(own[0], own[1])
	if errors.Is(err, llm.ErrUnknown) {
		c.Log.WarnContext(c.ctx, "the agent's model is not configured", "provider", own[0], "model", own[1])
		model, err = c.Models.Chat("", "")
	}
	if errors.Is(err, llm.ErrNone) {
		return nil
	}
	return must(model, err)
}

// checkSets refuses sets that the caller may not see, in the same way as sets that do not exist.
func (c *call) checkSets(names []string) {
	if len(names) == 0 {
		return
	}
	sets := must(c.directory.DocumentSets())
	var refused []string
	for _, name := range names {
		if !slices.ContainsFunc(sets, func(set directory.DocumentSet) bool { return set.Name == name }) {
			refused = append(refused, quoted(clip(name)))
		}
	}
	if len(refused) > 0 {
		abort(forbidden("You do not have access to the following document sets: [%s]", strings.Join(refused, ", ")))
	}
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
func (c *call) visibleSets() setFilter {
	if c.who.Admin {
		return nil
	}
	names := setFilter{}
	for _, set := range must(c.directory.DocumentSets()) {
		names[set.Name] = true
	}
	return names
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
	prepared, visible := c.prepare(request), c.visibleSets()
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
		edge := c.edge(snapshot)
		found := must(snapshot.Suggest(c.ctx, prefix, c.who.Access(), limit))
		return wire.Suggestions{Words: listed(found.Words), Titles: mapped(found.Titles,
			func(title index.Title) wire.TitleSuggestion {
				return wire.TitleSuggestion{Title: title.Title, DocumentID: edge.id(title.DocumentID)}
			})}
	})
}
