package api

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/client/wire"
)

// TestSearchAnswer holds a whole answer, but for the numbers that rest on the engine's formula and on time.
func TestSearchAnswer(t *testing.T) {
	w := newWorld(t)
	answer := w.call(w.public, "jo", http.MethodPost, "/search",
		`{"query":"roll back a deploy \"error budget\"","phrases":["error budget"],"sources":["confluence"],"explain":true}`)
	var value any
	w.check(json.Unmarshal(answer.Body.Bytes(), &value))
	text, err := json.MarshalIndent(value, "", "  ")
	w.check(err)
	text = regexp.MustCompile(`"(ms|score)": [0-9.e-]+`).ReplaceAll(text, []byte(`"$1": 0`))
	golden.RequireEqual(t, append(text, '\n'))
}

func TestStream(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.server.Gate(PublicOptions{}).Listener(true))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/search",
		strings.NewReader(`{"query":"deploy","stream":true}`))
	w.check(err)
	request.Header.Set("Authorization", "Bearer "+w.tokens["jo"])
	response, err := server.Client().Do(request)
	w.check(err)
	defer func() { w.check(response.Body.Close()) }()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != wire.MediaTypeNDJSON {
		t.Fatalf("HTTP %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
	var types []string
	var last wire.SearchEvent
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		last = wire.SearchEvent{}
		w.check(json.Unmarshal(lines.Bytes(), &last))
		types = append(types, last.Type)
	}
	if len(types) < 13 || last.Type != wire.EventFinal || slices.Index(types, wire.EventFinal) != len(types)-1 {
		t.Fatalf("lines %v", types)
	}
	if early := slices.Index(types, wire.EventProvisional); early < 0 {
		t.Errorf("no provisional answer among %v", types)
	}
	if last.Response == nil || len(last.Response.Results) != 3 {
		t.Errorf("final %+v", last.Response)
	}
	plain := post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy"}`)
	if !slices.Equal(ids(plain), ids(*last.Response)) {
		t.Error("the stream ends in another answer")
	}
}

func TestStreamThatCannotBegin(t *testing.T) {
	w := newWorld(t)
	for body, status := range map[string]int{
		`{"query":"x","stream":true,"persona_id":77}`: http.StatusNotFound,
		`{"query":"","stream":true}`:                  http.StatusUnprocessableEntity,
	} {
		answer := w.call(w.public, "jo", http.MethodPost, "/search", body)
		if answer.Code != status || answer.Header().Get("Content-Type") != wire.MediaTypeJSON {
			t.Errorf("%s: HTTP %d, %s", body, answer.Code, answer.Header().Get("Content-Type"))
		}
	}
}

func TestFiltersReachTheSearch(t *testing.T) {
	w := newWorld(t)
	const rollback, travel, notes = "file:/handbook/rollback.md", "file:/handbook/travel.md", "file:/jo/notes.md"
	for filter, want := range map[string][]string{
		`"sources":["file","google_drive"]`:               {travel, notes},
		`"sources":[]`:                                    {rollback, travel, notes},
		`"document_sets":["Handbook"]`:                    {rollback},
		`"document_sets":[]`:                              {rollback, travel, notes},
		`"tags":[{"tag_key":"team","tag_value":"infra"}]`: {rollback},
		`"time_cutoff":"2026-04-01"`:                      nil,
		`"time_cutoff":1767225600`:                        {rollback, travel, notes},
		`"time_cutoff_days":30`:                           nil,
		`"time_until":"2026-01-01T00:00:00+02:00"`:        nil,
		`"authors":["Ada Tr"]`:                            {travel},
		`"document_types":["pdf"]`:                        nil,
		`"document_types":["text/markdown"]`:              {rollback, travel, notes},
		`"persona_id":1`:                                  {rollback},
		`"persona_id":"1","document_sets":[]`:             {rollback},
		`"exclude":["travel"]`:                            {rollback, notes},
		`"phrases":["release tool"]`:                      {rollback},
		`"num_results":1`:                                 {rollback, travel, notes},
		`"instant":true`:                                  {rollback, travel, notes},
		`"skip_document_selection":true,"max_context_chunks":100,"skip_query_expansion":true`: {rollback, travel, notes},
	} {
		response := post[wire.SearchResponse](w, "jo", "/search", `{"query":"deploy",`+filter+`}`)
		got := ids(response)
		slices.Sort(got)
		if strings.Contains(filter, "num_results") {
			if len(got) != 1 || response.TotalMatches != len(want) {
				t.Errorf("%s finds %v of %d", filter, got, response.TotalMatches)
			}
			continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s finds %v, want %v", filter, got, want)
		}
	}
}

func TestFacetsOfAFilter(t *testing.T) {
	w := newWorld(t)
	for query, want := range map[string]int{
		"":                                  3,
		"sources=file":                      1,
		"sources=file&sources=google_drive": 2,
		"tags=team%3Dinfra":                 1,
		"document_sets=Handbook":            1,
		"persona_id=1":                      1,
		"time_cutoff=2026-04-01":            0,
		"time_cutoff_days=1":                0,
		"time_until=2026-04-01":             3,
		"authors=Ada%20Tr":                  1,
		"document_types=md":                 3,
	} {
		if got := get[wire.FacetCounts](w, "jo", "/search/facets?"+query); got.TotalMatches != want {
			t.Errorf("%q counts %d documents, want %d", query, got.TotalMatches, want)
		}
	}
	for query, status := range map[string]int{
		"sources=slak": 422, "tags=team": 422, "document_sets=Board": 403, "persona_id=77": 404, "time_cutoff=x": 422,
	} {
		if answer := w.call(w.public, "jo", "GET", "/search/facets?"+query, ""); answer.Code != status {
			t.Errorf("%q: HTTP %d", query, answer.Code)
		}
	}
}

