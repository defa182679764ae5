package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

func jsonServer(t testing.TB, body []byte) *Client {
	t.Helper()
	return serving(t, answering(http.StatusOK, "application/json", body))
}

func TestSearchBareOnyx(t *testing.T) {
	t.Parallel()
	response, err := jsonServer(t, fixture(t, "onyx/search.json")).Search(t.Context(), searchFor("roll back"))
	if err != nil {
		t.Fatal(err)
	}
	var citations []int
	for _, result := range response.Results {
		citations = append(citations, *result.CitationID)
		if !result.Selected || result.Origin != "acme" || result.DocumentID != "" || result.Ref != "" {
			t.Errorf("filled wrongly: %+v", result)
		}
	}
	if fmt.Sprint(citations) != "[1 2 1 3]" || fmt.Sprint(response.Searched) != "[acme]" {
		t.Errorf("citations %v, searched %v", citations, response.Searched)
	}
	if len(response.Notes)+len(response.Stages)+len(response.CitationMapping) > 0 {
		t.Errorf("made up: %+v", response)
	}
	last := response.Results[3]
	if last.Link != nil || last.UpdatedAt != nil || !strings.Contains(last.Content, "👩\u200d🚀 ❤\ufe0f") ||
		!strings.Contains(last.Content, "\tcol1\tcol2\n") {
		t.Errorf("the last result: %+v", last)
	}
	noNulls(t, response)
}

// noNulls writes the answer and looks for fields that are null though they are lists or objects.
func noNulls(t *testing.T, response *wire.SearchResponse) {
	t.Helper()
	text, err := json.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.NewReplacer(`"link":null`, "", `"updated_at":null`, "", `"citation_id":null`, "", `"newer":null`, "").Replace(string(text))
	if strings.Contains(rest, "null") {
		t.Errorf("a null in %s", text)
	}
}

func TestSearchHostile(t *testing.T) {
	t.Parallel()
	raw, response, err := jsonServer(t, fixture(t, "onyx/search-hostile.json")).SearchRaw(t.Context(), searchFor("x"))
	if err != nil {
		t.Fatal(err)
	}
	result := response.Results[0]
	if result.Title != "Titletxt.exe" || result.Content != "goneredlink " || result.Link != nil ||
		result.UpdatedAt != nil {
		t.Errorf("%+v", result)
	}
	const want = `{"results":[{"citation_id":1,"title":"Titletxt.exe","content":"goneredlink ",` +
		`"link":"javascript:alert(1)","source_type":"web","updated_at":"not a date"}]}`
	if string(raw) != want {
		t.Errorf("raw %s", raw)
	}
}

func TestSearchEmpty(t *testing.T) {
	t.Parallel()
	response, err := jsonServer(t, fixture(t, "onyx/search-empty.json")).Search(t.Context(), searchFor("x"))
	if err != nil || response.Results == nil || len(response.Results) != 0 {
		t.Fatalf("%+v, %v", response, err)
	}
	noNulls(t, response)
}

func TestSearchRawKeepsTheServersAnswer(t *testing.T) {
	t.Parallel()
	const body = `{ "zeta" : 1.50, "results":[ {"b":"<&>", "content":"a\u001b[1mbold\u001b[0m", "highlights":[[5,9]],
		"best_passage":[0,13],"new\u0007":{"n":12345678901234567890}} ], "alpha":null }`
	const want = `{"zeta":1.50,"results":[{"b":"<&>","content":"abold","highlights":[[1,5]],"best_passage":[0,5],` +
		`"new":{"n":12345678901234567890}}],"alpha":null}`
	raw, response, err := jsonServer(t, []byte(body)).SearchRaw(t.Context(), searchFor("x"))
	if err != nil || string(raw) != want {
		t.Errorf("%s, %v", raw, err)
	}
	result := response.Results[0]
	if !reflect.DeepEqual(result.Highlights, []wire.Span{{1, 5}}) || result.BestPassage != (wire.Span{0, 5}) {
		t.Errorf("%+v", result)
	}
}

