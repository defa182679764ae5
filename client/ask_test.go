package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"quarry/client/wire"
)

const eventStream = "text/event-stream"

func TestAsk(t *testing.T) {
	t.Parallel()
	var sent string
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		answering(http.StatusOK, eventStream, fixture(t, "chat/chat-stream.ndjson"))(w, r)
	})
	var types []string
	answer, err := c.Ask(t.Context(), wire.ChatRequest{Message: "how?", ChatSessionInfo: &wire.ChatSessionInfo{PersonaID: 7}},
		func(p wire.ChatPacket) {
			types = append(types, p.Type)
			if !json.Valid(p.Raw) {
				t.Errorf("raw %s", p.Raw)
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	const wantSent = `{"message":"how?","chat_session_info":{"persona_id":7},"parent_message_id":-1,"file_descriptors":[],` +
		`"origin":"api","include_citations":true,"stream":true}`
	if sent != wantSent {
		t.Errorf("sent %s", sent)
	}
	const wantTypes = "session_created message_id_info search_tool_start search_tool_queries_delta " +
		"search_tool_filter_delta search_tool_documents_delta section_end chat_heartbeat message_start message_delta " +
		"message_delta citation_info message_delta a_packet_of_tomorrow section_end stop"
	if got := strings.Join(types, " "); got != wantTypes {
		t.Errorf("packets %s", got)
	}
	if answer.SessionID != "0a6cb2de-3a53-4d5e-8f2e-6f8f3b9a1c11" || answer.UserMessageID != 41 || answer.MessageID != 42 ||
		answer.Text != "Roll back with `deployctl rollback` [[1]](https://wiki.acme.example/spaces/PLAT/pages/88123/"+
			"Rolling+back), then tell #incidents." || len(answer.Documents) != 2 || answer.Stopped {
		t.Errorf("%+v", answer)
	}
	document, ok := answer.Document(1)
	if !ok || document.Title != "Runbook: rolling back a release" || document.Link == nil || document.ChunkInd != 3 {
		t.Errorf("%+v, %t", document, ok)
	}
	if _, ok := answer.Document(2); ok {
		t.Error("a citation that the answer does not have")
	}
}

func TestAskBodies(t *testing.T) {
	t.Parallel()
	delta := func(text string) string {
		return fmt.Sprintf(`{"placement":{"turn_index":0,"tab_index":0},"obj":{"type":"message_delta","content":%q}}`, text)
	}
	const stop = `{"obj":{"type":"stop","stop_reason":null}}`
	tests := []struct {
		name, body, text, reason string
		kind                     Kind
	}{
		{name: "as events", body: ": hello\n\nevent: x\ndata: " + delta("a") + "\n\ndata:" + delta("b") + "\r\n\r\ndata: " + stop,
			text: "ab"},
		{name: "what follows the end", body: delta("a") + "\n" + stop + "\ngarbage", text: "a"},
		{name: "an unknown packet that has a known field in another shape", body: `{"obj":{"type":"new","content":[1]}}` +
			"\n" + delta("a") + "\n" + stop, text: "a"},
		{name: "an unknown line", body: `{"hello":"world"}` + "\n" + stop},
		{name: "a packet without a type", body: `{"obj":{}}` + "\n" + stop},
		{name: "an error inside", body: string(fixture(t, "chat/chat-stream-error.ndjson")),
			reason: "The model refused the request (RATE_LIMIT)", kind: RateLimited},
		{name: "the generator died", body: delta("a") + "\n" + `{"error":"boom"}`, text: "a", reason: "boom", kind: Server},
		{name: "an error packet", body: `{"obj":{"type":"error"}}`, reason: "without a reason", kind: Server},
		{name: "an error without words", body: `{"error":{},"error_code":null}`, reason: "without a reason", kind: Server},
		{name: "cut off", body: string(fixture(t, "chat/chat-stream-cut.ndjson")),
			text: "Roll back with `deployctl rollback`", reason: "ended early", kind: Server},
		{name: "lines that cannot be read", body: delta("a") + "\n" + `{"obj":{"type":"message_delta","content":7}}` + "\n" + `{"obj":` + "\n" + delta("b") + "\n" + stop,
			text: "ab\n\n*2 parts of the answer cannot be read.*"},
		{name: "no stop", body: delta("a") + "\n", text: "a", reason: "ended early", kind: Server},
		{name: "nothing", reason: "ended early, after 0 bytes", kind: Server},
		{name: "a list", body: "[]", reason: "does not match this request", kind: Server},
		{name: "null", body: "null", reason: "null", kind: Server},
		{name: "a page", body: "<html><body>hi</body></html>", reason: "a web page", kind: Server},
		{name: "a wrong shape", body: `{"obj":{"type":"message_delta","content":7}}`, reason: "in content", kind: Server},
		{name: "too much text", body: strings.Repeat(delta(strings.Repeat("x", 1<<20))+"\n", 5),
			text: strings.Repeat("x", 4<<20), reason: "more than 4 MB", kind: Server},
		{name: "a long line", body: strings.Repeat("x", maxListingBytes+1), reason: "more than 8 MB", kind: Server},
		{name: "too much of it", body: strings.Repeat(`{"obj":{"type":"new","x":"`+strings.Repeat("x", 64<<10)+"\"}}\n", 1<<10),
			reason: "more than 64 MB", kind: Server},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := serving(t, answering(http.StatusOK, eventStream, []byte(test.body)))
			answer, err := c.Ask(t.Context(), wire.ChatRequest{Message: "x"}, nil)
			if answer == nil || answer.Text != test.text {
				t.Errorf("answer %.200v", answer)
			}
			if test.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := asError(t, err); e.Kind != test.kind || !strings.Contains(e.Error(), test.reason) {
				t.Errorf("kind %s: %v", e.Kind, e)
			}
		})
	}
}

