package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"go.mau.fi/util/exslices"
)

// Bounds of a chat that both ends know.
const (
	MaxChatRunes        = 200_000 // of a message, with what was piped in
	MaxChatRefs         = 20
	MaxChatSessions     = 100 // of one page
	DefaultChatSessions = 50
	// LatestMessage as ParentMessageID continues after the last message of the session.
	LatestMessage = -1
)

// ChatRequest is the body of POST /chat/send-chat-message. ChatSessionID continues a session; without it,
// ChatSessionInfo creates one.
type ChatRequest struct {
	Message           string           `json:"message"`
	ChatSessionID     string           `json:"chat_session_id,omitempty"`
	ChatSessionInfo   *ChatSessionInfo `json:"chat_session_info,omitempty"`
	ParentMessageID   *int             `json:"parent_message_id"`
	FileDescriptors   []ChatFile       `json:"file_descriptors"`
	Filters           *ChatFilters     `json:"internal_search_filters,omitempty"`
	LLMOverride       *LLMOverride     `json:"llm_override,omitempty"`
	AdditionalContext string           `json:"additional_context,omitempty"`
	Origin            string           `json:"origin,omitempty"`
	IncludeCitations  bool             `json:"include_citations"`
	Stream            bool             `json:"stream"`
	// Refs are the passages to answer from; without any the server searches. Onyx ignores them: see FeatureRefs.
	Refs []string `json:"refs,omitempty"`
}

// ChatSessionInfo describes a new session. It is also the body of POST /chat/create-chat-session.
type ChatSessionInfo struct {
	PersonaID   int    `json:"persona_id"`
	Description string `json:"description,omitempty"`
	ProjectID   *int   `json:"project_id,omitempty"`
	// Incognito sessions are neither listed nor stored.
	Incognito bool `json:"incognito,omitempty"`
	// IncognitoID is the id of an incognito session, a UUID; empty: the server chooses one.
	IncognitoID string `json:"incognito_session_id,omitempty"`
}

// ChatFile is a file that was uploaded before and belongs to the message.
type ChatFile struct {
	ID   string `json:"id"`
	Type string `json:"type"` // such as ChatFileText
	Name string `json:"name,omitempty"`
	// UserFileID is the ID of the UserFile; an uploaded file has one id as both.
	UserFileID string `json:"user_file_id,omitempty"`
}

// ChatFilters narrow the search for an answer.
type ChatFilters struct {
	ChatLists
	UpdatedAt  *ChatTimeRange `json:"updated_at_range,omitempty"`
	TimeCutoff *Time          `json:"time_cutoff,omitempty"`

	// The fields below are unknown to Onyx, which ignores them. They have the same meaning as in a SearchRequest.

	Exclude        []string `json:"exclude,omitempty"`
	Phrases        []string `json:"phrases,omitempty"`
	ExcludeFilters Filters  `json:"exclude_filters,omitzero"`
}

// ChatLists are Filters with the keys that they have in a question. Each converts to the other.
type ChatLists struct {
	Sources       []string `json:"source_type,omitempty"`
	DocumentSets  []string `json:"document_set,omitempty"`
	Tags          []Tag    `json:"tags,omitempty"`
	Authors       []string `json:"authors,omitempty"`
	DocumentTypes []string `json:"document_types,omitempty"`
	Languages     []string `json:"languages,omitempty"`
	Places        []string `json:"places,omitempty"`
}

// ChatTimeRange is a range of time, open where an end is nil.
type ChatTimeRange struct {
	Start *Time `json:"start,omitempty"`
	End   *Time `json:"end,omitempty"`
}

// LLMOverride selects a model instead of the default.
type LLMOverride struct {
	Provider *string `json:"model_provider,omitempty"`
	Model    *string `json:"model_version,omitempty"`
}

