package client

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"quarry/client/wire"
)

// fuzzClient returns a client of a server that answers each request with a body and a media type.
func fuzzClient(t *testing.T, media string, body []byte) *Client {
	t.Helper()
	return clientFor(t, Options{BaseURL: InProcessURL, Transport: InProcess(answering(http.StatusOK, media, body))})
}

// checkDecoded fails where an answer holds a control character, or an error is not explained.
func checkDecoded(t *testing.T, call string, value any, err error) {
	t.Helper()
	if err != nil {
		if e := asError(t, err); e.Kind == General {
			t.Fatalf("%s: %v", call, err)
		}
		return
	}
	eachText(reflect.ValueOf(value), "", func(path, text string) {
		if hasControl(text) {
			t.Fatalf("%s: %s is %q", call, path, text)
		}
	})
}

// FuzzSearchStream reads hostile streams: events are clean, and an answer is the last event or an error.
func FuzzSearchStream(f *testing.F) {
	final := append([]byte(`{"type":"final","response":`), bytes.ReplaceAll(fixture(f, "onyx/search-hostile.json"), []byte("\n"), nil)...)
	f.Add(append(final, "}\n"...))
	f.Add([]byte("{\"type\":\"stage\",\"name\":\"select\",\"state\":\"start\"}\n{\"type\":\"provisional\",\"response\":{\"results\":[]}}\n" +
		"{\"type\":\"final\",\"response\":{\"results\":[{\"content\":\"a\\u001bb\",\"highlights\":[[0,9]]}],\"stages\":[]}}\n"))
	f.Add([]byte("{\"type\":\"error\",\"error_code\":\"RATE_LIMITED\",\"detail\":\"\\u202e\"}"))
	f.Add([]byte("{\"type\":\"final\",\"Response\":{\"results\":[]}}\n{\"type\":\"final\",\"response\":{\"Results\":[]}}"))
	f.Add([]byte("\n\nnull\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var last *wire.SearchResponse
		got, err := fuzzClient(t, wire.MediaTypeNDJSON, body).SearchStream(t.Context(), searchFor("x"), func(e wire.SearchEvent) {
			checkDecoded(t, "event", e, nil)
			if last != nil {
				t.Fatal("an event follows the final one")
			}
			if e.Type == wire.EventFinal {
				last = e.Response
			}
		})
		checkDecoded(t, "stream", got, err)
		if err == nil && (got == nil || got != last) {
			t.Fatalf("the answer %p is not that of the final event, %p", got, last)
		}
		if err != nil {
			return
		}
		for _, result := range got.Results {
			for _, span := range append(result.Highlights, result.BestPassage) {
				if span[0] < 0 || span[0] > span[1] || span[1] > len(result.Content) {
					t.Fatalf("%v of %d bytes", span, len(result.Content))
				}
			}
		}
	})
}

// FuzzAnswers has every other call read the same body.
func FuzzAnswers(f *testing.F) {
	names, err := filepath.Glob("testdata/*/*json")
	if err != nil || len(names) < 20 {
		f.Fatalf("%d recorded answers: %v", len(names), err)
	}
	for _, name := range names {
		body, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte(`{"documents":[{"ID":1}],"id":"\u001b"}`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, ctx := fuzzClient(t, wire.MediaTypeJSON, body), t.Context()
		for call, do := range map[string]func() (any, error){
			"search":    func() (any, error) { return c.Search(ctx, searchFor("x")) },
			"chunks":    func() (any, error) { return c.Chunks(ctx, "d", 0, 9, "") },
			"size":      func() (any, error) { return c.DocumentSize(ctx, "d") },
			"chunk":     func() (any, error) { return c.ChunkInfo(ctx, "d", 0) },
			"me":        func() (any, error) { return c.Me(ctx) },
			"version":   func() (any, error) { return c.Version(ctx) },
			"auth":      func() (any, error) { return c.AuthType(ctx) },
			"health":    func() (any, error) { return c.Health(ctx) },
			"agents":    func() (any, error) { return c.Personas(ctx) },
			"agent":     func() (any, error) { return c.Persona(ctx, 1) },
			"indexed":   func() (any, error) { return c.IndexedSources(ctx) },
			"status":    func() (any, error) { return c.ConnectorStatus(ctx) },
			"sets":      func() (any, error) { return c.DocumentSets(ctx) },
			"federated": func() (any, error) { return c.Federated(ctx) },
			"tags":      func() (any, error) { return c.ValidTags(ctx, "", 10) },
			"suggest":   func() (any, error) { return c.Suggest(ctx, "x", 10) },
			"facets":    func() (any, error) { return c.Facets(ctx, wire.SearchRequest{}) },
			"features":  func() (any, error) { return c.Features(ctx) },
			"ingest":    func() (any, error) { return c.Ingest(ctx, wire.IngestionRequest{}) },
			"token":     func() (any, error) { return c.AdminAddToken(ctx, wire.AccessTokenRequest{}) },
			"tokens":    func() (any, error) { return c.AdminTokens(ctx) },
			"groups":    func() (any, error) { return c.AdminGroups(ctx) },
			"library":   func() (any, error) { return c.LibraryStatus(ctx) },
			"sessions":  func() (any, error) { return c.ChatSessions(ctx, 0, "") },
			"session":   func() (any, error) { return c.ChatSession(ctx, "s") },
			"rename":    func() (any, error) { return c.RenameChatSession(ctx, "s", "") },
		} {
			got, err := do()
			checkDecoded(t, call, got, err)
		}
	})
}

// FuzzLibraryEvents reads what a change of the library reports.
func FuzzLibraryEvents(f *testing.F) {
	f.Add(fixture(f, "quarry/library-add.ndjson"))
	f.Add([]byte("{\"type\":\"skipped\",\"path\":\"\\u001b\",\"reason\":\"x\"}\n{\"type\":\"done\"}"))
	f.Add([]byte("{\"type\":\"error\",\"error_code\":1}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := fuzzClient(t, wire.MediaTypeNDJSON, body).ChangeLibrary(t.Context(), wire.AddRequest{}, func(e wire.LibraryEvent) {
			checkDecoded(t, "event", e, nil)
		})
		checkDecoded(t, "done", got, err)
	})
}