func TestAskIsClean(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusOK, eventStream, []byte(strings.Join([]string{
		`{"obj":{"type":"search_tool_queries_delta","queries":["a\u001b[2Jb\nc"]}}`,
		`{"obj":{"type":"message_start","final_documents":[{"document_id":"d","semantic_identifier":"T\u202ei\u001b]0;x\u0007",` +
			`"link":"javascript:alert(1)","updated_at":"soon","metadata":{"k\u001b":["v\u009b"]},"score":null}]}}`,
		`{"obj":{"type":"message_delta","content":"one\u001b"}}`,
		`{"obj":{"type":"message_delta","content":"[31mtwo\n\u0007three"}}`,
		`{"obj":{"type":"made\u001b[1mup","\u001b":"\u009b"}}`,
		`{"obj":{"type":"stop","stop_reason":"user_cancelled"}}`,
	}, "\n"))))
	answer, err := c.Ask(t.Context(), wire.ChatRequest{Message: "x"}, func(p wire.ChatPacket) {
		shown, _ := json.Marshal(p)
		var raw any
		if err := json.Unmarshal(p.Raw, &raw); err != nil {
			t.Error(err)
		}
		if text := fmt.Sprint(raw, p.Type, p.ChatObject); hasControl(text) || strings.Contains(string(shown), `\u001b`) {
			t.Errorf("packet %q", text)
		}
	})
	if err != nil || !answer.Stopped || strings.ContainsRune(answer.Text, 0x1b) || len(answer.Documents) != 1 {
		t.Fatalf("%+v, %v", answer, err)
	}
	if d := answer.Documents[0]; d.Link != nil || d.UpdatedAt != nil || hasControl(d.Title) {
		t.Errorf("%+v", d)
	}
}

func TestAskFallsSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := inMemory(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", eventStream)
			_, _ = io.WriteString(w, `{"obj":{"type":"message_delta","content":"half"}}`+"\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		})
		answer, err := c.Ask(t.Context(), wire.ChatRequest{Message: "x"}, nil)
		if e := asError(t, err); e.Kind != Timeout || !strings.Contains(e.Reason, "no data for 1m0s") {
			t.Error(e)
		}
		if answer == nil || answer.Text != "half" {
			t.Errorf("%+v", answer)
		}
		ctx, cancel := context.WithCancel(t.Context())
		answer, err = c.Ask(ctx, wire.ChatRequest{Message: "x"}, func(wire.ChatPacket) { cancel() })
		if KindOf(err) != Canceled || answer == nil || answer.Text != "half" {
			t.Errorf("%+v, %v", answer, err)
		}
	})
}

