// Package contracttest holds any server of the search API to what the client and its callers rely on. The suite asserts
// shapes and invariants; Expectations says what a particular server knows.
package contracttest

import (
	"context"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
)

// Expectations name what the server under test knows. Parts that are left out are not tested.
type Expectations struct {
	// Query finds at least one result.
	Query string
	// NoMatch finds nothing.
	NoMatch string
	// Source is the type of a source that Query finds something in, and that the server lists.
	Source string
	// PersonaID is an agent that is listed and can be asked; nil tests none.
	PersonaID *int
	// DocumentSet is listed and can be searched.
	DocumentSet string
	// Tag is the beginning of a key or value of a tag.
	Tag string
	// Document is the id of a document with at least one chunk.
	Document string
	// Additions is set if the server has quarry's additional fields and routes.
	Additions bool
	// Refused makes a client whose token the server does not know.
	Refused func(t *testing.T) *client.Client
	// Ingestion is a document that may be put into the server, and IngestionQuery finds it afterwards.
	Ingestion      *wire.IngestionRequest
	IngestionQuery string
	// Tokens is set if the client may make and revoke access tokens.
	Tokens bool
	// Question is answered by the server's model, with citations; empty tests no questions.
	Question string
	// Failing is a question whose answer fails when its stream has begun, FailingAs the kind of that failure.
	Failing   string
	FailingAs client.Kind
	// Unanswered is a question that is refused because there is no model for it.
	Unanswered string
	// LibraryPath is a file or folder that may be added to the library and removed again; LibraryQuery finds it.
	LibraryPath, LibraryQuery string
}

// Run runs the suite. newClient makes a client for the server under test, with a Profile.
func Run(t *testing.T, newClient func(t *testing.T) *client.Client, want Expectations) {
	t.Helper()
	s := suite{newClient: newClient, want: want}
	t.Run("identity", s.identity)
	t.Run("search", s.search)
	t.Run("search finds nothing", s.searchNothing)
	t.Run("search narrowed", s.searchNarrowed)
	t.Run("search refused", s.searchRefused)
	t.Run("search raw", s.searchRaw)
	t.Run("search streamed", s.searchStreamed)
	t.Run("search at once", s.searchAtOnce)
	t.Run("canceled", s.canceled)
	t.Run("listings", s.listings)
	t.Run("documents", s.documents)
	t.Run("additions", s.additions)
	t.Run("token refused", s.tokenRefused)
	t.Run("ingestion", s.ingestion)
	t.Run("tokens", s.tokens)
	t.Run("library", s.library)
	t.Run("administration", s.administration)
	RunChat(t, newClient, want)
}

type suite struct {
	newClient func(t *testing.T) *client.Client
	want      Expectations
}

