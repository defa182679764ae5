package explorer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quarry/client/wire"
)

// chatty is a server whose chat says the lines that a test hands over.
func chatty(lines chan string) (*script, chan string) {
	asked := make(chan string, 10)
	server := &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		result := sixFields(1, "Runbook", "Roll back with kwctl.")
		result["document_id"] = "confluence:1"
		answer200(w, map[string]any{"results": []any{sixFields(2, "Another", "x"), result}})
	}}
	server.routes = map[string]http.HandlerFunc{"POST /chat/send-chat-message": func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		if _, err := r.Body.Read(body); err != nil && len(body) == 0 {
			return
		}
		asked <- string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}}
	return server, asked
}

func packet(object string) string {
	return `{"placement":{"turn_index":0,"tab_index":0,"sub_turn_index":null,"model_index":null},"obj":` + object + `}`
}

const runbookDoc = `{"document_id":"confluence:1","semantic_identifier":"Runbook","source_type":"confluence","link":"https://wiki.acme.com/1"}`

func TestAnAnswerIsStreamedAndCited(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	server, asked := chatty(lines)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back source:confluence"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("Answer · searching")
	if body := <-asked; !strings.Contains(body, `"message":"roll back"`) || !strings.Contains(body, `"source_type":["confluence"]`) {
		t.Errorf("asked %s", body)
	}
	lines <- `{"chat_session_id":"11111111-2222-3333-4444-555555555555","incognito":false}`
	lines <- `{"user_message_id":1,"reserved_assistant_message_id":2}`
	lines <- packet(`{"type":"search_tool_queries_delta","queries":["rollback of a release"]}`)
	screen.WaitText("searched for “rollback of a release”")
	lines <- packet(`{"type":"search_tool_filter_delta","sources":["confluence"],"time_filter_start":"2026-01-01T00:00:00Z"}`)
	screen.WaitText("narrowed to Confluence, since 2026-01-01")
	lines <- packet(`{"type":"search_tool_documents_delta","documents":[` + runbookDoc + `]}`)
	screen.WaitText("reading 1 document")
	lines <- packet(`{"type":"message_start","final_documents":[` + runbookDoc + `]}`)
	lines <- packet(`{"type":"message_delta","content":"Use **kwctl roll"}`)
	screen.WaitText("Use **kwctl roll")
	lines <- packet(`{"type":"message_delta","content":"back** [[1]](https://wiki.acme.com/1)."}`)
	screen.WaitText("Use kwctl rollback [1].")
	lines <- packet(`{"type":"citation_info","citation_number":1,"document_id":"confluence:1"}`)
	lines <- packet(`{"type":"stop","stop_reason":null}`)
	screen.WaitText("[1] Runbook · Confluence")
	screen.WaitText("Answer · 1 document")

	screen.Press("a")
	screen.Type("and firmware?")
	screen.Press("enter")
	if body := <-asked; !strings.Contains(body, "11111111-2222") || !strings.Contains(body, "and firmware?") {
		t.Errorf("the thread was lost: %s", body)
	}
	lines <- packet(`{"type":"message_delta","content":"Firmware cannot"}`)
	screen.WaitText("Firmware cannot")
	screen.Press("esc")
	screen.WaitText("Answer · stopped")
	screen.WaitText("Firmware cannot")
	screen.Press("1")
	screen.WaitText("│[1] Runbook") // the reader has the keys
	screen.WaitGone("Answer ·")
}

func TestWithoutAModelTheResultsAreOffered(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	server.routes["POST /chat/send-chat-message"] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message":"No default LLM model found"}`)
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("no language model is configured")
	screen.WaitText("The passages found stand in")
	screen.Press("esc")
	screen.WaitGone("no language model")
	screen.Press("esc")
	screen.Press("ctrl+u")
	screen.Press("f1")
	screen.WaitText("All actions")
}

func TestALateAnswerOfAModelIsDropped(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Remote}, Now: today, Width: 120, Height: 40})
	m.answer.Begin("q")
	for _, msg := range []any{packetsMsg{id: 5, packets: []wire.ChatPacket{{Type: wire.ChatMessageDelta, ChatObject: wire.ChatObject{Content: "late"}}}},
		answeredMsg{id: 5, answer: &wire.ChatAnswer{Text: "late"}}} {
		m.Update(msg)
	}
	m.overlay = InAnswer
	if screen := m.View().Content; strings.Contains(screen, "late") {
		t.Error(screen)
	}
}
