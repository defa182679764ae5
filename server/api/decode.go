package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
)

// maxMessageRunes bounds one turn of a conversation; the API names no bound.
const maxMessageRunes = 200_000

// maxWanted bounds the phrases, and the exclusions, of a query: each is looked for by itself.
const maxWanted = 100

// decodeSearch reads the body of POST /search.
func decodeSearch(r *http.Request) (wire.SearchRequest, error) {
	f, err := bodyFields(r)
	if err != nil {
		return wire.SearchRequest{}, err
	}
	return searchRequest(f)
}

// searchRequest reads a search from its fields. Unknown fields are ignored.
func searchRequest(f *fields) (wire.SearchRequest, error) {
	request := wire.SearchRequest{}
	if f.require("query") {
		request.Query = f.text(f.raw["query"], 1, wire.MaxQueryRunes, "query")
	}
	readFilters(f, &request)
	request.Provider = f.optionalText("provider", maxItemRunes)
	request.Model = f.optionalText("model", maxItemRunes)
	if (request.Provider == nil) != (request.Model == nil) {
		f.problems = append(f.problems, problem{kind: "value_error", where: []any{f.where},
			text: "Value error, provider and model must be given together"})
	}
	request.SkipQueryExpansion = f.flag("skip_query_expansion")
	request.MessageHistory = readHistory(f)
	request.NumResults = f.whole("num_results", 1, wire.MaxNumResults)
	request.MaxContextChunks = f.whole("max_context_chunks", 1, wire.MaxContextChunks)
	request.SkipDocumentSelection = f.flag("skip_document_selection")
	request.Instant = f.flag("instant")
	request.Exclude = readWanted(f, "exclude")
	request.Phrases = readWanted(f, "phrases")
	request.Explain = f.flag("explain")
	request.Stream = f.flag("stream")
	return request, f.failure()
}

// readWanted reads phrases or exclusions. They are parts of the query, and so together no longer than one may be.
func readWanted(f *fields, name string) []string {
	texts := nonEmpty(f.texts(name))
	runes := 0
	for _, text := range texts {
		runes += utf8.RuneCountInString(text)
	}
	switch {
	case len(texts) > maxWanted:
		f.refuse(json.RawMessage(strconv.Itoa(len(texts))), "too_long",
			fmt.Sprintf("List should have at most %d items", maxWanted), name)
	case runes > wire.MaxQueryRunes:
		f.refuse(json.RawMessage(strconv.Itoa(runes)), "too_long",
			fmt.Sprintf("Items should have at most %d characters together", wire.MaxQueryRunes), name)
	}
	return texts
}

// decodeFilters reads the filters of a search from the parameters of a URL, in which a tag is written key=value.
func decodeFilters(values url.Values) (wire.SearchRequest, error) {
	f := queryFields(values, "sources", "document_sets", "tags", "authors", "document_types")
	if tags, ok := values["tags"]; ok {
		objects := make([]wire.Tag, len(tags))
		for i, tag := range tags {
			key, value, found := strings.Cut(tag, "=")
			if !found {
				f.refuse(mustJSON(tag), "value_error", "Value error, a tag is written key=value", "tags", i)
			}
			objects[i] = wire.Tag{Key: key, Value: value}
		}
		f.raw["tags"] = mustJSON(objects)
	}
	request := wire.SearchRequest{}
	readFilters(f, &request)
	return request, f.failure()
}

// readFilters reads what narrows a search.
func readFilters(f *fields, request *wire.SearchRequest) {
	request.Sources = f.oneOf("sources", sourceValues())
	request.DocumentSets = f.texts("document_sets")
	request.Tags = readTags(f)
	request.TimeCutoff = f.moment("time_cutoff")
	request.TimeCutoffDays = f.whole("time_cutoff_days", 1, wire.MaxTimeCutoffDays)
	if request.TimeCutoff != nil && request.TimeCutoffDays != nil {
		f.problems = append(f.problems, problem{kind: "value_error", where: []any{f.where},
			text: "Value error, time_cutoff and time_cutoff_days exclude each other"})
	}
	request.TimeUntil = f.moment("time_until")
	request.PersonaID = readPersonaID(f)
	request.Authors = nonEmpty(f.texts("authors"))
	request.DocumentTypes = nonEmpty(f.texts("document_types"))
}

// readPersonaID accepts any whole number: one that names no agent is a 404, not a 422.
func readPersonaID(f *fields) *int {
	const furthest = 1 << 53
	return f.whole("persona_id", -furthest, furthest)
}

func readTags(f *fields) []wire.Tag {
	var tags []wire.Tag
	for i, raw := range f.list("tags") {
		if tag := f.object(raw, "tags", i); tag != nil {
			tags = append(tags, wire.Tag{
				Key:   f.member(tag, "tag_key", maxItemRunes, "tags", i),
				Value: f.member(tag, "tag_value", maxItemRunes, "tags", i),
			})
		}
	}
	return tags
}

func readHistory(f *fields) []wire.Message {
	types := []string{"system", "user", "assistant", "tool_call_response", "user_reminder"}
	var messages []wire.Message
	for i, raw := range f.list("message_history") {
		if turn := f.object(raw, "message_history", i); turn != nil {
			kind := f.member(turn, "message_type", maxItemRunes, "message_history", i)
			if kind != "" {
				kind = f.enum(turn.raw["message_type"], types, "message_history", i, "message_type")
			}
			messages = append(messages, wire.Message{
				Message: f.member(turn, "message", maxMessageRunes, "message_history", i), Type: kind,
			})
		}
	}
	return messages
}

// member reads a string that an object in a list must have.
func (f *fields) member(object *fields, name string, most int, where ...any) string {
	where = append(where, name)
	raw, ok := object.raw[name]
	if !ok {
		f.refuse(json.RawMessage("null"), "missing", "Field required", where...)
		return ""
	}
	return f.text(raw, 0, most, where...)
}

// nonEmpty leaves out texts that say nothing and would otherwise match nothing.
func nonEmpty(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