// SearchDoc is a document in a chat: the passage that the model read, and the metadata of the document.
type SearchDoc struct {
	DocumentID           string              `json:"document_id"`
	ChunkInd             int                 `json:"chunk_ind"`
	Title                string              `json:"semantic_identifier"`
	Link                 *string             `json:"link"`
	Blurb                string              `json:"blurb"`
	SourceType           string              `json:"source_type"`
	Boost                int                 `json:"boost"`
	Hidden               bool                `json:"hidden"`
	Metadata             map[string]Metadata `json:"metadata"`
	Score                *float64            `json:"score"`
	IsRelevant           *bool               `json:"is_relevant"`
	RelevanceExplanation *string             `json:"relevance_explanation"`
	MatchHighlights      []string            `json:"match_highlights"`
	UpdatedAt            *string             `json:"updated_at"` // ISO 8601 with offset
	PrimaryOwners        []string            `json:"primary_owners"`
	SecondaryOwners      []string            `json:"secondary_owners"`
	IsInternet           bool                `json:"is_internet"`
	FileID               *string             `json:"file_id"`

	// What our server adds.
	Citation    string   `json:"citation,omitempty"`
	HeadingPath []string `json:"heading_path,omitempty"`
}

// Result returns the document as a passage with a citation number.
func (d SearchDoc) Result(number int) SearchResult {
	return SearchResult{CitationID: &number, Title: d.Title, Content: d.Blurb, Link: d.Link, SourceType: d.SourceType,
		UpdatedAt: d.UpdatedAt, DocumentID: d.DocumentID, Ref: d.DocumentID + "#" + strconv.Itoa(d.ChunkInd),
		ChunkInd: d.ChunkInd, ChunkStart: d.ChunkInd, ChunkEnd: d.ChunkInd, Blurb: d.Blurb, Metadata: d.Metadata,
		Authors: d.PrimaryOwners, Selected: true, Citation: d.Citation, HeadingPath: d.HeadingPath}
}

// ChatPlacement is the position of a packet in an answer.
type ChatPlacement struct {
	TurnIndex    int  `json:"turn_index"`
	TabIndex     int  `json:"tab_index"`
	SubTurnIndex *int `json:"sub_turn_index"`
	ModelIndex   *int `json:"model_index,omitempty"`
}

// ChatPacket is one line of a streamed answer: its type, and the fields of all types that are read. A packet of
// an unknown type has only Type and Raw.
type ChatPacket struct {
	Type      string
	Placement *ChatPlacement
	// Raw is the object of the packet as received, with its text sanitised.
	Raw json.RawMessage

	SessionID     string // of session_created
	Incognito     bool   // of session_created: the session is neither listed nor stored
	UserMessageID int    // of message_id_info
	MessageID     int    // of message_id_info: of the answer

	ChatObject
}

// ChatObject has the fields of packets that are read.
type ChatObject struct {
	Content         string      `json:"content"`           // of message_delta
	Reasoning       string      `json:"reasoning"`         // of reasoning_delta
	Queries         []string    `json:"queries"`           // of search_tool_queries_delta
	Sources         []string    `json:"sources"`           // of search_tool_filter_delta; empty: all
	TimeFilterStart *string     `json:"time_filter_start"` // of search_tool_filter_delta
	TimeFilterEnd   *string     `json:"time_filter_end"`
	Documents       []SearchDoc `json:"documents"`       // of search_tool_documents_delta: those that the model reads
	FinalDocuments  []SearchDoc `json:"final_documents"` // of message_start
	CitationNumber  int         `json:"citation_number"` // of citation_info
	DocumentID      string      `json:"document_id"`     // of citation_info
	StopReason      *string     `json:"stop_reason"`     // of stop
	ToolName        string      `json:"tool_name"`       // of custom_tool_start
	ResearchTask    string      `json:"research_task"`   // of research_agent_start
}

