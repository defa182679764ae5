package api

import (
	"net/http"

	"quarry/client/wire"
)

// maxChatRunes bounds a question with the text that was piped in.
const maxChatRunes = 12_000_000

// chatRequest is the body of POST /chat/send-chat-message.
type chatRequest struct {
	wire.ChatRequest
	parent int // message that it follows; 0: none
}

// decodeChat reads a question. It ignores fields of Onyx that this server does not need.
func decodeChat(r *http.Request) (chatRequest, error) {
	f := bodyFields(r)
	request := chatRequest{parent: wire.LatestMessage}
	request.Message = f.requireText("message", 1, maxChatRunes)
	request.ChatSessionID = f.sessionID("chat_session_id")
	request.ChatSessionInfo = nested(f, "chat_session_info", (*fields).newSession)
	if request.ChatSessionID != "" && request.ChatSessionInfo != nil {
		f.conflict("Only one of chat_session_id or chat_session_info should be provided, not both")
	}
	if _, named := f.raw["parent_message_id"]; named {
		const latest = 1 << 53
		request.parent = 0 // null replaces the session's first question
		if parent := f.whole("parent_message_id", wire.LatestMessage, latest); parent != nil {
			request.parent = *parent
		}
	}
	request.Stream, request.IncludeCitations = f.boolean("stream", true), f.boolean("include_citations", true)
	request.AdditionalContext = f.textOr("additional_context", "", maxChatRunes)
	request.Filters = nested(f, "internal_search_filters", (*fields).chatFilters)
	request.LLMOverride = nested(f, "llm_override", func(inner *fields) wire.LLMOverride {
		return wire.LLMOverride{Provider: inner.optionalText("model_provider", maxItemRunes),
			Model: inner.optionalText("model_version", maxItemRunes)}
	})
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

// newSession reads the properties of a new session.
func (f *fields) newSession() wire.ChatSessionInfo {
	info := wire.ChatSessionInfo{ProjectID: f.whole("project_id", 0, 1<<53), Incognito: f.boolean("incognito", false),
		IncognitoID: f.sessionID("incognito_session_id")}
	if id := readPersonaID(f); id != nil {
		info.PersonaID = *id
	}
	info.Description = f.textOr("description", "", maxItemRunes)
	return info
}

// chatFilters reads the filters of the search for an answer.
func (f *fields) chatFilters() wire.ChatFilters {
	return wire.ChatFilters{
		Sources: f.oneOf("source_type", sourceValues()), DocumentSets: f.texts("document_set"),
		Tags: readTags(f), TimeCutoff: f.moment("time_cutoff"),
		Authors: nonEmpty(f.texts("authors")), DocumentTypes: nonEmpty(f.texts("document_types")),
		Exclude: readWanted(f, "exclude"), Phrases: readWanted(f, "phrases"),
		UpdatedAt: nested(f, "updated_at_range", func(span *fields) wire.ChatTimeRange {
			return wire.ChatTimeRange{Start: span.moment("start"), End: span.moment("end")}
		}),
	}
}

// search returns the equivalent request of POST /search.
func (r chatRequest) search(personaID int) wire.SearchRequest {
	request := wire.SearchRequest{Query: r.Message}
	if runes := []rune(r.Message[:min(len(r.Message), 8*wire.MaxQueryRunes)]); len(runes) > wire.MaxQueryRunes {
		request.Query = string(runes[:wire.MaxQueryRunes]) // piped text follows the question
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
