package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"quarry/client"
	"quarry/client/wire"
)

// askJSON prints a line for each event, as Onyx's CLI does, and at the end one with the whole answer.
type askJSON struct {
	app   *app
	about *asked
	limit int // bytes; 0: none
	size  int // of what was printed
	total int // of what would have been
}

type askEvent struct {
	Type  string `json:"type"`
	Event any    `json:"event"`
}

// The last line of ask, version 1.
type askSummary struct {
	Answer        string      `json:"answer"`
	Sources       []askSource `json:"sources"`
	Documents     int         `json:"documents_found"`
	ChatSessionID string      `json:"chat_session_id"`
	MessageID     int         `json:"message_id"`
	Complete      bool        `json:"complete"` // false: it failed, or was stopped
	Searched      []string    `json:"searched"`
	Schema        int         `json:"schema"`
}

// askSource is a document that an answer cites.
type askSource struct {
	CitationID int     `json:"citation_id"`
	Title      string  `json:"title"`
	URL        *string `json:"url"`
	SourceType string  `json:"source_type"`
	UpdatedAt  *string `json:"updated_at"`
	DocumentID string  `json:"document_id"`
}

// citedSources are the documents that an answer cites, by number.
func citedSources(answer *wire.ChatAnswer) []askSource {
	sources := []askSource{}
	for _, number := range slices.Sorted(maps.Keys(answer.Citations)) {
		document, _ := answer.Document(number)
		sources = append(sources, askSource{CitationID: number, Title: document.Title, URL: document.Link,
			SourceType: document.SourceType, UpdatedAt: document.UpdatedAt, DocumentID: document.DocumentID})
	}
	return sources
}

func (p *askJSON) packet(packet wire.ChatPacket) error {
	switch packet.Type {
	case wire.ChatSessionCreated:
		made := map[string]any{"chat_session_id": packet.SessionID}
		if packet.Incognito {
			made["incognito"] = true
		}
		return p.line(packet.Type, made, false)
	case wire.ChatMessageIDs:
		return p.line(packet.Type, map[string]any{"user_message_id": packet.UserMessageID,
			"reserved_assistant_message_id": packet.MessageID}, false)
	}
	if !slices.Contains(knownPackets(), packet.Type) {
		return p.line("unknown", map[string]any{"placement": packet.Placement, "raw_data": packet.Raw}, false)
	}
	event := map[string]any{}
	var fields map[string]json.RawMessage
	if err := wire.Unmarshal(packet.Raw, &fields); err != nil {
		return fmt.Errorf("read an event: %w", err)
	}
	for name, value := range fields {
		switch {
		case name == "type":
		case name == "final_documents":
			event["documents"] = value
		default:
			event[name] = value
		}
	}
	event["placement"] = packet.Placement
	return p.line(packet.Type, event, packet.Type == wire.ChatStop)
}

// knownPackets returns the types whose events keep their name.
func knownPackets() []string {
	return []string{wire.ChatSearchStart, wire.ChatSearchQueries, wire.ChatSearchFilters, wire.ChatSearchDocuments,
		wire.ChatMessageStart, wire.ChatMessageDelta, wire.ChatCitation, wire.ChatReasoningStart, wire.ChatReasoningDelta,
		wire.ChatReasoningDone, wire.ChatSectionEnd, wire.ChatHeartbeat, wire.ChatError, wire.ChatStop, "open_url_start",
		"image_generation_start", "python_tool_start", "file_reader_start", "custom_tool_start", "deep_research_plan_start",
		"deep_research_plan_delta", "research_agent_start", "intermediate_report_start", "intermediate_report_delta"}
}

func (p *askJSON) end(answer *wire.ChatAnswer, failure error) error {
	var reply *client.Error
	if errors.As(failure, &reply) && reply.Kind != client.Canceled {
		event := map[string]any{"error": reply.Reason, "error_code": reply.Code}
		if err := p.line(wire.ChatError, event, true); err != nil {
			return err
		}
	}
	summary := askSummary{Answer: answer.Text, Sources: citedSources(answer), Documents: len(answer.Documents),
		ChatSessionID: p.about.session, MessageID: answer.MessageID, Complete: failure == nil && !answer.Stopped,
		Searched: []string{p.about.choice.Profile}, Schema: schemaVersion}
	if err := p.line("summary", summary, false); err != nil {
		return err
	}
	if p.total > p.size {
		p.app.say("response truncated (%d bytes total); to print everything: --max-output 0", p.total)
	}
	return nil
}

// line prints an event, unless it does not fit and can be done without.
func (p *askJSON) line(kind string, event any, needed bool) error {
	text, err := json.Marshal(askEvent{kind, event})
	if err != nil {
		return fmt.Errorf("encode an event: %w", err)
	}
	p.total += len(text) + 1
	if p.limit > 0 && p.size+len(text)+1 > p.limit && !needed {
		return nil
	}
	p.size += len(text) + 1
	return p.app.print(append(text, '\n'))
}