func TestAskRefused(t *testing.T) {
	t.Parallel()
	c := serving(t, answering(http.StatusBadRequest, "application/json", []byte(`{"message":"No default LLM model found"}`)))
	answer, err := c.Ask(t.Context(), wire.ChatRequest{Message: "x"}, nil)
	if e := asError(t, err); answer != nil || e.Status != http.StatusBadRequest || e.Reason != "No default LLM model found" {
		t.Errorf("%+v, %v", answer, e)
	}
}

func TestChatSessions(t *testing.T) {
	t.Parallel()
	const id = "0a6cb2de-3a53-4d5e-8f2e-6f8f3b9a1c11"
	var calls []string
	c := serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls = append(calls, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		routes{
			"GET /chat/get-user-chat-sessions":   string(fixture(t, "onyx/chat-sessions.json")),
			"GET /chat/get-chat-session/" + id:   `{"chat_session_id":"` + id + `","messages":[{"message_id":1,"message":"a\nb"}]}`,
			"PUT /chat/rename-chat-session":      `{"new_name":"n"}`,
			"POST /chat/stop-chat-session/" + id: `{"message":"Chat session stopped"}`,
		}.ServeHTTP(w, r)
	})
	sessions, err := c.ChatSessions(t.Context(), 0, "2026-01-01T00:00:00Z")
	if err != nil || len(sessions.Sessions) != 1 || *sessions.Sessions[0].Name != "Rolling back" {
		t.Errorf("%+v, %v", sessions, err)
	}
	session, err := c.ChatSession(t.Context(), id)
	if err != nil || len(session.Messages) != 1 || session.Messages[0].Message != "a\nb" {
		t.Errorf("%+v, %v", session, err)
	}
	if name, err := c.RenameChatSession(t.Context(), id, ""); err != nil || name != "n" {
		t.Errorf("%q, %v", name, err)
	}
	if err := c.StopChat(t.Context(), id); err != nil {
		t.Error(err)
	}
	want := []string{"GET /api/chat/get-user-chat-sessions?before=2026-01-01T00%3A00%3A00Z&page_size=50 ",
		"GET /api/chat/get-chat-session/" + id + " ",
		`PUT /api/chat/rename-chat-session {"chat_session_id":"` + id + `","name":null}`,
		"POST /api/chat/stop-chat-session/" + id + " "}
	if !reflect.DeepEqual(calls, want) {
		t.Errorf("calls %q", calls)
	}
	for _, bad := range []string{"", "../x", "a/b", "a?b", strings.Repeat("x", 101)} {
		if _, err := c.ChatSession(t.Context(), bad); KindOf(err) != BadRequest {
			t.Errorf("%q: %v", bad, err)
		}
		if err := c.StopChat(t.Context(), bad); KindOf(err) != BadRequest {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzAskLine(f *testing.F) {
	for _, name := range []string{"chat/chat-stream.ndjson", "chat/chat-stream-error.ndjson"} {
		for line := range strings.Lines(string(fixture(f, name))) {
			f.Add([]byte(strings.TrimSpace(line)))
		}
	}
	f.Add([]byte(`data: {"obj":{"type":"message_delta","content":"\u001b"}}`))
	f.Add([]byte(`data:`))
	c, err := New(Options{BaseURL: InProcessURL})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("{\"obj\":{\"type\":\"message_delta\",\"content\":7}}\n{\"obj\":{\"type\":\"stop\"}}"))
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return
		}
		a := asking{client: c, so: &wire.ChatAnswer{Citations: map[int]string{}},
			answer: &answer{ctx: t.Context(), Response: &http.Response{Header: http.Header{}}},
			report: func(p wire.ChatPacket) {
				if !json.Valid(p.Raw) || hasControl(p.Type) || hasControl(p.Content) || hasControl(p.DocumentID) {
					t.Fatalf("packet %q of %q", fmt.Sprint(p), line)
				}
			}}
		a.isRead = bytes.HasPrefix(line, []byte("{\"obj\""))
		for part := range bytes.SplitSeq(line, []byte("\n")) {
			if _, err := a.line(part); err != nil && KindOf(err) == General {
				t.Fatal(err)
			}
		}
	})
}
