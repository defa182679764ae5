package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quarry/client/wire"
)

// routes answers by method and path; what is not there is an unknown route of Onyx.
type routes map[string]string

func (r routes) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, ok := r[request.Method+" "+strings.TrimPrefix(request.URL.Path, "/api")]
	if !ok {
		answering(http.StatusNotFound, "application/json", []byte(`{"detail":"Not Found"}`))(w, request)
		return
	}
	answering(http.StatusOK, "application/json", []byte(body))(w, request)
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	var broken atomic.Bool
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if broken.Load() {
			answering(http.StatusBadGateway, "application/json", nil)(w, r)
			return
		}
		answering(http.StatusOK, "application/json", fixture(t, "quarry/version.json"))(w, r)
	})
	broken.Store(true)
	if _, err := c.Features(t.Context()); KindOf(err) != Server {
		t.Error(err)
	}
	broken.Store(false)
	for range 3 {
		features, err := c.Features(t.Context())
		if err != nil || !features.Has(wire.FeatureStream) || features.Has("nope") || features.API != 1 ||
			features.Version != "0.1.0" {
			t.Errorf("%+v, %v", features, err)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
	bare := jsonServer(t, fixture(t, "onyx/version.json"))
	if features, err := bare.Features(t.Context()); err != nil || features.Has(wire.FeatureStream) || features.API != 0 {
		t.Errorf("%+v, %v", features, err)
	}
}

func TestRoot(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{200: true, 404: true, 401: true, 500: true, 403: false} {
		c := serving(t, answering(status, "application/json", fixture(t, "onyx/error-403-me.json")))
		err := c.Root(t.Context())
		if (err == nil) != want {
			t.Errorf("%d: %v", status, err)
		}
		if err != nil && KindOf(err) != Auth {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestChunksFromBareOnyx(t *testing.T) {
	t.Parallel()
	const id = "file:///home/jo/a b&c#1?"
	var mu sync.Mutex
	running, most := 0, 0
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("document_id") != id {
			t.Errorf("document %q", r.URL.Query().Get("document_id"))
		}
		switch r.URL.Path {
		case "/api/document/document-size-info":
			answering(http.StatusOK, "application/json", fixture(t, "onyx/document-size-info.json"))(w, r)
		case "/api/document/chunk-info":
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			body := fmt.Sprintf(`{"content":"chunk %s","num_tokens":2}`, r.URL.Query().Get("chunk_id"))
			mu.Lock()
			running--
			mu.Unlock()
			answering(http.StatusOK, "application/json", []byte(body))(w, r)
		default:
			answering(http.StatusNotFound, "application/json", []byte(`{"detail":"Not Found"}`))(w, r)
		}
	})
	tests := []struct {
		from, to, first, count int
	}{{0, -1, 0, 11}, {3, 5, 3, 3}, {9, 100, 9, 2}, {11, 12, 0, 0}, {500, -1, 0, 0}}
	for _, test := range tests {
		got, err := c.Chunks(t.Context(), id, test.from, test.to, "")
		if err != nil || len(got.Chunks) != test.count || got.Document.ChunkCount != 11 || got.Document.ID != id {
			t.Fatalf("%+v: %+v, %v", test, got, err)
		}
		for i, chunk := range got.Chunks {
			if chunk.ChunkInd != test.first+i || chunk.Content != "chunk "+strconv.Itoa(test.first+i) {
				t.Errorf("%+v: chunk %+v", test, chunk)
			}
		}
	}
	if most > chunkFetchers {
		t.Errorf("%d requests at once", most)
	}
	for _, bounds := range [][2]int{{-1, 3}, {5, 4}, {0, wire.MaxChunksPerRequest}} {
		if _, err := c.Chunks(t.Context(), id, bounds[0], bounds[1], ""); KindOf(err) != BadRequest {
			t.Errorf("%v: %v", bounds, err)
		}
	}
}

func TestChunksMissing(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusNotFound, "application/json", fixture(t, "onyx/error-404-document.json")))
	_, err := c.Chunks(t.Context(), "x", 0, 3, "")
	if e := asError(t, err); e.Kind != NotAvailable || e.Path != "/document/chunks" {
		t.Error(e)
	}
}

func TestChunksFailingHalfWay(t *testing.T) {
	t.Parallel()
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("chunk_id") == "7" {
			answering(http.StatusInternalServerError, "application/json", []byte(`{"detail":"disk"}`))(w, r)
			return
		}
		routes{
			"GET /document/document-size-info": `{"num_chunks":2000000000,"num_tokens":1}`,
			"GET /document/chunk-info":         `{"content":"x","num_tokens":1}`,
		}.ServeHTTP(w, r)
	})
	if _, err := c.Chunks(t.Context(), "x", 0, -1, ""); KindOf(err) != Server {
		t.Error(err)
	}
}

