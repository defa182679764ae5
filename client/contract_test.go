package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

// contractTypes names for each recorded body the type that it is decoded into. Every body must be here.
func contractTypes() map[string]any {
	return map[string]any{
		"onyx/agents.json":                 wire.PersonaPage{},
		"onyx/chat-session.json":           wire.ChatSessionDetail{},
		"onyx/chat-sessions.json":          wire.ChatSessions{},
		"onyx/chunk-info.json":             wire.ChunkInfo{},
		"onyx/connector-status.json":       []wire.ConnectorStatus{},
		"onyx/connectors.json":             []wire.Connector{},
		"onyx/document-set.json":           []wire.DocumentSet{},
		"onyx/document-size-info.json":     wire.DocumentSize{},
		"onyx/federated.json":              []wire.FederatedConnection{},
		"onyx/federated-oauth-status.json": []federatedLogin{},
		"onyx/health.json":                 wire.Status{},
		"onyx/indexed-sources.json":        wire.IndexedSources{},
		"onyx/ingestion-request.json":      wire.IngestionRequest{},
		"onyx/ingestion-response.json":     wire.IngestionResponse{},
		"onyx/me.json":                     wire.Me{},
		"onyx/me-anonymous.json":           wire.Me{},
		"onyx/persona.json":                []wire.Persona{},
		"onyx/persona-7.json":              wire.FullPersona{},
		"onyx/search.json":                 wire.SearchResponse{},
		"onyx/search-empty.json":           wire.SearchResponse{},
		"onyx/search-hostile.json":         wire.SearchResponse{},
		"onyx/valid-tags.json":             wire.ValidTags{},
		"onyx/version.json":                wire.Version{},

		"quarry/chunks.json":             wire.DocumentChunks{},
		"quarry/chunks-damaged.json":     wire.DocumentChunks{},
		"quarry/document-size-info.json": wire.DocumentSize{},
		"quarry/facets.json":             wire.FacetCounts{},
		"quarry/library-add.ndjson":      wire.LibraryEvent{},
		"quarry/library-check.ndjson":    wire.LibraryEvent{},
		"quarry/library-migrate.ndjson":  wire.LibraryEvent{},
		"quarry/library-status.json":     wire.LibraryStatus{},
		"quarry/new-token.json":          wire.NewAccessToken{},
		"quarry/search.json":             wire.SearchResponse{},
		"quarry/search.ndjson":           wire.SearchEvent{},
		"quarry/suggest.json":            wire.Suggestions{},
		"quarry/tokens.json":             []wire.AccessToken{},
		"quarry/version.json":            wire.Version{},

		// What the recorded bodies leave empty.
		"whole/document-set.json":              []wire.DocumentSet{},
		"whole/ingestion-request.json":         wire.IngestionRequest{},
		"whole/library.ndjson":                 wire.LibraryEvent{},
		"whole/chat-session.json":              wire.ChatSessionDetail{},
		"whole/me.json":                        wire.Me{},
		"whole/persona.json":                   wire.FullPersona{},
		"whole/search.ndjson":                  wire.SearchEvent{},
		"../wire/testdata/request-whole.json":  wire.SearchRequest{},
		"../wire/testdata/response-whole.json": wire.SearchResponse{},
		"onyx/error-400-valueerror.json":       wire.MessageError{},
		"onyx/error-401-expired.json":          wire.CodedError{},
		"onyx/error-402-tier.json":             wire.CodedError{},
		"onyx/error-403-document-sets.json":    wire.CodedError{},
		"onyx/error-403-me.json":               wire.DetailError{},
		"onyx/error-403-scope.json":            wire.CodedError{},
		"onyx/error-403-token.json":            wire.DetailError{},
		"onyx/error-404-document.json":         wire.DetailError{},
		"onyx/error-404-persona.json":          wire.CodedError{},
		"onyx/error-413.json":                  wire.CodedError{},
		"onyx/error-422-source.json":           wire.ValidationError{},
		"onyx/error-429.json":                  wire.CodedError{},
		"onyx/error-500.json":                  wire.DetailError{},
		"onyx/error-501.json":                  wire.DetailError{},
		"onyx/error-504.json":                  wire.CodedError{},
		"onyx/error-403-proxy.json":            errorBody{}, // not the server's
	}
}

