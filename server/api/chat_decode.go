package api

import (
	"encoding/json"
	"net/http"

	"github.com/google/uuid"

	"quarry/client/wire"
)

// maxChatRunes bounds a question with what was piped in beside it.
const maxChatRunes = 12_000_000

// chatRequest is a question, as POST /chat/send-chat-message puts it.
type chatRequest struct {
	wire.ChatRequest
	parent int // message that it follows; 0: none
}

// decodeChat reads a question. Fields of Onyx that this server has no use for are ignored.
func decodeChat(r *http.Request) (chatRequest, error) {
	f, err := bodyFields(r)
	if err != nil {
		return chatRequest{}, err
	}
	request := chatRequest{parent: wire.LatestMessage}
	if f.require("message") {
		request.Message = f.text(f.raw["message"], 1, maxChatRunes, "message")
	}
	request.ChatSessionID = f.sessionID("chat_session_id")
	if raw, ok := f.given("chat_session_info"); ok {
		request.ChatSessionInfo = f.sessionInfo(raw)
	}
	if request.ChatSessionID != "" && request.ChatSessionInfo != nil {
		f.problems = append(f.problems, problem{kind: "value_error", where: []any{f.where},
			text: "Value error, Only one of chat_session_id or chat_session_info should be provided, not both"})
	}
	if _, named := f.raw["parent_message_id"]; named {
		const latest = 1 << 53
		request.parent = 0 // null asks the session's first question anew
		if parent := f.whole("parent_message_id", wire.LatestMessage, latest); parent != nil {
			request.parent = *parent
		}
	}
	request.Stream, request.IncludeCitations = f.boolean("stream", true), f.boolean("include_citations", true)
	if context := f.optionalText("additional_context", maxChatRunes); context != nil {
		request.AdditionalContext = *context
	}
	request.Filters, request.LLMOverride = f.chatFilters(), f.override()
	request.FileDescriptors = f.chatFiles()
	return request, f.failure()
}

// sessionID reads the id of a session, which may be missing.
func (f *fields) sessionID(name string) string {
	text := f.optionalText(name, maxItemRunes)
	if text == nil {
		return ""
	}
	return f.uuid(mustJSON(*text), name)
}

func (f *fields) uuid(raw json.RawMessage, where ...any) string {
	var text string
	if err := wire.Unmarshal(raw, &text); err != nil {
		text = ""
	}
	id, err := uuid.Parse(text)
	if err != nil {
		f.refuse(raw, "uuid_parsing", "Input should be a valid UUID", where...)
		return ""
	}
	return id.String()
}

func (f *fields) sessionInfo(raw json.RawMessage) *wire.ChatSessionInfo {
	inner := f.object(raw, "chat_session_info")
	if inner == nil {
		return nil
	}
	info := inner.newSession()
	f.problems = append(f.problems, inner.problems...)
	return &info
}

// newSession reads what a new session is to be.
func (f *fields) newSession() wire.ChatSessionInfo {
	info := wire.ChatSessionInfo{ProjectID: f.whole("project_id", 0, 1<<53), Incognito: f.boolean("incognito", false),
		IncognitoID: f.sessionID("incognito_session_id")}
	if id := readPersonaID(f); id != nil {
		info.PersonaID = *id
	}
	if text := f.optionalText("description", maxItemRunes); text != nil {
		info.Description = *text
	}
	return info
}

// chatFilters reads what narrows the search for an answer.
func (f *fields) chatFilters() *wire.ChatFilters {
	raw, ok := f.given("internal_search_filters")
	if !ok {
		return nil
	}
	inner := f.object(raw, "internal_search_filters")
	if inner == nil {
		return nil
	}
	filters := &wire.ChatFilters{
		Sources: inner.oneOf("source_type", sourceValues()), DocumentSets: inner.texts("document_set"),
		Tags: readTags(inner), TimeCutoff: inner.moment("time_cutoff"),
		Authors: nonEmpty(inner.texts("authors")), DocumentTypes: nonEmpty(inner.texts("document_types")),
		Exclude: readWanted(inner, "exclude"), Phrases: readWanted(inner, "phrases"),
	}
	if raw, ok := inner.given("updated_at_range"); ok {
		if span := inner.object(raw, "updated_at_range"); span != nil {
			filters.UpdatedAt = &wire.ChatTimeRange{Start: span.moment("start"), End: span.moment("end")}
			inner.problems = append(inner.problems, span.problems...)
		}
	}
	f.problems = append(f.problems, inner.problems...)
	return filters
}

// override reads which model is to be asked.
func (f *fields) override() *wire.LLMOverride {
	raw, ok := f.given("llm_override")
	if !ok {
		return nil
	}
	inner := f.object(raw, "llm_override")
	if inner == nil {
		return nil
	}
	override := &wire.LLMOverride{
		Provider: inner.optionalText("model_provider", maxItemRunes), Model: inner.optionalText("model_version", maxItemRunes),
	}
	f.problems = append(f.problems, inner.problems...)
	return override
}

// search is the search that a question makes: what POST /search would be asked for the same.
func (r chatRequest) search(personaID int) wire.SearchRequest {
	request := wire.SearchRequest{Query: r.Message}
	if runes := []rune(r.Message[:min(len(r.Message), 8*wire.MaxQueryRunes)]); len(runes) > wire.MaxQueryRunes {
		request.Query = string(runes[:wire.MaxQueryRunes]) // what was piped in stands behind the question
	}
	if personaID != 0 {
		request.PersonaID = &personaID
	}
	if filters := r.Filters; filters != nil {
		request.Sources, request.DocumentSets, request.Tags = filters.Sources, filters.DocumentSets, filters.Tags
		request.TimeCutoff = filters.TimeCutoff
		request.Authors, request.DocumentTypes = filters.Authors, filters.DocumentTypes
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
