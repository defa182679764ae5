package chat

import "quarry/client/wire"

// Packet is one line of a streamed answer.
type Packet struct {
	Placement placement `json:"placement"`
	Object    any       `json:"obj"`
}

type placement struct {
	TurnIndex    int  `json:"turn_index"`
	TabIndex     int  `json:"tab_index"`
	SubTurnIndex *int `json:"sub_turn_index"`
	ModelIndex   *int `json:"model_index"`
}

// The turns of an answer.
const (
	TurnSearch = 0
	TurnAnswer = 1
)

// At returns the packet of an object in a turn.
func At(turn int, object any) Packet { return Packet{placement{TurnIndex: turn}, object} }

// The objects of packets, by type.
type (
	plain struct {
		Type string `json:"type"`
	}
	searchStart struct {
		Type       string `json:"type"`
		IsInternet bool   `json:"is_internet_search"`
	}
	searchQueries struct {
		Type    string   `json:"type"`
		Queries []string `json:"queries"`
	}
	searchFilters struct {
		Type    string   `json:"type"`
		Sources []string `json:"sources"`
		Start   *string  `json:"time_filter_start"`
		End     *string  `json:"time_filter_end"`
	}
	searchDocuments struct {
		Type      string           `json:"type"`
		Documents []wire.SearchDoc `json:"documents"`
	}
	messageStart struct {
		Type           string           `json:"type"`
		FinalDocuments []wire.SearchDoc `json:"final_documents"`
		Seconds        float64          `json:"pre_answer_processing_seconds"`
	}
	messageDelta struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	citationInfo struct {
		Type       string `json:"type"`
		Number     int    `json:"citation_number"`
		DocumentID string `json:"document_id"`
	}
	stop struct {
		Type   string  `json:"type"`
		Reason *string `json:"stop_reason"`
	}
)

// SearchStart is sent when a search begins.
func SearchStart() any { return searchStart{Type: wire.ChatSearchStart} }

// SearchQueries lists the queries, those with the highest weight first.
func SearchQueries(queries []string) any { return searchQueries{wire.ChatSearchQueries, queries} }

// SearchFilters lists the limits of the search.
func SearchFilters(sources []string, start, end *string) any {
	return searchFilters{wire.ChatSearchFilters, sources, start, end}
}

// SearchDocuments lists the documents that the model reads.
func SearchDocuments(documents []wire.SearchDoc) any {
	return searchDocuments{wire.ChatSearchDocuments, documents}
}

// SectionEnd ends a turn.
func SectionEnd() any { return plain{wire.ChatSectionEnd} }

// Heartbeat is sent while there is nothing else to send.
func Heartbeat() any { return plain{wire.ChatHeartbeat} }

// MessageStart begins the answer; seconds is the time since the question.
func MessageStart(documents []wire.SearchDoc, seconds float64) any {
	return messageStart{wire.ChatMessageStart, documents, seconds}
}

// MessageDelta is the next part of the answer.
func MessageDelta(text string) any { return messageDelta{wire.ChatMessageDelta, text} }

// Citation names the document of a citation number.
func Citation(number int, documentID string) any {
	return citationInfo{wire.ChatCitation, number, documentID}
}

// Stop ends the stream. cancelled is set if the user stopped the answer.
func Stop(cancelled bool) any {
	end := stop{Type: wire.ChatStop}
	if cancelled {
		reason := wire.StopCancelled
		end.Reason = &reason
	}
	return end
}
