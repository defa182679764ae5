package explorer

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quarry/client/wire"
)

const earlier = "0a6cb2de-3a53-4d5e-8f2e-6f8f3b9a1c11"

// remembering is a chatty server that keeps two conversations, on two pages.
func remembering(lines chan string) (*script, chan string) {
	server, asked := chatty(lines)
	server.routes["GET /chat/get-user-chat-sessions"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("before") == "" {
			fmt.Fprintf(w, `{"sessions":[{"id":%q,"name":"Rolling back","time_updated":"2026-11-19T12:00:00Z"}],"has_more":true}`, earlier)
			return
		}
		fmt.Fprintf(w, `{"sessions":[{"id":%q,"name":null,"time_updated":"2026-10-19T12:00:00Z"}],"has_more":false}`, "gone")
	}
	server.routes["GET /chat/get-chat-session/gone"] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"Chat session not found"}`)
	}
	server.routes["GET /chat/get-chat-session/"+earlier] = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"chat_session_id":%q,"messages":[
			{"message_id":1,"message":"how do we roll back?","message_type":"user"},
			{"message_id":2,"parent_message":1,"message":"An answer given up.","message_type":"assistant"},
			{"message_id":3,"parent_message":1,"message":"Use **kwctl** [[1]](https://wiki.acme.com/1).","message_type":"assistant",
				"context_docs":[%s],"citations":{"1":"confluence:1"}},
			{"message_id":4,"parent_message":3,"message":"and firmware?","message_type":"user"},
			{"message_id":5,"parent_message":4,"message":"Never [[2]](https://chat.acme.com/2).","message_type":"assistant",
				"context_docs":[%s,{"document_id":"slack:2","semantic_identifier":"Firmware thread","source_type":"slack","blurb":"Never roll firmware back.",
				"link":"https://chat.acme.com/2"}],"citations":{"2":"slack:2"}}]}`, earlier, runbookDoc, runbookDoc)
	}
	return server, asked
}

func TestAnEarlierConversationIsGoneOnWith(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {80, 24}} {
		lines := make(chan string)
		server, asked := remembering(lines)
		screen := start(t, size[0], size[1], Options{Target: server.remote(t)})
		screen.WaitText("type a question, then") // it is open
		screen.Press("f4")
		screen.WaitText("Rolling back")
		screen.WaitText("2 days ago")
		screen.Press("down")
		screen.WaitText("(no name)") // the next page
		screen.Press("down", "enter")
		screen.WaitText("Chat session not found")
		screen.Press("up", "enter")
		screen.WaitText("how do we roll back?")
		screen.WaitText("Use kwctl [1].")
		screen.WaitText("and firmware?")
		screen.WaitText("[2] Firmware thread · Slack")
		screen.WaitGone("An answer given up") // the conversation went on beside it
		screen.Press("2")
		screen.WaitText("Never roll firmware back.")
		screen.Press("a")
		screen.WaitText("[2] Firmware thread · Slack")
		screen.Type("and gateways?")
		screen.Press("enter")
		if body := <-asked; !strings.Contains(body, `"chat_session_id":"`+earlier) || !strings.Contains(body, "and gateways?") {
			t.Errorf("asked %s", body)
		}
		said(lines, "", `{"type":"message_delta","content":"Gateways, yes."}`)
		screen.WaitText("Gateways, yes.")
		screen.Wait("the search", func(string) bool { return len(server.asked()) == 1 })
		want := []wire.Message{{Type: "user", Message: "how do we roll back?"}, {Type: "assistant", Message: "Use **kwctl**."},
			{Type: "user", Message: "and firmware?"}, {Type: "assistant", Message: "Never."}, {Type: "user", Message: "and gateways?"}}
		if got := server.asked()[0]; !slices.Equal(got.MessageHistory, want) {
			t.Errorf("searched with %+v", got.MessageHistory)
		}
		screen.Press("f4") // from the answer, and back to it
		screen.WaitText("─ latest 1 ╮")
		screen.Press("esc")
		screen.WaitText("Gateways, yes.")
	}
}

