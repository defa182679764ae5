package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// onyxWith is a bare Onyx that has documents from some sources; it notes which ones a search asked for.
func onyxWith(t *testing.T, sources []string, searched *[][]string) *Client {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, r *http.Request) {
		status, body := http.StatusNotFound, []byte(`{"detail":"Not Found"}`)
		switch r.URL.Path {
		case "/api/version":
			status, body = http.StatusOK, []byte(`{"backend_version":"1"}`)
		case "/api/manage/indexed-sources":
			if sources != nil {
				status = http.StatusOK
				body, _ = json.Marshal(wire.IndexedSources{Sources: sources})
			}
		case "/api/search":
			var sent wire.SearchRequest
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			*searched = append(*searched, sent.Sources)
			status, body = http.StatusOK, fixture(t, "onyx/search.json")
		case "/api/chat/send-chat-message":
			var sent wire.ChatRequest
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}
			*searched = append(*searched, sent.Filters.Sources)
			status, body = http.StatusOK, fixture(t, "chat/chat-stream.ndjson")
		}
		answering(status, "application/json", body)(w, r)
	})
}

// A bare Onyx knows no exclusions: it gets all other sources, what comes back is filtered as far as it can be, and what
// cannot be is noted.
func TestExclusionsOnABareOnyx(t *testing.T) {
	t.Parallel()
	all := []string{"confluence", "github", "slack"}
	tests := []struct {
		query, listed string
		searched      string // the sources of each request
		notes         string
	}{
		{"x -source:slack", "all", "[[confluence github]]", ""},
		{"x source:slack,github -source:slack", "all", "[[github]]", ""},
		{"x -source:slack", "", "[[]]", "-source: this server ignores it; only the returned results were filtered"},
		{"x source:slack -source:slack", "all", "[]", ""},
		{"x -source:slack,github,confluence", "all", "[]", ""},
		{"x -author:jo -type:md -tag:a=b -set:s", "all", "[[]]", "-set: this server ignores it, -tag: this server ignores it, " +
			"-author: this server ignores it, -type: this server ignores it"},
	}
	for _, test := range tests {
		t.Run(test.query+" "+test.listed, func(t *testing.T) {
			t.Parallel()
			var searched [][]string
			var listed []string
			if test.listed != "" {
				listed = all
			}
			c, request := onyxWith(t, listed, &searched), ParseQuery(test.query, noon).Request()
			response, err := c.Search(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			for _, note := range response.Notes {
				notes = append(notes, note.Text)
			}
			if got := strings.Join(notes, ", "); fmt.Sprint(searched) != test.searched || got != test.notes {
				t.Errorf("searched %v, notes %s", searched, got)
			}
			isExcluded := func(r wire.SearchResult) bool { return slices.Contains(request.ExcludeFilters.Sources, r.SourceType) }
			if slices.ContainsFunc(response.Results, isExcluded) || test.searched == "[]" && len(response.Results) > 0 {
				t.Errorf("results %+v", response.Results)
			}
			streamed, err := c.SearchStream(t.Context(), request, nil)
			if err != nil || len(streamed.Results) != len(response.Results) {
				t.Errorf("streamed %+v (%v)", streamed, err)
			}
		})
	}
}

// A bare Onyx has one list in its own order.
func TestListsOnABareOnyx(t *testing.T) {
	t.Parallel()
	zero, ten := 0, 10
	tests := []struct {
		request wire.SearchRequest
		results string // days of the results
		notes   string
		failure string
	}{
		{wire.SearchRequest{Query: "x", Sort: wire.SortRelevance}, "2026-03-12 2026-08-19 2026-03-12 -", "", ""},
		{wire.SearchRequest{Query: "x", Sort: wire.SortNewest}, "2026-08-19 2026-03-12 2026-03-12 -", "sort", ""},
		{wire.SearchRequest{Query: "x", Sort: wire.SortOldest}, "2026-03-12 2026-03-12 2026-08-19 -", "sort", ""},
		{wire.SearchRequest{Query: "x", Offset: &zero}, "2026-03-12 2026-08-19 2026-03-12 -", "", ""},
		{wire.SearchRequest{Query: "x", Offset: &ten}, "", "offset", ""},
		{wire.SearchRequest{Query: "x", AddedSince: &wire.Time{Time: noon}}, "2026-03-12 2026-08-19 2026-03-12 -", "added_since", ""},
		{wire.SearchRequest{SimilarTo: "a#1"}, "", "", "this server cannot search for similar passages"},
		{ParseQuery("source:slack", noon).Request(), "", "", "this server cannot list documents without a query"},
	}
	for _, test := range tests {
		var searched [][]string
		response, err := onyxWith(t, nil, &searched).Search(t.Context(), test.request)
		if test.failure != "" {
			if e := asError(t, err); e.Kind != BadRequest || e.Reason != test.failure || e.Remedy() == "" || searched != nil {
				t.Errorf("%+v: %v", test.request, e)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var days, notes []string
		for _, result := range response.Results {
			day := "-"
			if result.UpdatedAt != nil {
				day = (*result.UpdatedAt)[:len("2006-01-02")]
			}
			days = append(days, day)
		}
		for _, note := range response.Notes {
			name, _, _ := strings.Cut(note.Text, ":")
			notes = append(notes, name)
		}
		if strings.Join(days, " ") != test.results || strings.Join(notes, " ") != test.notes {
			t.Errorf("%+v: %v, notes %v", test.request, days, notes)
		}
	}
}

func TestAskExcludesSourcesOnABareOnyx(t *testing.T) {
	t.Parallel()
	var searched [][]string
	c := onyxWith(t, []string{"github", "slack"}, &searched)
	ask := func(query string) error {
		_, err := c.Ask(t.Context(), wire.ChatRequest{Message: "x", Filters: ParseQuery(query, noon).ChatFilters()}, nil)
		return err
	}
	if err := ask("x -source:slack"); err != nil || fmt.Sprint(searched) != "[[github]]" {
		t.Errorf("searched %v (%v)", searched, err)
	}
	if err := ask("x -source:slack,github"); KindOf(err) != BadRequest || len(searched) != 1 {
		t.Errorf("searched %v (%v)", searched, err)
	}
}

// A server of an older version returns authors, types and tags.
func TestExclusionsOnAnOlderQuarry(t *testing.T) {
	t.Parallel()
	var response wire.SearchResponse
	if err := json.Unmarshal(fixture(t, "quarry/search.json"), &response); err != nil {
		t.Fatal(err)
	}
	r := response.Results[0]
	key := ""
	for key = range r.Metadata {
		break
	}
	for _, x := range []wire.Filters{
		{Sources: []string{r.SourceType}}, {Authors: []string{strings.ToUpper(r.Authors[0])}},
		{Authors: strings.Fields(r.Authors[0])[:1]}, {DocumentTypes: []string{r.DocumentType}},
		{Tags: []wire.Tag{{Key: key, Value: r.Metadata[key].Values[0]}}},
	} {
		copied := response
		copied.Results, copied.Notes = slices.Clone(response.Results), nil
		o := outgoing{asked: wire.SearchRequest{ExcludeFilters: x}}
		o.exclusions = unknown(Features{}.excludes, &x)
		o.filter(&copied)
		isFirst := func(other wire.SearchResult) bool { return other.Ref == r.Ref }
		if slices.ContainsFunc(copied.Results, isFirst) || len(copied.Notes) != 1 ||
			!strings.HasSuffix(copied.Notes[0].Text, "only the returned results were filtered") {
			t.Errorf("%+v: %d results, %v", x, len(copied.Results), copied.Notes)
		}
	}
}

func TestInternalSourcesAreNotOffered(t *testing.T) {
	list := SourceList{Status: map[string]string{}}
	for _, source := range wire.Sources() {
		list.add(source.Value, "")
	}
	for _, hidden := range []string{"mock_connector", "not_applicable", "user_file"} {
		for _, value := range list.Values {
			if value == hidden {
				t.Errorf("%s is offered", hidden)
			}
		}
	}
}
