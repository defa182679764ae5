package wire

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func resultProfiles() map[string]Profile[SearchResult] {
	return map[string]Profile[SearchResult]{"basic": BasicResult, "agent": AgentResult, "full": FullResult, "tool": ToolResult,
		"model": ModelResult, "candidate": CandidateResult, "evidence": EvidenceResult, "cited": CitedResult}
}

// filled is a passage in which every field has a value.
func filled() SearchResult {
	return SearchResult{CitationID: new(3), Title: "<Title>", Content: "text & more", Link: new("https://a.example"), SourceType: "web",
		UpdatedAt: new("2026-09-21T10:00:00+00:00"), DocumentID: "d", Ref: "d#4", ShortRef: "deadbeef#4", ChunkInd: 4, ChunkStart: 3, ChunkEnd: 5, ChunkCount: 9,
		Score: 1.5, Blurb: "b", Highlights: []Span{{0, 4}}, BestPassage: Span{0, 4}, HeadingPath: []string{"A"},
		Metadata: map[string]Metadata{"k": {Values: []string{"v"}}}, Authors: []string{"Jo"}, DocumentType: "md", Place: "acme/ops",
		Language: "en",
		Origin:   "acme", Citation: "a/b.md:1", Lines: []int{1, 2}, Bytes: []int{0, 9}, AlsoIn: []DocumentCopy{{DocumentID: "e", Link: new("l")}},
		AlsoInCount: 1, Missing: []string{"w"}, FoundBy: FoundByMeaning,
		Newer: &NewerDocument{DocumentID: "f", UpdatedAt: new("u")}, Ranks: map[string]int{"q": 1}}
}

// What a profile writes it reads back: all that it has keys for, and nothing else.
func TestProfilesReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	whole := filled()
	for i := range reflect.TypeFor[SearchResult]().NumField() {
		if f := reflect.ValueOf(whole).Field(i); f.IsZero() && f.Kind() != reflect.Bool && reflect.TypeOf(whole).Field(i).Tag.Get("json") != "-" {
			t.Errorf("%s has no value", reflect.TypeOf(whole).Field(i).Name)
		}
	}
	for name, profile := range resultProfiles() {
		for _, value := range []SearchResult{whole, {Selected: true}, {}} {
			text, err := profile.Marshal(&value)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got SearchResult
			if err := profile.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, profile.Only(value)) {
				t.Errorf("%s: %v: %s was read as %+v", name, err, text, got)
			}
			if strings.Contains(string(text), `\u003c`) {
				t.Errorf("%s escapes HTML: %s", name, text)
			}
		}
	}
}

func TestProfileKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		value SearchResult
		want  string
	}{
		{"basic", SearchResult{}, `{"citation_id":null,"title":"","url":null,"source_type":"","content":"","updated_at":null}`},
		{"tool", SearchResult{CitationID: new(1), Link: new("l"), Language: "en", Content: "x"},
			`{"citation_id":1,"title":"","url":"l","source_type":"","language":"en","excerpt":"x","matches":false}`},
		{"model", SearchResult{CitationID: new(1)}, `{"document":1,"title":"","source_type":"","content":"","updated_at":null}`},
		{"cited", SearchResult{DocumentID: "d"},
			`{"citation_id":0,"title":"","url":null,"source_type":"","updated_at":null,"document_id":"d"}`},
	} {
		text, err := resultProfiles()[test.name].Marshal(&test.value)
		if err != nil || strings.TrimSpace(string(text)) != test.want {
			t.Errorf("%s: %v: %s, want %s", test.name, err, text, test.want)
		}
	}
	if text, _ := AgentResult.Marshal(&SearchResult{Selected: true}); strings.Contains(string(text), "selected") {
		t.Errorf("%s", text)
	}
	if text, _ := AgentResult.Marshal(&SearchResult{}); !strings.Contains(string(text), `"selected":false`) {
		t.Errorf("%s", text)
	}
}

// Every key of the type is in the fullest profile, under the names of Onyx's CLI.
func TestFullProfileHasAllKeys(t *testing.T) {
	t.Parallel()
	var full []string
	for _, f := range reflect.VisibleFields(FullResult.Type()) {
		full = append(full, f.Name)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[SearchResult]()) {
		if f.Tag.Get("json") != "-" && !slices.Contains(full, f.Name) {
			t.Errorf("%s is in no profile", f.Name)
		}
	}
}

func TestProfileOfUnknownKey(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	NewProfile[SearchResult](`title subtitle`).Type()
}

// BenchmarkProfile writes ten passages, as a search does for a model.
func BenchmarkProfile(b *testing.B) {
	results := slices.Repeat([]SearchResult{filled()}, 10)
	var text strings.Builder
	b.ReportAllocs()
	for b.Loop() {
		all := make([]any, 0, len(results))
		for i := range results {
			all = append(all, ModelResult.Of(&results[i]))
		}
		text.Reset()
		if err := WriteJSON(&text, all); err != nil {
			b.Fatal(err)
		}
	}
}