func TestValidTags(t *testing.T) {
	t.Parallel()
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("allow_prefix") != "true" || query.Get("limit") != "9" || query.Get("match_pattern") != "x" {
			t.Errorf("query %v", query)
		}
		answering(http.StatusOK, "application/json", fixture(t, "onyx/valid-tags.json"))(w, r)
	})
	if tags, err := c.ValidTags(t.Context(), "x", 9); err != nil || len(tags) != 2 {
		t.Errorf("%v, %v", tags, err)
	}
}

func TestFacetParameters(t *testing.T) {
	t.Parallel()
	var got url.Values
	c := serving(t, extended(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Query()
		answering(http.StatusOK, "application/json", fixture(t, "quarry/facets.json"))(w, r)
	}, "authors", "document_types"))
	persona := 7
	request := ParseQuery(`words source:slack,web set:"a b" author:jo type:md tag:k=v,team="x y" since:2026-01-02 `+
		`until:2026-03-04`, noon).Request()
	request.PersonaID = &persona
	counts, err := c.Facets(t.Context(), request)
	want := url.Values{
		"sources": {"slack", "web"}, "document_sets": {"a b"}, "authors": {"jo"}, "document_types": {"md"},
		"tags": {"k=v", "team=x y"}, "time_cutoff": {"2026-01-02T00:00:00Z"},
		"time_until": {"2026-03-04T23:59:59.999999Z"}, "persona_id": {"7"},
	}
	if err != nil || !reflect.DeepEqual(got, want) || counts.TotalMatches != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestLibraryStreams(t *testing.T) {
	t.Parallel()
	var path, body string
	answer := string(fixture(t, "quarry/library-add.ndjson"))
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		var raw json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&raw)
		path, body = r.URL.Path, string(raw)
		answering(http.StatusOK, wire.MediaTypeNDJSON, []byte(answer))(w, r)
	})
	var events []string
	report := func(e wire.LibraryEvent) { events = append(events, e.Type+" "+e.Path) }
	done, err := c.ChangeLibrary(t.Context(), wire.AddRequest{Paths: []string{"/home/jo/notes"}, Set: "notes"}, report)
	if err != nil || done.Added != 2 || done.Skipped != 1 || path != "/api/library/add" ||
		body != `{"paths":["/home/jo/notes"],"set":"notes"}` {
		t.Errorf("%+v, %v; %s %s", done, err, path, body)
	}
	if fmt.Sprint(events) != "[progress /home/jo/notes/a.md skipped /home/jo/notes/b.bin embedding ]" {
		t.Errorf("events %q", events)
	}
	if _, err := c.ChangeLibrary(t.Context(), wire.SyncRequest{}, nil); err != nil || path != "/api/library/sync" {
		t.Error(path, err)
	}
	for text, reason := range map[string]string{
		`{"type":"progress"}`: "ended early",
		`{"type":"error","error_code":"CONFLICT","detail":"another change is running"}`: "HTTP 409: another change",
		`garbage`: "not JSON",
	} {
		answer = text
		if _, err := c.ChangeLibrary(t.Context(), removeNothing, nil); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", text, err)
		}
	}
	plain := jsonServer(t, []byte(`{"type":"done"}`))
	if _, err := plain.ChangeLibrary(t.Context(), wire.AddRequest{}, nil); KindOf(err) != Server {
		t.Error(err)
	}
}

func TestSplitRef(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ref, id string
		chunk   int
		ok      bool
	}{
		{"a#0", "a", 0, true},
		{"file:/home/jo/a#b.md#12", "file:/home/jo/a#b.md", 12, true},
		{"a#12#", "a#12#", 0, false},
		{"a", "a", 0, false},
		{"a#b", "a#b", 0, false},
		{"a#-1", "a#-1", 0, false},
		{"a#1 ", "a#1 ", 0, false},
		{"a#٣", "a#٣", 0, false},
		{"a#99999999999999999999", "a#99999999999999999999", 0, false},
		{"a#007", "a", 7, true},
		{"", "", 0, false},
	}
	for _, test := range tests {
		if id, chunk, ok := wire.SplitRef(test.ref); id != test.id || chunk != test.chunk || ok != test.ok {
			t.Errorf("%q: %q, %d, %v", test.ref, id, chunk, ok)
		}
	}
}

func TestSourceNames(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"google_drive": "Google Drive", "imap": "Email", "federated_slack": "Slack", "my_new-wiki": "My New Wiki",
		"élan": "Élan", "": "",
	} {
		if got := wire.SourceName(value); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
	if SourceDescription("slack") == "" || SourceDescription("federated_slack") == "" || SourceDescription("x") != "" {
		t.Error("descriptions")
	}
}
