package api

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
)

func TestProblemsAreWrittenAsOnyxWrites(t *testing.T) {
	for want, p := range map[string]problem{
		`{'type': 'missing', 'loc': ('body', 'query'), 'msg': 'Field required', 'input': None}`: {
			"missing", []any{"body", "query"}, "Field required", "None"},
		`{'type': 'enum', 'loc': ('body', 'sources', 0), 'msg': "Input should be 'web'", 'input': 'slak'}`: {
			"enum", []any{"body", "sources", 0}, "Input should be 'web'", "'slak'"},
		`{'type': 'json_invalid', 'loc': ('body',), 'msg': 'it\'s "odd"'}`: {
			"json_invalid", []any{"body"}, `it's "odd"`, ""},
	} {
		if got := p.String(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Blank values narrow nothing. A blank document set is none that exists: without it, all would be searched.
func TestBlankValues(t *testing.T) {
	request, err := searchRequest(objectFields([]byte(`{"query":"x","document_sets":["Handbook"," "],"authors":["Kim"," "],` +
		`"document_types":[""],"languages":[" "],"places":[""],"exclude_filters":{"document_sets":[" "],"authors":[" "]}}`)))
	if err != nil {
		t.Fatal(err)
	}
	want := wire.Filters{DocumentSets: []string{"Handbook", " "}, Authors: []string{"Kim"}}
	excluded := wire.Filters{DocumentSets: []string{" "}}
	for _, row := range field.All() {
		if got := row.Of(request.Filters); !slices.Equal(got, row.Of(want)) {
			t.Errorf("%s: %q", row.Name, got)
		}
		if got := row.Of(request.ExcludeFilters); !slices.Equal(got, row.Of(excluded)) {
			t.Errorf("-%s: %q", row.Name, got)
		}
	}
}

// FuzzSearchRequest: any body is a request within its bounds, or a refusal of the right form.
func FuzzSearchRequest(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", "{}", `{"query":"x"}`, `{"query":"x","sources":["slack"],"tags":[{"tag_key":"a","tag_value":"b"}]}`,
		`{"query":"x","time_cutoff":"2026-01-01","persona_id":"7","message_history":[{"message":"m","message_type":"user"}]}`,
		`{"query":"\u0000\ud800","num_results":1e9,"phrases":[1,null,{}]}`, `{"query":{"query":[[[[[[]]]]]]}}`,
		`{"query":"x","time_until":-1e300,"time_cutoff_days":"5","stream":1}`, "{\"query\":\"\xff\"}", `{"query":"x"}{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := searchRequest(objectFields(body))
		if err != nil {
			var refused failure
			if !errors.As(err, &refused) || refused.status != 422 || len(refused.Error()) > 1<<20 {
				t.Fatalf("refused with %v", err)
			}
			if text, err := json.Marshal(refused.body); err != nil || strings.ContainsAny(string(text), "\n\x1b") {
				t.Fatalf("refused with %s (%v)", text, err)
			}
			return
		}
		n := utf8.RuneCountInString(request.Query)
		if n < 1 || n > wire.MaxQueryRunes || len(request.Sources) > maxListItems || len(request.Tags) > maxListItems ||
			(request.NumResults != nil && (*request.NumResults < 1 || *request.NumResults > wire.MaxNumResults)) {
			t.Fatalf("admitted %+v", request)
		}
		for _, s := range request.Sources {
			if _, ok := wire.LookupSource(s); !ok {
				t.Fatalf("admitted source %q", s)
			}
		}
	})
}

// FuzzFilters: likewise for the parameters of a URL.
func FuzzFilters(f *testing.F) {
	for _, seed := range []string{
		"", "sources=file&tags=a%3Db&tags=c", "time_cutoff=now&persona_id=%00", "document_sets=%ff", "persona_id=1;2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var refused failure
		if _, err := decodeFilters(values); err != nil && (!errors.As(err, &refused) || refused.status != 422) {
			t.Fatalf("refused with %v", err)
		}
	})
}
