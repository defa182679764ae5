package contracttest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client"
	"quarry/client/wire"
)

func (s suite) searchNarrowed(t *testing.T) {
	c := s.newClient(t)
	search := func(change func(*wire.SearchRequest)) []wire.SearchResult {
		t.Helper()
		request := s.request()
		change(&request)
		response := must[*wire.SearchResponse](t)(c.Search(t.Context(), request))
		s.checkResponse(t, c, response)
		return response.Results
	}
	one, tooMany := 1, wire.MaxNumResults
	if got := search(func(r *wire.SearchRequest) { r.NumResults = &one }); len(got) != 1 {
		t.Errorf("%d results for num_results 1", len(got))
	}
	if got := search(func(r *wire.SearchRequest) { r.NumResults = &tooMany }); len(got) > tooMany {
		t.Errorf("%d results for num_results %d", len(got), tooMany)
	}
	if s.want.Source != "" {
		got := search(func(r *wire.SearchRequest) { r.Sources = []string{s.want.Source} })
		for _, result := range got {
			if result.SourceType != s.want.Source {
				t.Errorf("source %q in a search of %q", result.SourceType, s.want.Source)
			}
		}
		if len(got) == 0 {
			t.Errorf("nothing is found in %q", s.want.Source)
		}
	}
	past := &wire.Time{Time: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got := search(func(r *wire.SearchRequest) { r.TimeUntil = past }); len(got) > 0 {
		t.Errorf("%d results until 1980", len(got))
	}
	if s.want.PersonaID != nil {
		search(func(r *wire.SearchRequest) { r.PersonaID = s.want.PersonaID })
	}
	if s.want.DocumentSet != "" {
		search(func(r *wire.SearchRequest) { r.DocumentSets = []string{s.want.DocumentSet} })
	}
	search(func(r *wire.SearchRequest) { r.SkipQueryExpansion, r.SkipDocumentSelection = true, true })
}

func (s suite) searchRefused(t *testing.T) {
	c := s.newClient(t)
	nobody := 1 << 30
	model := "nobody's"
	for what, test := range map[string]struct {
		request wire.SearchRequest
		kind    client.Kind
	}{
		"no query":               {wire.SearchRequest{}, client.BadRequest},
		"a query that is long":   {wire.SearchRequest{Query: strings.Repeat("ä", wire.MaxQueryRunes+1)}, client.BadRequest},
		"an unknown source":      {wire.SearchRequest{Query: "x", Filters: wire.Filters{Sources: []string{"slak"}}}, client.BadRequest},
		"an unknown agent":       {wire.SearchRequest{Query: "x", PersonaID: &nobody}, client.NotAvailable},
		"an unknown set":         {wire.SearchRequest{Query: "x", Filters: wire.Filters{DocumentSets: []string{"nobody's set"}}}, client.Auth},
		"a model but no company": {wire.SearchRequest{Query: "x", Model: &model}, client.BadRequest},
	} {
		_, err := c.Search(t.Context(), test.request)
		refused(t, what, err, test.kind)
		_, err = c.SearchStream(t.Context(), test.request, nil)
		refused(t, what+", streamed", err, test.kind)
	}
	longest := wire.SearchRequest{Query: strings.Repeat("ä", wire.MaxQueryRunes)}
	if _, err := c.Search(t.Context(), longest); err != nil {
		t.Errorf("the longest query: %v", err)
	}
}

func (s suite) listings(t *testing.T) {
	c := s.newClient(t)
	sources := must[[]string](t)(c.IndexedSources(t.Context()))
	if !slices.IsSorted(sources) || s.want.Source != "" && !slices.Contains(sources, s.want.Source) {
		t.Errorf("sources %q", sources)
	}
	for _, connector := range must[[]wire.ConnectorStatus](t)(c.ConnectorStatus(t.Context())) {
		if connector.Source == "" || connector.Status == "" {
			t.Errorf("connector %+v", connector)
		}
	}
	found := s.want.DocumentSet == ""
	for _, set := range must[[]wire.DocumentSet](t)(c.DocumentSets(t.Context())) {
		found = found || set.Name == s.want.DocumentSet
	}
	if !found {
		t.Errorf("the document set %q is not listed", s.want.DocumentSet)
	}
	must[[]wire.FederatedConnection](t)(c.Federated(t.Context()))
	if s.want.Tag != "" {
		tags := must[[]wire.SourceTag](t)(c.ValidTags(t.Context(), s.want.Tag, 50))
		if len(tags) == 0 {
			t.Errorf("no tag begins with %q", s.want.Tag)
		}
		exact := must[[]wire.SourceTag](t)(c.ValidTags(t.Context(), tags[0].Key+"="+tags[0].Value, 50))
		if len(exact) == 0 {
			t.Errorf("the tag %+v is not found by itself", tags[0])
		}
	}
	s.personas(t, c)
}

func (s suite) personas(t *testing.T, c *client.Client) {
	t.Helper()
	personas := must[[]wire.Persona](t)(c.Personas(t.Context()))
	for _, persona := range personas {
		if persona.Name == "" {
			t.Errorf("agent %+v", persona)
		}
	}
	if id := s.want.PersonaID; id != nil {
		if !slices.ContainsFunc(personas, func(p wire.Persona) bool { return p.ID == *id }) {
			t.Errorf("the agent %d is not listed", *id)
		}
		if one := must[*wire.FullPersona](t)(c.Persona(t.Context(), *id)); one.ID != *id || one.Name == "" {
			t.Errorf("agent %+v", one)
		}
	}
	_, err := c.Persona(t.Context(), 1<<30)
	refused(t, "an unknown agent", err, client.NotAvailable)
}

func (s suite) documents(t *testing.T) {
	c := s.newClient(t)
	_, err := c.DocumentSize(t.Context(), "nobody's document")
	refused(t, "the size of an unknown document", err, client.NotAvailable)
	_, err = c.Chunks(t.Context(), "nobody's document", 0, -1, "")
	refused(t, "chunks of an unknown document", err, client.NotAvailable)
	if s.want.Document == "" {
		t.Skip("no document is given")
	}
	size := must[*wire.DocumentSize](t)(c.DocumentSize(t.Context(), s.want.Document))
	if size.NumChunks < 1 || size.NumTokens < 1 {
		t.Fatalf("size %+v", size)
	}
	_, err = c.ChunkInfo(t.Context(), s.want.Document, size.NumChunks)
	refused(t, "a chunk after the last", err, client.NotAvailable)

	whole := must[*wire.DocumentChunks](t)(c.Chunks(t.Context(), s.want.Document, 0, -1, ""))
	if whole.Document.ID != s.want.Document || whole.Document.ChunkCount != size.NumChunks ||
		len(whole.Chunks) != min(size.NumChunks, wire.MaxChunksPerRequest) {
		t.Errorf("%d chunks of %+v, size %+v", len(whole.Chunks), whole.Document, size)
	}
	for i, chunk := range whole.Chunks {
		info := must[*wire.ChunkInfo](t)(c.ChunkInfo(t.Context(), s.want.Document, i))
		if chunk.ChunkInd != i || chunk.Content != info.Content || !clean(chunk.Content) {
			t.Errorf("chunk %d is %+v, alone %+v", i, chunk, info)
		}
	}
	last := size.NumChunks - 1
	tail := must[*wire.DocumentChunks](t)(c.Chunks(t.Context(), s.want.Document, last, last+5, ""))
	if len(tail.Chunks) != 1 || tail.Chunks[0].ChunkInd != last {
		t.Errorf("the last chunk is %+v", tail.Chunks)
	}
}

func (s suite) additions(t *testing.T) {
	c := s.newClient(t)
	if !s.want.Additions {
		_, err := c.Suggest(t.Context(), "r", 5)
		refused(t, "suggest", err, client.NotAvailable)
		_, err = c.Facets(t.Context(), wire.SearchRequest{})
		refused(t, "facets", err, client.NotAvailable)
		return
	}
	word, _, _ := strings.Cut(s.want.Query, " ")
	first := string([]rune(word)[:1])
	suggestions := must[*wire.Suggestions](t)(c.Suggest(t.Context(), first, 5))
	if len(suggestions.Words) > 5 || len(suggestions.Titles) > 5 {
		t.Errorf("more than 5: %+v", suggestions)
	}
	for _, title := range suggestions.Titles {
		if title.Title == "" || title.DocumentID == "" {
			t.Errorf("suggestion %+v", title)
		}
	}
	counts := must[*wire.FacetCounts](t)(c.Facets(t.Context(), wire.SearchRequest{}))
	if counts.TotalMatches < 1 || len(counts.Facets.Sources) == 0 {
		t.Errorf("facets of everything: %+v", counts)
	}
	checkFacets(t, counts.Facets)
	if s.want.Source != "" {
		narrowed := must[*wire.FacetCounts](t)(c.Facets(t.Context(), wire.SearchRequest{Filters: wire.Filters{Sources: []string{s.want.Source}}}))
		if narrowed.TotalMatches < 1 || narrowed.TotalMatches > counts.TotalMatches {
			t.Errorf("%d of %d documents are of %q", narrowed.TotalMatches, counts.TotalMatches, s.want.Source)
		}
	}
	instant := s.request()
	instant.Instant = true
	if got := must[*wire.SearchResponse](t)(c.Search(t.Context(), instant)); len(got.Results) == 0 {
		t.Error("an instant search finds nothing")
	}
}

func (s suite) ingestion(t *testing.T) {
	if s.want.Ingestion == nil {
		t.Skip("no document to ingest is given")
	}
	c := s.newClient(t)
	first := must[*wire.IngestionResponse](t)(c.Ingest(t.Context(), *s.want.Ingestion))
	again := must[*wire.IngestionResponse](t)(c.Ingest(t.Context(), *s.want.Ingestion))
	if first.DocumentID == "" || again.DocumentID != first.DocumentID || !again.AlreadyExisted {
		t.Errorf("first %+v, again %+v", first, again)
	}
	s.finds(t, c, s.want.IngestionQuery, true)
}

// finds checks whether a query finds anything.
func (s suite) finds(t *testing.T, c *client.Client, query string, want bool) {
	t.Helper()
	if query == "" {
		return
	}
	response := must[*wire.SearchResponse](t)(c.Search(t.Context(), wire.SearchRequest{Query: query}))
	if (len(response.Results) > 0) != want {
		t.Errorf("%q finds %d results", query, len(response.Results))
	}
}

func (s suite) tokens(t *testing.T) {
	if !s.want.Tokens {
		t.Skip("the client may not make tokens")
	}
	c := s.newClient(t)
	made := must[*wire.Added[wire.NewAccessToken]](t)(c.AdminAddToken(t.Context(), wire.AccessTokenRequest{Name: "contract"})).Item
	if made.Token == "" || made.Name == "" || made.ID == 0 {
		t.Errorf("token %+v", made.AccessToken)
	}
	for _, token := range must[[]wire.DirectoryToken](t)(c.AdminTokens(t.Context())) {
		if strings.Contains(token.TokenDisplay, made.Token) || token.TokenDisplay == "" {
			t.Errorf("token %+v", token)
		}
	}
	if err := c.AdminRemoveToken(t.Context(), made.ID); err != nil {
		t.Error(err)
	}
	refused(t, "an unknown token", c.AdminRemoveToken(t.Context(), 1<<30), client.NotAvailable)
}

func (s suite) library(t *testing.T) {
	c := s.newClient(t)
	if s.want.LibraryPath == "" && c.Local() {
		t.Skip("no path to add is given")
	}
	if s.want.LibraryPath == "" {
		_, err := c.LibraryStatus(t.Context())
		refused(t, "the status of a foreign library", err, client.NotAvailable)
		return
	}
	added, err := c.ChangeLibrary(t.Context(), wire.AddRequest{Paths: []string{s.want.LibraryPath}}, s.checkEvent(t))
	if err != nil || added.Added+added.Updated+added.Unchanged == 0 {
		t.Fatalf("added %+v, %v", added, err)
	}
	status := must[*wire.LibraryStatus](t)(c.LibraryStatus(t.Context()))
	if status.Documents == 0 || status.Chunks == 0 || len(status.Roots) == 0 || status.Version == "" {
		t.Errorf("status %+v", status)
	}
	s.finds(t, c, s.want.LibraryQuery, true)
	if _, err := c.ChangeLibrary(t.Context(), wire.SyncRequest{}, s.checkEvent(t)); err != nil {
		t.Error(err)
	}
	removed, err := c.ChangeLibrary(t.Context(), wire.RemoveRequest{Refs: []string{s.want.LibraryPath}}, s.checkEvent(t))
	if err != nil || removed.Removed == 0 {
		t.Errorf("removed %+v, %v", removed, err)
	}
}

// administration holds what is administered by names: all of it in process, and what no server's API offers is refused
// before anything is sent.
func (s suite) administration(t *testing.T) {
	c := s.newClient(t)
	if !c.Local() {
		_, err := c.AdminUsers(t.Context())
		for what, err := range map[string]error{
			"listing users":        err,
			"removing a connector": c.AdminRemoveConnector(t.Context(), "x"), "deactivating": c.AdminSetUserActive(t.Context(), "x@y", false),
		} {
			refused(t, what, err, client.BadRequest)
			if !errors.Is(err, client.ErrNotOffered) {
				t.Errorf("%s: %v", what, err)
			}
		}
		return
	}
	if s.want.LibraryPath == "" {
		t.Skip("no library to change is given")
	}
	const email = "contract@acme.example"
	user := must[*wire.Added[wire.DirectoryUser]](t)(c.AdminAddUser(t.Context(), email, ""))
	if !user.IsNew || user.Item.Email != email || user.Item.Role != "basic" {
		t.Errorf("added %+v", user)
	}
	group := wire.DirectoryGroup{Name: "Contract", Users: []string{email}, Connectors: []string{}}
	added := must[*wire.Added[wire.DirectoryGroup]](t)(c.AdminAddGroup(t.Context(), group))
	if !added.IsNew || added.NewUsers == nil || len(added.NewUsers) > 0 {
		t.Errorf("added %+v", added)
	}
	groups := must[[]wire.DirectoryGroup](t)(c.AdminGroups(t.Context()))
	if !slices.ContainsFunc(groups, func(g wire.DirectoryGroup) bool { return g.Name == "Contract" && slices.Contains(g.Users, email) }) {
		t.Errorf("groups %+v", groups)
	}
	if err := errors.Join(c.AdminRemoveGroup(t.Context(), wire.DirectoryGroup{Name: "Contract"}), c.AdminRemoveUser(t.Context(), email)); err != nil {
		t.Error(err)
	}
	refused(t, "removing nobody", c.AdminRemoveUser(t.Context(), email), client.NotAvailable)
	_, err := c.AdminRemoveTenant(t.Context(), "default", true)
	refused(t, "removing the tenant that stays", err, client.BadRequest)
}

func (s suite) checkEvent(t *testing.T) func(wire.LibraryEvent) {
	return func(event wire.LibraryEvent) {
		if event.Type == wire.LibrarySkipped && (event.Path == "" || event.Reason == "") {
			t.Errorf("event %+v", event)
		}
		if event.Type == wire.LibraryProgress && event.Total > 0 && event.Done > event.Total {
			t.Errorf("event %+v", event)
		}
	}
}