// documents splits a body into its JSON documents: one, or one a line.
func documents(name string, body []byte) [][]byte {
	if path.Ext(name) != ".ndjson" {
		return [][]byte{body}
	}
	return bytes.Split(bytes.TrimSpace(body), []byte("\n"))
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %.100q", err, text)
	}
	return value
}

// Every key of a body must come out of its type again, under the same name and with the same value.
func TestEveryFieldIsDecoded(t *testing.T) {
	t.Parallel()
	for name, typ := range contractTypes() {
		for _, text := range documents(name, fixture(t, name)) {
			into := reflect.New(reflect.TypeOf(typ))
			strict := json.NewDecoder(bytes.NewReader(text))
			strict.DisallowUnknownFields()
			if err := strict.Decode(into.Interface()); err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			again, err := json.Marshal(into.Interface())
			if err != nil {
				t.Fatal(err)
			}
			for _, loss := range losses("", decoded(t, text), decoded(t, again)) {
				t.Errorf("%s: %s", name, loss)
			}
		}
	}
}

// losses tells what of a decoded JSON value is missing or changed in another.
func losses(at string, want, got any) (lost []string) {
	switch want := want.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for key, value := range want {
			if held, ok := object[key]; ok {
				lost = append(lost, losses(at+"."+key, value, held)...)
			} else if !isEmpty(value) { // empty ones may be left out; a wrong name is found by the strict decoder
				lost = append(lost, at+"."+key+" is lost")
			}
		}
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return []string{fmt.Sprintf("%s is %v, was %v", at, got, want)}
		}
		for i, value := range want {
			lost = append(lost, losses(fmt.Sprintf("%s[%d]", at, i), value, list[i])...)
		}
	default:
		if !reflect.DeepEqual(want, got) {
			lost = append(lost, fmt.Sprintf("%s is %v, was %v", at, got, want))
		}
	}
	return lost
}

func isEmpty(value any) bool {
	return value == nil || value == "" || value == 0.0 || value == false
}

// The client's own steps, from the body to the answer, must not lose anything either.
func TestSearchLosesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"onyx/search.json", "quarry/search.json"} {
		body := fixture(t, name)
		response, err := jsonServer(t, body).Search(t.Context(), searchFor("x"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(response)
		if err != nil {
			t.Fatal(err)
		}
		for _, loss := range losses("", decoded(t, body), decoded(t, again)) {
			t.Errorf("%s: %s", name, loss)
		}
	}
}

// Every field of a type must be in a body, else nothing would tell that its name is wrong.
func TestEveryFieldIsInABody(t *testing.T) {
	t.Parallel()
	shown := map[reflect.Type]map[string]bool{}
	for name, value := range contractTypes() {
		for _, text := range documents(name, fixture(t, name)) {
			show(shown, reflect.TypeOf(value), decoded(t, text))
		}
	}
	for typ, fields := range shown {
		if typ == reflect.TypeFor[errorBody]() {
			continue // the keys of all shapes in one
		}
		for name := range fieldsByKey(typ) {
			if !fields[name] {
				t.Errorf("%s: no body has the key %q", typ, name)
			}
		}
	}
	for _, value := range contractTypes() {
		eachStruct(reflect.TypeOf(value), func(typ reflect.Type) {
			if shown[typ] == nil {
				t.Errorf("%s: no body has one", typ)
			}
		})
	}
}

// show notes for each struct type within a type which of its keys a decoded body has.
func show(shown map[reflect.Type]map[string]bool, typ reflect.Type, body any) {
	switch typ.Kind() {
	case reflect.Pointer:
		show(shown, typ.Elem(), body)
	case reflect.Slice:
		list, _ := body.([]any)
		for _, item := range list {
			show(shown, typ.Elem(), item)
		}
	case reflect.Map:
		object, _ := body.(map[string]any)
		for _, item := range object {
			show(shown, typ.Elem(), item)
		}
	case reflect.Struct:
		object, ok := body.(map[string]any)
		if !ok || writesItself(typ) {
			return
		}
		if shown[typ] == nil {
			shown[typ] = map[string]bool{}
		}
		for key, field := range fieldsByKey(typ) {
			if value, ok := object[key]; ok {
				shown[typ][key] = true
				show(shown, field, value)
			}
		}
	}
}

func writesItself(typ reflect.Type) bool {
	return reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldsByKey gives the types of a struct's fields by their keys, those of embedded structs among them.
func fieldsByKey(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		if field.Anonymous {
			maps.Copy(fields, fieldsByKey(field.Type))
			continue
		}
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "-" {
			continue
		}
		fields[key] = field.Type
	}
	return fields
}

func eachStruct(typ reflect.Type, visit func(reflect.Type)) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		eachStruct(typ.Elem(), visit)
	case reflect.Struct:
		if writesItself(typ) {
			return
		}
		visit(typ)
		for _, field := range fieldsByKey(typ) {
			eachStruct(field, visit)
		}
	}
}