// To search again for the last question of a conversation means what it meant there.
func TestTheQuestionOfAnEarlierConversationIsSearchedInItsLight(t *testing.T) {
	t.Parallel()
	server, _ := remembering(nil)
	screen := start(t, 140, 40, Options{Target: server.remote(t)})
	screen.WaitText("type a question, then")
	screen.Press("f4")
	screen.WaitText("Rolling back")
	screen.Press("enter")
	screen.WaitText("2 passages from an answer")
	screen.Press("esc")
	screen.Press("r")
	screen.WaitText("follow-up")
	if got := server.asked()[0]; got.Query != "and firmware?" || len(got.MessageHistory) != 3 ||
		got.MessageHistory[2].Message != "and firmware?" {
		t.Errorf("searched %+v", got)
	}
}

func TestWithoutConversations(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("A")
	screen.WaitText("this server does not store conversations")
	screen.Press("f1")
	screen.Type("earlier")
	screen.WaitText("unavailable: this server does not store conversations")

	local := &script{search: server.search, routes: map[string]http.HandlerFunc{
		"GET /chat/get-user-chat-sessions": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"sessions":[],"has_more":false}`) }}}
	screen = start(t, 140, 40, Options{Target: local.library(t)})
	screen.WaitText("type to search")
	screen.Press("f4")
	screen.WaitText("No conversations yet")
	screen.Press("enter", "down", "esc")
	screen.WaitGone("Earlier conversations")
}

// A conversation is renamed with a prompt, deleted with two presses, and its last question answered again.
func TestConversationsAreChanged(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	server, asked := remembering(lines)
	changed := make(chan string, 10)
	server.routes["PUT /chat/rename-chat-session"] = func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		changed <- string(body)
		fmt.Fprint(w, `{"new_name":"Rollbacks of 2026"}`)
	}
	server.routes["DELETE /chat/delete-chat-session/gone"] = func(w http.ResponseWriter, _ *http.Request) {
		changed <- "deleted"
		fmt.Fprint(w, "null")
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t)})
	screen.WaitText("type a question, then")
	screen.Press("f4")
	screen.WaitText("Rolling back")
	screen.Press("r")
	screen.WaitText("Name of the conversation")
	screen.Type(" in 2026")
	screen.Press("enter")
	screen.WaitText("Rollbacks of 2026")
	if body := <-changed; !strings.Contains(body, `"name":"Rolling back in 2026"`) {
		t.Errorf("renamed with %s", body)
	}
	screen.Press("down")
	screen.WaitText("(no name)")
	screen.Press("down", "d")
	screen.WaitText("again deletes the conversation")
	if len(changed) != 0 {
		t.Error("one press deletes")
	}
	screen.Press("d")
	screen.WaitGone("(no name)")
	screen.Press("enter")
	screen.WaitText("Never [2].")
	screen.Press("r")
	if body := <-asked; !strings.Contains(body, `"parent_message_id":4`) || !strings.Contains(body, `"chat_session_id":"`+earlier) {
		t.Errorf("asked again with %s", body)
	}
	said(lines, "", `{"type":"message_delta","content":"Hardly ever."}`)
	screen.WaitText("Hardly ever.")
	screen.WaitGone("Never [2].")
	screen.WaitText("Use kwctl [1].")
}

// Without a model conversations are offered where there are earlier ones only.
func TestNoConversationsWithoutAModel(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	server, _ := remembering(lines)
	for _, test := range []struct {
		target Target
		want   bool
	}{{sampleTarget(t), true}, {server.remote(t), true}, {withoutAModel(sampleTarget(t)), false}, {withoutAModel(server.remote(t)), true}} {
		screen := start(t, 120, 40, Options{Target: test.target})
		screen.WaitText("↵ search")
		if test.want {
			screen.WaitText("F4 chats")
			continue
		}
		screen.WaitText("66 documents in")
		screen.WaitGone("chats")
		screen.Press("f4")
		screen.WaitText("no language model is configured")
	}
}

func withoutAModel(target Target) Target {
	target.NoModel = true
	return target
}