// The types of packets. The first two are this program's names for the lines that come before the packets.
const (
	ChatSessionCreated = "session_created"
	ChatMessageIDs     = "message_id_info"

	ChatSearchStart     = "search_tool_start"
	ChatSearchQueries   = "search_tool_queries_delta"
	ChatSearchFilters   = "search_tool_filter_delta"
	ChatSearchDocuments = "search_tool_documents_delta"
	ChatMessageStart    = "message_start"
	ChatMessageDelta    = "message_delta"
	ChatCitation        = "citation_info"
	ChatReasoningStart  = "reasoning_start"
	ChatReasoningDelta  = "reasoning_delta"
	ChatReasoningDone   = "reasoning_done"
	ChatSectionEnd      = "section_end"
	ChatHeartbeat       = "chat_heartbeat"
	ChatError           = "error"
	ChatStop            = "stop"
)

// StopCancelled is the reason of a requested stop.
const StopCancelled = "user_cancelled"

// ChatAnswer is the answer to a question.
type ChatAnswer struct {
	Text string // markdown, with [[1]](link) where a document is cited
	// Citations maps each number that the text cites to the id of a document.
	Citations map[int]string
	// Documents are the sources of the answer, without duplicates, in the order of the search.
	Documents     []SearchDoc
	SessionID     string
	MessageID     int // of the answer
	UserMessageID int
	// Incognito is set if a new session is neither listed nor stored.
	Incognito bool
	// Stopped is set if the answer was stopped early on request.
	Stopped bool
}

// MaxChatDocuments bounds the documents and the citations of an answer.
const MaxChatDocuments = 1000

// AddDocuments adds the documents that the answer does not have yet.
func (a *ChatAnswer) AddDocuments(documents []SearchDoc) {
	for _, document := range documents {
		isSame := func(known SearchDoc) bool { return known.DocumentID == document.DocumentID }
		if len(a.Documents) < MaxChatDocuments && !slices.ContainsFunc(a.Documents, isSame) {
			a.Documents = append(a.Documents, document)
		}
	}
}

// Document returns the document of a citation number.
func (a *ChatAnswer) Document(citation int) (SearchDoc, bool) {
	id, ok := a.Citations[citation]
	at := slices.IndexFunc(a.Documents, func(document SearchDoc) bool { return document.DocumentID == id })
	if !ok || at < 0 {
		return SearchDoc{DocumentID: id}, false
	}
	return a.Documents[at], true
}

// Cited returns the documents that the answer cites as passages, by number, and if unknown is set also those of which
// only the id is known.
func (a *ChatAnswer) Cited(unknown bool) []SearchResult {
	return exslices.CastFuncFilter(slices.Sorted(maps.Keys(a.Citations)), func(number int) (SearchResult, bool) {
		document, known := a.Document(number)
		return document.Result(number), known || unknown
	})
}

// ChatFullResponse is the answer of POST /chat/send-chat-message without streaming.
type ChatFullResponse struct {
	Answer             string           `json:"answer"`
	AnswerCitationless string           `json:"answer_citationless"`
	PreAnswerReasoning *string          `json:"pre_answer_reasoning"`
	ToolCalls          []ToolCall       `json:"tool_calls"`
	TopDocuments       []SearchDoc      `json:"top_documents"`
	CitationInfo       []ChatCitationAt `json:"citation_info"`
	MessageID          int              `json:"message_id"`
	ChatSessionID      *string          `json:"chat_session_id"`
	Incognito          bool             `json:"incognito"`
	ErrorMessage       *string          `json:"error_msg"`
}

// ToolCall is a tool that the model used, and what it returned.
type ToolCall struct {
	Name            string         `json:"tool_name"`
	Arguments       map[string]any `json:"tool_arguments"`
	Result          string         `json:"tool_result"`
	SearchDocs      []SearchDoc    `json:"search_docs"`
	GeneratedImages []any          `json:"generated_images"`
	PreReasoning    *string        `json:"pre_reasoning"`
}

