package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
)

// maxMessageRunes bounds one turn of a conversation; the API names no bound.
const maxMessageRunes = 200_000

// maxWanted bounds the phrases, and the exclusions, of a query: each is a search of its own.
const maxWanted = 100

// searchRequest reads a search from its fields. Unknown fields are ignored.
func searchRequest(f *fields) (wire.SearchRequest, error) {
	request := wire.SearchRequest{Offset: f.whole("offset", 0, wire.MaxOffset), Browse: f.flag("browse"),
		SimilarTo: f.textOf("similar_to", maxItemRunes)}
	if request.Browse || request.SimilarTo != "" {
		request.Query = f.textOf("query", wire.MaxQueryRunes)
	} else {
		request.Query = f.requireText("query", 1, wire.MaxQueryRunes)
	}
	request.Sort = f.enumOr("sort", "", wire.SortRelevance, wire.SortNewest, wire.SortOldest)
	readFilters(f, &request)
	request.Provider = f.optionalText("provider", maxItemRunes)
	request.Model = f.optionalText("model", maxItemRunes)
	if (request.Provider == nil) != (request.Model == nil) {
		f.conflict("provider and model must be given together")
	}
	request.SkipQueryExpansion = f.flag("skip_query_expansion")
	request.MessageHistory = readHistory(f)
	request.NumResults = f.whole("num_results", 1, wire.MaxNumResults)
	request.MaxContextChunks = f.whole("max_context_chunks", 1, wire.MaxContextChunks)
	request.SkipDocumentSelection = f.flag("skip_document_selection")
	request.Instant = f.flag("instant")
	request.Prefix = f.flag("prefix")
	request.Exclude = readWanted(f, "exclude")
	request.Phrases = readWanted(f, "phrases")
	request.Explain = f.flag("explain")
	request.Stream = f.flag("stream")
	request.ExcludeFilters = readExcludeFilters(f)
	return request, f.failure()
}

// readWanted reads phrases or exclusions. They are parts of the query, so its maximum length is theirs too.
func readWanted(f *fields, name string) []string {
	texts := nonEmpty(f.texts(name))
	runes := 0
	for _, text := range texts {
		runes += utf8.RuneCountInString(text)
	}
	if !f.refuseLong(name, len(texts), maxWanted) && runes > wire.MaxQueryRunes {
		f.refuse(json.RawMessage(strconv.Itoa(runes)), "too_long",
			fmt.Sprintf("Items should have at most %d characters together", wire.MaxQueryRunes), name)
	}
	return texts
}

// decodeFilters reads the filters of a search from the parameters of a URL, in which a tag is written key=value.
func decodeFilters(values url.Values) (wire.SearchRequest, error) {
	f := queryFields(values)
	f.values = maps.Clone(values)
	for _, row := range field.All() {
		if row.Pairs {
			f.pairs(row.Key)
			f.pairs("exclude_" + row.Key)
		}
	}
	request := wire.SearchRequest{}
	readFilters(f, &request)
	for _, row := range field.All() {
		readField(f, row, "exclude_"+row.Key, row.Request(&request.ExcludeFilters))
	}
	return request, f.failure()
}

// pairs turns the values of a parameter, which are written key=value, into the objects that a body has.
func (f *fields) pairs(name string) {
	texts, ok := f.values[name]
	if !ok {
		return
	}
	objects := make([]wire.Tag, len(texts))
	for i, text := range texts {
		key, value, found := strings.Cut(text, "=")
		if !found {
			f.refuse(mustJSON(text), "value_error", "Value error, a tag is written key=value", name, i)
		}
		objects[i] = wire.Tag{Key: key, Value: value}
	}
	f.raw[name] = mustJSON(objects)
	delete(f.values, name)
}

// readField reads the values of a field.
func readField(f *fields, row field.Field, name string, into field.Values) {
	switch {
	case row.Pairs:
		into.Put(objects(f, name, func(tag *fields) string {
			return field.Pair(tag.requireText("tag_key", 0, maxItemRunes),
				tag.requireText("tag_value", 0, maxItemRunes))
		})...)
	case row.Choices != nil:
		into.Put(f.oneOf(name, row.Choices())...)
	case row.Known:
		into.Put(f.texts(name)...)
	default: // blank texts would match nothing
		into.Put(nonEmpty(f.texts(name))...)
	}
}

// readExcludeFilters reads the object of that name.
func readExcludeFilters(f *fields) wire.Filters {
	return *cmp.Or(nested(f, "exclude_filters", func(inner *fields) (exclude wire.Filters) {
		for _, row := range field.All() {
			readField(inner, row, row.Key, row.Request(&exclude))
		}
		return exclude
	}), &wire.Filters{})
}

// readFilters reads the filters of a search.
func readFilters(f *fields, request *wire.SearchRequest) {
	for _, row := range field.All() {
		readField(f, row, row.Key, row.Request(&request.Filters))
	}
	request.FacetPlace = f.textOf("facet_place", maxItemRunes)
	request.TimeCutoff = f.moment("time_cutoff")
	request.TimeCutoffDays = f.whole("time_cutoff_days", 1, wire.MaxTimeCutoffDays)
	if request.TimeCutoff != nil && request.TimeCutoffDays != nil {
		f.conflict("time_cutoff and time_cutoff_days exclude each other")
	}
	request.TimeUntil = f.moment("time_until")
	request.AddedSince = f.moment("added_since")
	request.PersonaID = f.whole("persona_id", -anyNumber, anyNumber)
}

