package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The flag has the golden package's name and meaning.
var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name string, value any) {
	t.Helper()
	got, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, want)
	}
}

func pointer[T any](v T) *T { return &v }

func wholeResponse() SearchResponse {
	return SearchResponse{
		Results: []SearchResult{{
			CitationID: pointer(1), Title: "Rolling back", Content: "Roll back when…", Link: pointer("https://a.example/1"),
			SourceType: "confluence", UpdatedAt: pointer("2026-03-12T09:14:05+00:00"), DocumentID: "c:1", Ref: "c:1#2", ShortRef: "psotabks#2",
			ChunkInd: 2, ChunkStart: 1, ChunkEnd: 3, ChunkCount: 9, Lines: []int{3, 9}, Bytes: []int{40, 210}, Score: 1.5, Blurb: "Roll", Highlights: []Span{{0, 4}},
			BestPassage: Span{0, 9}, HeadingPath: []string{"Runbook"}, Authors: []string{"Kim"}, DocumentType: "md", Place: "acme/ops", Language: "en",
			Metadata: map[string]Metadata{"labels": {Values: []string{"a"}, List: true}, "team": One("infra")},
			Selected: true, Origin: "acme", Ranks: map[string]int{"roll back": 1},
			AlsoIn: []DocumentCopy{{"s:7", "#ops", nil, "slack"}}, AlsoInCount: 1, Matches: true, Missing: []string{"deploy"},
			FoundBy: FoundByMeaning, Newer: &NewerDocument{"c:9", "Rolling back 2", pointer("2026-04-12T09:14:05+00:00")},
		}},
		CitationMapping: map[string]string{"1": "c:1"}, LLMFacingText: "{}",
		QueryExpansion: QueryExpansion{SemanticQueries: []string{"s"}, KeywordQueries: []string{"k"}},
		Queries:        []ExecutedQuery{{Query: "roll back", Kind: "original", Weight: 0.5}},
		AppliedFilters: []AppliedFilter{{Field: "sources", Value: "confluence", SetBy: "agent", Negated: true}},
		Facets: Facets{
			Sources: []FacetValue{{"confluence", 1}}, Authors: []FacetValue{{"Kim", 1}}, Types: []FacetValue{{"md", 1}},
			DocumentSets: []FacetValue{{"handbook", 1}}, Languages: []FacetValue{{"en", 1}}, Places: []FacetValue{{"acme", 1}}, Tags: []FacetTag{{"team", "infra", 1}},
			Months: []FacetMonth{{"2026-03", 1}}, Undated: 2,
		},
		TotalMatches: 3, Matched: Matched{Level: "most", Documents: 3, All: 2}, Stages: []Stage{{Name: "retrieve", MS: 1.25, Outcome: OutcomeOK, Detail: "d"}},
		Notes: []Note{{Code: NoteNoModel, Text: "no model"}}, Searched: []string{"acme"},
	}
}

func TestSearchResponseGolden(t *testing.T) {
	t.Parallel()
	golden(t, "response-whole.json", wholeResponse())
	empty := SearchResponse{Results: []SearchResult{{}}}
	FillEmpty(&empty)
	golden(t, "response-empty.json", empty)
}

func TestSearchRequestGolden(t *testing.T) {
	t.Parallel()
	moment := &Time{time.Date(2026, 3, 12, 9, 14, 5, 0, time.UTC)}
	golden(t, "request-whole.json", SearchRequest{
		Query: "roll back", Filters: Filters{Sources: []string{"slack"}, DocumentSets: []string{"handbook"},
			Tags: []Tag{{"team", "infra"}}, Authors: []string{"Kim"}, DocumentTypes: []string{"md"}, Languages: []string{"en"},
			Places: []string{"acme/ops"}},
		TimeCutoff: moment, PersonaID: pointer(7), Provider: pointer("p"), Model: pointer("m"), SkipQueryExpansion: true,
		MessageHistory: []Message{{"hello", "user"}}, NumResults: pointer(5), TimeCutoffDays: pointer(30), TimeUntil: moment,
		SkipDocumentSelection: true, MaxContextChunks: pointer(9),
		Instant: true, Exclude: []string{"draft"}, Phrases: []string{"error budget"}, Explain: true, Stream: true,
		ExcludeFilters: Filters{Sources: []string{"web"}, Authors: []string{"Lee"}, DocumentTypes: []string{"pdf"},
			DocumentSets: []string{"archive"}, Tags: []Tag{{"state", "draft"}}, Languages: []string{"de"}, Places: []string{"old"}},
		Offset: pointer(50), Sort: SortNewest, Browse: true, Prefix: true, FacetPlace: "acme",
		AddedSince: moment, SimilarTo: "a#1",
	})
	golden(t, "request-least.json", SearchRequest{Query: "x"})
}

// A field added to the response must be filled when it is empty, or be one of the few that may be null.
func TestFillEmptyLeavesNoNull(t *testing.T) {
	t.Parallel()
	response := SearchResponse{Results: []SearchResult{{}, {}}}
	FillEmpty(&response)
	eachNil(reflect.ValueOf(response), "", func(path string) {
		switch path {
		case ".Results.CitationID", ".Results.Link", ".Results.UpdatedAt", ".Results.Newer", ".Results.Ranks":
		default:
			t.Errorf("%s is nil", path)
		}
	})
	whole := wholeResponse()
	before, _ := json.Marshal(whole)
	FillEmpty(&whole)
	if after, _ := json.Marshal(whole); !bytes.Equal(before, after) {
		t.Error("what is there is changed")
	}
}

func eachNil(v reflect.Value, path string, visit func(path string)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		if v.IsNil() {
			visit(path)
		}
	case reflect.Slice:
		if v.IsNil() {
			visit(path)
		}
		for i := range v.Len() {
			eachNil(v.Index(i), path, visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			eachNil(v.Field(i), path+"."+v.Type().Field(i).Name, visit)
		}
	}
}

// Every type of the wire names its fields itself, in the API's spelling.
func TestFieldsHaveNames(t *testing.T) {
	t.Parallel()
	for _, value := range []any{SearchRequest{}, SearchResponse{}, SearchEvent{}, Me{}, Version{}, Status{}, AuthType{},
		FullPersona{}, PersonaPage{}, Connector{}, DocumentSet{}, IndexedSources{}, ConnectorStatus{}, ValidTags{}, DocumentSize{},
		ChunkInfo{}, DocumentChunks{}, Suggestions{}, FacetCounts{}, AddRequest{}, SyncRequest{}, RemoveRequest{},
		LibraryEvent{}, LibraryStatus{}, IngestionRequest{}, IngestionResponse{}, NewAccessToken{}, AccessTokenRequest{},
		CodedError{}, DetailError{}, ValidationError{}, MessageError{}} {
		checkNames(t, reflect.TypeOf(value))
	}
}

func checkNames(t *testing.T, typ reflect.Type) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		checkNames(t, typ.Elem())
	case reflect.Struct:
		if typ == reflect.TypeFor[Metadata]() || typ == reflect.TypeFor[Time]() {
			return
		}
		for i := range typ.NumField() {
			field := typ.Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.Anonymous && (name == "" || strings.ToLower(name) != name) {
				t.Errorf("%s.%s has the name %q", typ, field.Name, name)
			}
			checkNames(t, field.Type)
		}
	}
}