func must[T any](t *testing.T) func(value T, err error) T {
	t.Helper()
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// refused checks that a call failed in the expected way, with words for the person.
func refused(t *testing.T, what string, err error, kind client.Kind) {
	t.Helper()
	if client.KindOf(err) != kind || err == nil {
		t.Errorf("%s: kind %s, want %s: %v", what, client.KindOf(err), kind, err)
	}
}

func (s suite) identity(t *testing.T) {
	c := s.newClient(t)
	if c.Profile() == "" {
		t.Fatal("the client has no profile")
	}
	if err := c.Root(t.Context()); err != nil {
		t.Errorf("root: %v", err)
	}
	if version := must[*wire.Version](t)(c.Version(t.Context())); version.BackendVersion == "" {
		t.Error("no backend version")
	}
	if health := must[*wire.Status](t)(c.Health(t.Context())); !health.Success {
		t.Errorf("health: %+v", health)
	}
	me := must[*wire.Me](t)(c.Me(t.Context()))
	if me.ID == "" || me.Email == "" && !c.Local() || me.IsAnonymousUser {
		t.Errorf("me: %+v", me)
	}
	if kind := must[*wire.AuthType](t)(c.AuthType(t.Context())); kind.AuthType == "" {
		t.Error("no auth type")
	}
	features := must[client.Features](t)(c.Features(t.Context()))
	for _, name := range []string{wire.FeatureStream, wire.FeatureFacets, wire.FeatureChunks, wire.FeatureNumResults} {
		if features.Has(name) != s.want.Additions {
			t.Errorf("feature %s: %v", name, features.Has(name))
		}
	}
}

func (s suite) request() wire.SearchRequest { return wire.SearchRequest{Query: s.want.Query} }

func (s suite) search(t *testing.T) {
	c := s.newClient(t)
	response := must[*wire.SearchResponse](t)(c.Search(t.Context(), s.request()))
	if len(response.Results) == 0 {
		t.Fatalf("%q finds nothing", s.want.Query)
	}
	s.checkResponse(t, c, response)
}

func (s suite) searchNothing(t *testing.T) {
	if s.want.NoMatch == "" {
		t.Skip("no query that finds nothing is given")
	}
	c := s.newClient(t)
	response := must[*wire.SearchResponse](t)(c.Search(t.Context(), wire.SearchRequest{Query: s.want.NoMatch}))
	if len(response.Results) != 0 {
		t.Errorf("%q finds %d results", s.want.NoMatch, len(response.Results))
	}
	s.checkResponse(t, c, response)
}

func (s suite) searchRaw(t *testing.T) {
	c := s.newClient(t)
	raw, response, err := c.SearchRaw(t.Context(), s.request())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"results":[`) || len(response.Results) == 0 {
		t.Errorf("raw: %.200s", raw)
	}
	s.checkResponse(t, c, response)
}

func (s suite) searchStreamed(t *testing.T) {
	c := s.newClient(t)
	var types []string
	stages := 0
	response, err := c.SearchStream(t.Context(), s.request(), func(event wire.SearchEvent) {
		types = append(types, event.Type)
		if event.Response != nil {
			s.checkResponse(t, c, event.Response)
		}
		if event.Type == wire.EventStage {
			stages++
			if event.Name == "" || event.State != "start" && event.State != "end" {
				t.Errorf("stage event %+v", event)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(types) == 0 || types[len(types)-1] != wire.EventFinal || strings.Count(strings.Join(types, " "), "final") != 1 {
		t.Errorf("events %q", types)
	}
	if s.want.Additions && stages == 0 {
		t.Error("no stage is reported")
	}
	whole := must[*wire.SearchResponse](t)(c.Search(t.Context(), s.request()))
	if got, want := outline(response), outline(whole); got != want {
		t.Errorf("streamed %s, whole %s", got, want)
	}
}

// outline is what two answers to one question must agree in.
func outline(response *wire.SearchResponse) string {
	var b strings.Builder
	for _, result := range response.Results {
		b.WriteString(result.Title + "|" + result.Ref + "|" + result.Content + "\n")
	}
	return b.String()
}

func (s suite) searchAtOnce(t *testing.T) {
	c := s.newClient(t)
	const callers = 8
	outlines := make(chan string, callers)
	for range callers {
		go func() {
			response, err := c.Search(t.Context(), s.request())
			if err != nil {
				outlines <- err.Error()
				return
			}
			outlines <- outline(response)
		}()
	}
	first := <-outlines
	for range callers - 1 {
		if other := <-outlines; other != first {
			t.Errorf("answers differ: %s and %s", first, other)
		}
	}
}

func (s suite) canceled(t *testing.T) {
	c := s.newClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Search(ctx, s.request())
	refused(t, "search", err, client.Canceled)
	_, err = c.SearchStream(ctx, s.request(), nil)
	refused(t, "stream", err, client.Canceled)
	_, err = c.Me(ctx)
	refused(t, "me", err, client.Canceled)
}

func (s suite) tokenRefused(t *testing.T) {
	if s.want.Refused == nil {
		t.Skip("no client with a wrong token is given")
	}
	c := s.want.Refused(t)
	_, err := c.Search(t.Context(), s.request())
	refused(t, "search", err, client.Auth)
	_, err = c.SearchStream(t.Context(), s.request(), nil)
	refused(t, "stream", err, client.Auth)
	_, err = c.Search(t.Context(), wire.SearchRequest{})
	refused(t, "a bad search", err, client.Auth)
	_, err = c.Me(t.Context())
	refused(t, "me", err, client.Auth)
	if _, err := c.Version(t.Context()); err != nil {
		t.Errorf("the version needs no token: %v", err)
	}
}