func FuzzSanitizeRaw(f *testing.F) {
	f.Add([]byte(`{"results":[{"content":"a\u001b[1mb","highlights":[[0,2]]}],"x":"\ud83d\ude80 \ud83d \\\" \u009b31m"}`))
	f.Add([]byte("{\"results\":[],\"a\":\"\xff\",\"a\":1}"))
	f.Add([]byte(`{"results":[null]}`))
	f.Add([]byte(`[{"a":"b"}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var object map[string]json.RawMessage
		if json.Unmarshal(body, &object) != nil || object == nil {
			return
		}
		raw, err := sanitizeRaw(body)
		if err != nil {
			return
		}
		var decoded map[string]any
		if err := json.Unmarshal(raw, &decoded); err != nil {
			t.Fatalf("%q became %q: %v", body, raw, err)
		}
		eachText(reflect.ValueOf(decoded), "", func(path, text string) {
			if hasControl(text) {
				t.Fatalf("%s is %q", path, text)
			}
		})
	})
}

func TestSearchAdaptsToBareOnyx(t *testing.T) {
	t.Parallel()
	until := wire.Time{Time: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}
	three, one := 3, 1
	tests := []struct {
		name    string
		request wire.SearchRequest
		results int
		notes   string
	}{
		{"nothing", wire.SearchRequest{}, 4, ""},
		{"num_results", wire.SearchRequest{NumResults: &three}, 3, ""},
		{"until", wire.SearchRequest{TimeUntil: &until}, 2, "until"},
		{"until and num_results", wire.SearchRequest{TimeUntil: &until, NumResults: &one}, 1, "until"},
		{"filters", wire.SearchRequest{Filters: wire.Filters{Authors: []string{"jo"}, DocumentTypes: []string{"md"}}}, 4, "author type"},
		{"words", wire.SearchRequest{Phrases: []string{"a b"}, Exclude: []string{"c"}}, 4, "exact excluded"},
		{"bounds", wire.SearchRequest{SkipDocumentSelection: true, MaxContextChunks: &one}, 4,
			"skip_document_selection max_context_chunks"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.request.Query = "x"
			response, err := jsonServer(t, fixture(t, "onyx/search.json")).Search(t.Context(), test.request)
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			for _, note := range response.Notes {
				first, _, _ := strings.Cut(note.Text, " ")
				notes = append(notes, strings.Trim(first, ":"))
				if note.Code != wire.NoteFilterIgnored {
					t.Errorf("note %+v", note)
				}
			}
			if len(response.Results) != test.results || strings.Join(notes, " ") != test.notes {
				t.Errorf("%d results, notes %q", len(response.Results), notes)
			}
		})
	}
}

func TestSearchLeavesQuarryAnswersAlone(t *testing.T) {
	t.Parallel()
	until := wire.Time{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
	body := fixture(t, "quarry/search.json")
	server := serving(t, extended(answering(http.StatusOK, wire.MediaTypeJSON, body), "authors"))
	response, err := server.Search(t.Context(), wire.SearchRequest{Query: "x", TimeUntil: &until, Filters: wire.Filters{Authors: []string{"nobody"}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(response)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(body)) != string(got) {
		t.Errorf("got  %s\nwant %s", got, body)
	}
}

func TestSearchWritesDaysAsCutoff(t *testing.T) {
	t.Parallel()
	days, impossible := 30, wire.MaxTimeCutoffDays+1
	cutoff := &wire.Time{Time: noon}
	got := withCutoff(wire.SearchRequest{TimeCutoffDays: &days}, noon)
	if got.TimeCutoffDays != nil || !got.TimeCutoff.Equal(noon.AddDate(0, 0, -30)) {
		t.Errorf("%+v", got)
	}
	for _, request := range []wire.SearchRequest{
		{}, {TimeCutoffDays: &impossible}, {TimeCutoffDays: &days, TimeCutoff: cutoff}, {TimeCutoff: cutoff},
	} {
		if got := withCutoff(request, noon); !reflect.DeepEqual(got, request) {
			t.Errorf("%+v became %+v", request, got)
		}
	}
}

func TestSearchStream(t *testing.T) {
	t.Parallel()
	final := `{"type":"final","response":{"results":[],"stages":[]}}`
	tests := []struct{ name, body, events, reason string }{
		{"whole", string(fixture(t, "quarry/search.ndjson")), "stage provisional stage final", ""},
		{"blank lines and no last line feed", "\n\n" + final, "final", ""},
		{"after the end", final + "\n" + final + "\ngarbage", "final", ""},
		{"unknown events", `{"type":"new"}` + "\n" + final, "new final", ""},
		{"error", `{"type":"stage"}` + "\n" + `{"type":"error","error_code":"GATEWAY_TIMEOUT","detail":"too\u001b[1m slow"}`,
			"stage", "HTTP 504: too slow (GATEWAY_TIMEOUT)"},
		{"error without words", `{"type":"error"}`, "", "HTTP 500: Internal Server Error"},
		{"broken off", `{"type":"stage"}` + "\n", "stage", "ended early, after 17 bytes"},
		{"cut line", `{"type":"stage"}` + "\n" + `{"type":"fin`, "stage", "not JSON"},
		{"empty", "", "", "ended early, after 0 bytes"},
		{"no response", `{"type":"final"}`, "", "no results"},
		{"no results", `{"type":"final","response":{}}`, "", "no results"},
		{"not JSON", "hello\n", "", "not JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, answering(http.StatusOK, wire.MediaTypeNDJSON+"; charset=utf-8", []byte(test.body)))
			var events []string
			response, err := c.SearchStream(t.Context(), searchFor("x"), func(event wire.SearchEvent) {
				events = append(events, event.Type)
				if (event.Response != nil) != (event.Type == wire.EventFinal || event.Type == wire.EventProvisional) {
					t.Errorf("event %+v", event)
				}
			})
			if got := strings.Join(events, " "); got != test.events {
				t.Errorf("events %q", got)
			}
			if test.reason == "" {
				if err != nil || response == nil {
					t.Errorf("%v, %v", response, err)
				}
				return
			}
			if e := asError(t, err); response != nil || !strings.Contains(e.Error(), test.reason) {
				t.Errorf("%v, %v", response, e)
			}
		})
	}
}

func TestSearchStreamFromBareOnyx(t *testing.T) {
	t.Parallel()
	var sent wire.SearchRequest
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		answering(http.StatusOK, "application/json", fixture(t, "onyx/search.json"))(w, r)
	})
	var events []wire.SearchEvent
	response, err := c.SearchStream(t.Context(), searchFor("x"), func(e wire.SearchEvent) { events = append(events, e) })
	if err != nil || len(events) != 1 || events[0].Type != wire.EventFinal || events[0].Response != response ||
		!sent.Stream {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestSearchStreamLinesAreBounded(t *testing.T) {
	t.Parallel()
	part := []byte(strings.Repeat("x", 1<<20))
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", wire.MediaTypeNDJSON)
		for r.Context().Err() == nil {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	_, err := c.SearchStream(t.Context(), searchFor("x"), nil)
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "more than 32 MB") {
		t.Error(e)
	}
	_, err = c.ChangeLibrary(t.Context(), wire.AddRequest{}, nil)
	if e := asError(t, err); e.Kind != Server || !strings.Contains(e.Reason, "more than 8 MB") {
		t.Error(e)
	}
}