func TestEveryBodyHasAType(t *testing.T) {
	t.Parallel()
	types := contractTypes()
	for _, folder := range []string{"onyx", "quarry", "whole"} {
		entries, err := os.ReadDir(filepath.Join("testdata", folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			name := folder + "/" + entry.Name()
			if _, ok := types[name]; !ok && path.Ext(name) != ".html" {
				t.Errorf("%s has no type", name)
			}
		}
	}
}

// What a quarry server adds to Onyx's API is promised by name.
func TestAdditionsByName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		typ  any
		keys string
	}{
		{wire.SearchRequest{}, "query sources document_sets tags time_cutoff persona_id provider model skip_query_expansion " +
			"message_history num_results time_cutoff_days time_until authors document_types skip_document_selection " +
			"max_context_chunks instant exclude phrases explain stream languages places facet_place exclude_filters offset sort browse prefix added_since similar_to"},
		{wire.SearchResponse{}, "results citation_mapping llm_facing_text query_expansion queries applied_filters facets " +
			"total_matches matched stages notes searched"},
		{wire.SearchResult{}, "citation_id title content link source_type updated_at document_id ref short_ref citation chunk_ind chunk_start " +
			"chunk_end chunk_count score blurb highlights best_passage heading_path metadata authors document_type place language selected " +
			"origin ranks lines bytes also_in also_in_count matches missing found_by newer"},
		{wire.Matched{}, "level documents all"},
		{wire.DocumentCopy{}, "document_id title link source_type"},
		{wire.NewerDocument{}, "document_id title updated_at"},
		{wire.QueryExpansion{}, "semantic_queries keyword_queries"},
		{wire.ExecutedQuery{}, "query kind weight"},
		{wire.AppliedFilter{}, "field value set_by negated"},
		{wire.Filters{}, "sources authors document_types document_sets tags languages places"},
		{wire.Facets{}, "sources authors types document_sets languages places tags months undated"},
		{wire.FacetValue{}, "value count"},
		{wire.FacetTag{}, "key value count"},
		{wire.FacetMonth{}, "month count"},
		{wire.Stage{}, "name ms outcome detail"},
		{wire.Note{}, "code text"},
		{wire.SearchEvent{}, "type name state ms outcome detail response error_code"},
		{wire.QuarryVersion{}, "version api features"},
		{wire.Suggestions{}, "words titles"},
		{wire.TitleSuggestion{}, "title document_id"},
		{wire.FacetCounts{}, "facets total_matches"},
		{wire.DocumentChunks{}, "document chunks passage"},
		{wire.DocumentInfo{}, "id title link source_type updated_at authors chunk_count outline"},
		{wire.OutlineHeading{}, "level text chunk_ind"},
		{wire.Chunk{}, "chunk_ind content heading_path damaged lines bytes highlights"},
	}
	for _, test := range tests {
		got, want := slices.Sorted(maps.Keys(fieldsByKey(reflect.TypeOf(test.typ)))), strings.Fields(test.keys)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%T has the keys\n%q, promised are\n%q", test.typ, got, want)
		}
	}
}

// federatedLogin is one row of GET /federated/oauth-status: whether the caller signed in to a source that is searched
// at query time. Without signing in it has no results.
type federatedLogin struct {
	ConnectorID    int     `json:"federated_connector_id"`
	Source         string  `json:"source"`
	Name           string  `json:"name"`
	HasToken       bool    `json:"has_oauth_token"`
	TokenExpiresAt *string `json:"oauth_token_expires_at"`
	AuthorizeURL   *string `json:"authorize_url"` // where to sign in
}