// anyNumber bounds the numbers of things: one that nothing has is a 404, not a 422.
const anyNumber = 1 << 53

func readHistory(f *fields) []wire.Message {
	types := []string{"system", "user", "assistant", "tool_call_response", "user_reminder"}
	return objects(f, "message_history", func(message *fields) wire.Message {
		return wire.Message{Type: message.requireEnum("message_type", types),
			Message: message.requireText("message", 0, maxMessageRunes)}
	})
}

// nonEmpty removes blank texts, which would match nothing.
func nonEmpty(texts []string) []string {
	return slices.DeleteFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
}

// maxChatRunes bounds a question with the text that was piped in.
const maxChatRunes = 12_000_000

// chatRequest is the body of POST /chat/send-chat-message.
type chatRequest struct {
	wire.ChatRequest
	parent int  // message that it follows; 0: none
	forced *int // the tool that the model must use
	mocked bool // the sender wrote the answer, which only Onyx's own tests may
}

// decodeChat reads a question. It ignores fields of Onyx that this server does not need.
func decodeChat(f *fields) (chatRequest, error) {
	request := chatRequest{parent: wire.LatestMessage}
	request.Message = f.requireText("message", 0, maxChatRunes)
	request.forced = f.whole("forced_tool_id", -anyNumber, anyNumber)
	request.mocked = f.optionalText("mock_llm_response", maxChatRunes) != nil
	request.ChatSessionID = f.sessionID("chat_session_id")
	request.ChatSessionInfo = nested(f, "chat_session_info", (*fields).sessionInfo)
	if request.ChatSessionID != "" && request.ChatSessionInfo != nil {
		f.conflict("Only one of chat_session_id or chat_session_info should be provided, not both")
	}
	if _, named := f.raw["parent_message_id"]; named {
		// null replaces the session's first question
		request.parent = f.wholeOr("parent_message_id", 0, wire.LatestMessage, anyNumber)
	}
	request.Stream, request.IncludeCitations = f.boolean("stream", true), f.boolean("include_citations", true)
	request.AdditionalContext = f.textOf("additional_context", maxChatRunes)
	request.Filters = nested(f, "internal_search_filters", (*fields).chatFilters)
	request.LLMOverride = nested(f, "llm_override", func(inner *fields) wire.LLMOverride {
		return wire.LLMOverride{Provider: inner.optionalText("model_provider", maxItemRunes),
			Model: inner.optionalText("model_version", maxItemRunes)}
	})
	request.FileDescriptors = f.chatFiles()
	request.Refs = f.chatRefs()
	return request, f.failure()
}

// chatRefs reads the passages of a question. A blank one is refused: leaving it out could leave none, and a question
// without refs is answered from a search.
func (f *fields) chatRefs() (refs []string) {
	items := f.list("refs")
	if f.refuseLong("refs", len(items), wire.MaxChatRefs) {
		return nil
	}
	for i, raw := range items {
		refs = append(refs, f.text(raw, 1, maxDocumentID, "refs", i))
	}
	return refs
}

// sessionID reads the id of a session, which may be missing.
func (f *fields) sessionID(name string) string {
	text := f.optionalText(name, maxItemRunes)
	if text == nil {
		return ""
	}
	return f.uuid(mustJSON(*text), name)
}

// sessionInfo reads the properties of a new session.
func (f *fields) sessionInfo() wire.ChatSessionInfo {
	return wire.ChatSessionInfo{ProjectID: f.whole("project_id", 0, anyNumber),
		Incognito:   f.boolean("incognito", false),
		IncognitoID: f.sessionID("incognito_session_id"), PersonaID: f.wholeOr("persona_id", 0, -anyNumber, anyNumber),
		Description: f.textOf("description", maxItemRunes)}
}

// chatFilters reads the filters of the search for an answer.
func (f *fields) chatFilters() wire.ChatFilters {
	filters := wire.ChatFilters{
		TimeCutoff: f.moment("time_cutoff"), Exclude: readWanted(f, "exclude"), Phrases: readWanted(f, "phrases"),
		ExcludeFilters: readExcludeFilters(f),
		UpdatedAt: nested(f, "updated_at_range", func(span *fields) wire.ChatTimeRange {
			return wire.ChatTimeRange{Start: span.moment("start"), End: span.moment("end")}
		}),
	}
	for _, row := range field.All() {
		readField(f, row, row.Chat, row.Request((*wire.Filters)(&filters.ChatLists)))
	}
	return filters
}

// search returns the equivalent request of POST /search.
func (r chatRequest) search(personaID int) wire.SearchRequest {
	request := wire.SearchRequest{Query: firstRunes(r.Message, wire.MaxQueryRunes)} // piped text follows the question
	if personaID != 0 {
		request.PersonaID = &personaID
	}
	if filters := r.Filters; filters != nil {
		request.Filters = wire.Filters(filters.ChatLists)
		request.TimeCutoff, request.ExcludeFilters = filters.TimeCutoff, filters.ExcludeFilters
		request.Exclude, request.Phrases = filters.Exclude, filters.Phrases
		if span := filters.UpdatedAt; span != nil {
			if span.Start != nil {
				request.TimeCutoff = span.Start
			}
			request.TimeUntil = span.End
		}
	}
	if o := r.LLMOverride; o != nil && o.Provider != nil && o.Model != nil {
		request.Provider, request.Model = o.Provider, o.Model
	}
	return request
}