func TestSuggestBounds(t *testing.T) {
	w := newWorld(t)
	if got := get[wire.Suggestions](w, "jo", "/search/suggest?prefix=dep"); !slices.Contains(got.Words, "deploy") {
		t.Errorf("suggests %+v", got)
	}
	for query, status := range map[string]int{
		"prefix=d&limit=0": 422, "prefix=d&limit=51": 422, "prefix=d&limit=x": 422, "": 422, "prefix=": 200,
		"prefix=" + strings.Repeat("a", wire.MaxQueryRunes+1): 422,
	} {
		if answer := w.call(w.public, "jo", "GET", "/search/suggest?"+query, ""); answer.Code != status {
			t.Errorf("%.40q: HTTP %d %s", query, answer.Code, answer.Body)
		}
	}
}

func TestValidTags(t *testing.T) {
	w := newWorld(t)
	infra := wire.SourceTag{Key: "team", Value: "infra", Source: "confluence"}
	people := wire.SourceTag{Key: "team", Value: "people", Source: "file"}
	zealous := wire.SourceTag{Key: "mood", Value: "zealous", Source: "google_drive"}
	for query, want := range map[string][]wire.SourceTag{
		"":                                          {zealous, infra, people},
		"match_pattern=":                            {zealous, infra, people},
		"match_pattern=TE":                          {infra, people},
		"match_pattern=peo":                         {people},
		"match_pattern=team%3Din":                   {infra},
		"match_pattern=mood%3Din":                   {},
		"match_pattern=tea&allow_prefix=false":      {},
		"match_pattern=team&allow_prefix=false":     {infra, people},
		"match_pattern=team%3Dinfra&allow_prefix=0": {infra},
		"sources=file":                              {people},
		"sources=file&sources=confluence":           {infra, people},
		"limit=1":                                   {zealous},
		"match_pattern=%25":                         {},
	} {
		if got := get[wire.ValidTags](w, "jo", "/query/valid-tags?"+query); !slices.Equal(got.Tags, want) {
			t.Errorf("%q: %+v", query, got.Tags)
		}
	}
	for _, query := range []string{"limit=0", "limit=x", "sources=slak", "allow_prefix=maybe"} {
		if answer := w.call(w.public, "jo", "GET", "/query/valid-tags?"+query, ""); answer.Code != 422 {
			t.Errorf("%q: HTTP %d", query, answer.Code)
		}
	}
}

func TestIngestionCanBeFoundAtOnce(t *testing.T) {
	w := newWorld(t)
	const body = `{"document":{"id":"hr-001","sections":[{"text":"Laptops are expensed through the card portal.",
		"link":"https://hr.acme.example/laptops"}],"source":"ingestion_api","semantic_identifier":"Expensing a laptop",
		"title":"Expensing a laptop","metadata":{"team":"people","tags":["policy","money"]},
		"doc_updated_at":"2026-05-02T08:00:00Z","primary_owners":[{"display_name":"Kim Lee","email":"kim@acme.example"}],
		"external_access":{"external_user_emails":["JO@acme.example"],"external_user_group_ids":["people"],
		"is_public":false},"from_ingestion_api":true},"cc_pair_id":null}`
	for _, existed := range []bool{false, true} {
		got := post[wire.IngestionResponse](w, "owner", "/onyx-api/ingestion", body)
		if got.DocumentID != "hr-001" || got.AlreadyExisted != existed {
			t.Errorf("answered %+v", got)
		}
	}
	for who, want := range map[string]int{"jo": 1, "kim": 0, "owner": 0} {
		if got := post[wire.SearchResponse](w, who, "/search", `{"query":"expensed laptops"}`); len(got.Results) != want {
			t.Errorf("%s finds %v", who, ids(got))
		}
	}
}

func TestTokensByTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		made := post[wire.NewAccessToken](w, "owner", "/user/pats", `{"name":"ci","expiration_days":30,"scopes":["read:search"]}`)
		if made.Token == "" || made.ExpiresAt == nil || *made.ExpiresAt != "2026-07-01T23:59:59.999999Z" {
			t.Fatalf("made %+v", made)
		}
		w.tokens["new"] = made.Token
		if len(post[wire.SearchResponse](w, "new", "/search", `{"query":"deploy"}`).Results) == 0 {
			t.Error("the new token finds nothing")
		}
		list := get[[]wire.AccessToken](w, "owner", "/user/pats")
		if !slices.ContainsFunc(list, func(a wire.AccessToken) bool { return a.ID == made.ID && a.LastUsedAt != nil }) {
			t.Errorf("listed %+v", list)
		}
		for _, a := range get[[]wire.AccessToken](w, "jo", "/user/pats") {
			if a.ID == made.ID {
				t.Error("somebody else's token is listed")
			}
		}
		target := "/user/pats/" + url.PathEscape(strings.TrimSpace(jsonNumber(t, made.ID)))
		for _, step := range []struct {
			who    string
			status int
			body   string
		}{{"jo", 404, "Token not found"}, {"owner", 200, "Token deleted successfully"}, {"owner", 404, "Token not found"}} {
			answer := w.call(w.public, step.who, http.MethodDelete, target, "")
			if answer.Code != step.status || !strings.Contains(answer.Body.String(), step.body) {
				t.Errorf("%s deletes: HTTP %d %s", step.who, answer.Code, answer.Body)
			}
		}
		if answer := w.call(w.public, "new", "POST", "/search", `{"query":"deploy"}`); answer.Code != http.StatusForbidden {
			t.Errorf("a deleted token: HTTP %d", answer.Code)
		}
	})
}

func jsonNumber(t *testing.T, n int) string {
	t.Helper()
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