// ChatCitationAt maps a citation number to a document.
type ChatCitationAt struct {
	Type           string `json:"type"` // ChatCitation
	CitationNumber int    `json:"citation_number"`
	DocumentID     string `json:"document_id"`
}

// ChatSessions is the answer of GET /chat/get-user-chat-sessions.
type ChatSessions struct {
	Sessions []ChatSession `json:"sessions"`
	HasMore  bool          `json:"has_more"`
}

// ChatSession is a listed session.
type ChatSession struct {
	ID                     string   `json:"id"`
	Name                   *string  `json:"name"`
	PersonaID              *int     `json:"persona_id"`
	TimeCreated            string   `json:"time_created"`
	TimeUpdated            string   `json:"time_updated"`
	SharedStatus           string   `json:"shared_status"`
	CurrentAlternateModel  *string  `json:"current_alternate_model"`
	CurrentTemperature     *float64 `json:"current_temperature_override"`
	CurrentReasoningEffort *string  `json:"current_reasoning_effort_override"`
}

// ChatSessionDetail is the answer of GET /chat/get-chat-session/{id}.
type ChatSessionDetail struct {
	ID                     string        `json:"chat_session_id"`
	Description            *string       `json:"description"`
	PersonaID              *int          `json:"persona_id"`
	PersonaName            *string       `json:"persona_name"`
	PersonalIconName       *string       `json:"personal_icon_name"`
	Messages               []ChatMessage `json:"messages"`
	TimeCreated            string        `json:"time_created"`
	SharedStatus           string        `json:"shared_status"`
	CurrentAlternateModel  *string       `json:"current_alternate_model"`
	CurrentTemperature     *float64      `json:"current_temperature_override"`
	CurrentReasoningEffort *string       `json:"current_reasoning_effort_override"`
	Deleted                bool          `json:"deleted"`
	OwnerName              *string       `json:"owner_name"`
	Packets                [][]any       `json:"packets"`
	CurrentRun             *ChatRun      `json:"current_run"`
	Incognito              bool          `json:"incognito"`
}

// ChatRun is an answer that is being written.
type ChatRun struct {
	ID int `json:"run_id"`
}

// SavedSearchDoc is a document of a stored answer.
type SavedSearchDoc struct {
	SearchDoc
	ID int `json:"db_doc_id"`
}

// ChatMessage is one message of a session.
type ChatMessage struct {
	SessionID          string            `json:"chat_session_id"`
	ID                 int               `json:"message_id"`
	ParentMessage      *int              `json:"parent_message"`
	LatestChildMessage *int              `json:"latest_child_message"`
	Message            string            `json:"message"`
	ReasoningTokens    any               `json:"reasoning_tokens"`
	Type               string            `json:"message_type"` // system, user, assistant
	ContextDocs        []SavedSearchDoc  `json:"context_docs"`
	Citations          map[string]string `json:"citations"` // number → document id
	TimeSent           string            `json:"time_sent"`
	Files              []ChatFile        `json:"files"`
	Error              *string           `json:"error"`
	CurrentFeedback    *string           `json:"current_feedback"`
	ProcessingSeconds  *float64          `json:"processing_duration_seconds"`
	PreferredResponse  *int              `json:"preferred_response_id"`
	ModelDisplayName   *string           `json:"model_display_name"`
	RequestParams      any               `json:"request_params"`
}

// MadeChatSession is the answer of POST /chat/create-chat-session.
type MadeChatSession struct {
	ID        string `json:"chat_session_id"`
	Incognito bool   `json:"incognito"`
}

// RenameChatSession is the body of PUT /chat/rename-chat-session. Without a name the server chooses one.
type RenameChatSession struct {
	ID   string  `json:"chat_session_id"`
	Name *string `json:"name"`
}

// RenamedChatSession is the answer of PUT /chat/rename-chat-session.
type RenamedChatSession struct {
	NewName string `json:"new_name"`
}
