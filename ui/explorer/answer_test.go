package explorer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/screentest"
	"quarry/ui/explorer/setup"
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
	stopped := make(chan bool, 1)
	server.routes["POST /chat/stop-chat-session/11111111-2222-3333-4444-555555555555"] = func(http.ResponseWriter, *http.Request) {
		stopped <- true
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back source:confluence"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("─ searching")
	if body := <-asked; !strings.Contains(body, `"message":"roll back"`) || !strings.Contains(body, `"source_type":["confluence"]`) {
		t.Errorf("asked %s", body)
	}
	lines <- `{"chat_session_id":"11111111-2222-3333-4444-555555555555","incognito":false}`
	lines <- `{"user_message_id":1,"reserved_assistant_message_id":2}`
	lines <- packet(`{"type":"search_tool_queries_delta","queries":["rollback of a release"]}`)
	screen.WaitText("searched for “rollback of a release”")
	lines <- packet(`{"type":"search_tool_filter_delta","sources":["confluence"],"time_filter_start":"2026-01-01T00:00:00Z"}`)
	screen.WaitText("filters: Confluence, since 2026-01-01")
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
	screen.WaitText("1 document ╮")

	screen.Type("and firmware?") // every letter of it
	screen.Press("enter")
	if body := <-asked; !strings.Contains(body, "11111111-2222") || !strings.Contains(body, "and firmware?") ||
		!strings.Contains(body, `"source_type":["confluence"]`) {
		t.Errorf("the thread was lost: %s", body)
	}
	screen.WaitText("› and firmware?") // it is the query now, under the same filter
	screen.WaitText("follow-up")
	searches := server.asked()
	last := searches[len(searches)-1]
	want := []wire.Message{{Type: "user", Message: "roll back"}, {Type: "assistant", Message: "Use **kwctl rollback**."},
		{Type: "user", Message: "and firmware?"}}
	if last.Query != "and firmware?" || !slices.Equal(last.MessageHistory, want) || !slices.Equal(last.Sources, []string{"confluence"}) {
		t.Errorf("the list shows %+v", last)
	}
	lines <- packet(`{"type":"message_delta","content":"Firmware cannot"}`)
	screen.WaitText("Firmware cannot")
	screen.Press("esc")
	screen.WaitText("stopped ╮")
	<-stopped // at the server, too
	screen.WaitText("Firmware cannot")
	screen.Press("1")
	screen.WaitText("▏ 1  Runbook") // the reader has the keys
	screen.WaitGone("╭ Answer")
	screen.Press("esc")
	screen.WaitText("Firmware cannot")
	screen.Press("y")
	screen.WaitText("answer sent to your terminal's clipboard")
	screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == 1 })
	if got := screen.Clipboard()[0]; got != "Firmware cannot\n" {
		t.Errorf("copied %q", got)
	}
}

// What is typed over an answer is the next question, with its first letter, whichever that is.
func TestAFollowUpIsTypedOverTheAnswer(t *testing.T) {
	t.Parallel()
	for _, question := range []string{"and firmware?", "what about beta?", "quickly?", "Also in beta?", "just why?"} {
		lines := make(chan string)
		server, asked := chatty(lines)
		screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
		screen.WaitText("Runbook")
		screen.Press("a")
		<-asked
		said(lines, `{"chat_session_id":"1","incognito":false}`, `{"type":"message_start","final_documents":[`+runbookDoc+`]}`,
			`{"type":"message_delta","content":"Use kwctl [[1]](https://wiki.acme.com/1)."}`,
			`{"type":"citation_info","citation_number":1,"document_id":"confluence:1"}`)
		answered(screen, "[1] Runbook · Confluence")
		screen.Press("y")
		screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == 1 })
		if got := screen.Clipboard()[0]; got != "Use kwctl [1].\n\n[1] [Runbook](https://wiki.acme.com/1) (Confluence)\n" {
			t.Errorf("copied %q", got)
		}
		screen.Type(question)
		screen.WaitText("› " + question)
		screen.Press("enter")
		if body := <-asked; !strings.Contains(body, `"message":"`+question+`"`) {
			t.Errorf("asked %s", body)
		}
	}
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
	screen.WaitText("The passages found are in")
	screen.WaitGone("follow up")
	screen.Type("w")
	screen.WaitGone("┃ w")
	screen.Press("esc")
	screen.WaitGone("The passages found")
	screen.Press("esc")
	screen.Press("ctrl+u")
	screen.Press("f1")
	screen.WaitText("All actions")
}

// A model that is missing on this machine is set up from where that is said.
func TestAMissingModelIsSetUpFromTheAnswer(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	server.routes["POST /chat/send-chat-message"] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message":"No default LLM model found"}`)
	}
	settable := SetUp{Backend: setup.Backend{SaveModel: func(context.Context, setup.Model) (string, error) { return "", nil }}}
	screen := start(t, 140, 40, Options{Target: server.library(t), Query: "roll back", SetUp: settable})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("F3 sets one up.")
	screen.Press("f3")
	screen.WaitText("Set up a language model")
}

// Where several places are searched in one go, a target may have a model of its own, which quarry ask reaches.
func TestWithoutAModelHereAnotherIsNamed(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	server.routes["POST /chat/send-chat-message"] = func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"message":"No default LLM model found"}`)
	}
	target := server.library(t)
	target.Kind, target.Where, target.Beside, target.OwnModel = Remote, "acme · onyx.acme.com", []string{"acme"}, true
	screen := start(t, 140, 40, Options{Target: target, Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("no language model is configured")
	screen.WaitText("llm.default")
	screen.WaitText("quarry ask")
}

// The time until which a server answers no more questions stays true while it is read.
func TestALimitOfQuestionsNamesItsEnd(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	server.routes["POST /chat/send-chat-message"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("Try again after 12:01:30.")
}

func TestAServerThatAnswersNoQuestions(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	delete(server.routes, "POST /chat/send-chat-message")
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	screen.WaitText("this server cannot answer questions")
}

// said lets a chatty server say a whole answer.
func said(lines chan string, first string, objects ...string) {
	if first != "" {
		lines <- first
	}
	for _, object := range objects {
		lines <- packet(object)
	}
	lines <- packet(`{"type":"stop","stop_reason":null}`)
}

// answered waits for the end of an answer, with a text in it. Until then no question is typed over it.
func answered(screen *screentest.Screen, text string) {
	screen.Wait(fmt.Sprintf("%q, and the end of the answer", text), func(frame string) bool {
		return strings.Contains(frame, text) && !strings.Contains(frame, "─ writing") && !strings.Contains(frame, "incognito · writing")
	})
}

// What is cited and was not found is read all the same: the documents of the answer take the place of the results.
func TestACitedDocumentThatWasNotFound(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	server, asked := chatty(lines)
	server.routes["GET /document/chunks"] = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("document_id") != "slack:9" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer200(w, map[string]any{"document": map[string]any{"id": "slack:9", "chunk_count": 3},
			"chunks": []any{map[string]any{"chunk_ind": 0, "content": "We rolled back. It took ten minutes."}}})
	}
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	<-asked
	const other = `{"document_id":"slack:9","semantic_identifier":"A thread","source_type":"slack","blurb":"We rolled back."}`
	said(lines, `{"chat_session_id":"1","incognito":false}`, `{"type":"message_start","final_documents":[`+runbookDoc+`,`+other+`]}`,
		`{"type":"message_delta","content":"So [[2]]()."}`, `{"type":"citation_info","citation_number":2,"document_id":"slack:9"}`)
	screen.WaitText("[2] A thread · Slack")
	screen.Press("2")
	screen.WaitText("2 passages from an answer")
	screen.WaitText("We rolled back.")
	screen.WaitText(" 1  Runbook")
	screen.WaitText("It took ten minutes.") // of which the answer told the beginning alone
	screen.Press("O")
	screen.WaitText("╭ Outline")
	screen.Press("esc")
	screen.WaitGone("╭ Outline")
	screen.Press("esc")
	screen.WaitText("╭ Answer")
	screen.Press("esc")
	screen.WaitGone("╭ Answer")
	screen.Press("w")
	screen.WaitText("these documents come from an answer; r runs a search")
	searched := len(server.asked())
	screen.Press("r")
	screen.WaitGone("from an answer")
	screen.WaitText("─ 2 documents ")
	if n := len(server.asked()); n != searched+1 {
		t.Errorf("%d searches, want one more than %d", n, searched)
	}
}

func TestPrivateQuestionsAreIncognito(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		lines := make(chan string)
		server, asked := chatty(lines)
		server.routes["GET /version"] = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"backend_version":"4.2.0"}`) }
		screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back author:jo", Private: true})
		screen.WaitText("Runbook")
		screen.Press("a")
		if body := <-asked; !strings.Contains(body, `"incognito":true`) {
			t.Errorf("asked %s", body)
		}
		lines <- fmt.Sprintf(`{"chat_session_id":"1","incognito":%t}`, !kept)
		if kept {
			screen.WaitText("this server stores")
		} else {
			screen.WaitText("─ incognito · ")
		}
		screen.WaitText("author: this server ignores it") // which a server without quarry's additions does
	}
}

// TestQuestionsKeepTheirOptions: whoever is asked, a private question is incognito, with the agent that was meant.
func TestQuestionsKeepTheirOptions(t *testing.T) {
	t.Parallel()
	seven := 7
	for name, test := range map[string]struct {
		query, profile string
		number         *int
		want           string
	}{
		"no agent":                         {query: "roll back", want: `{"persona_id":0,"incognito":true}`},
		"the query's agent":                {query: "roll back agent:Eng", want: `{"persona_id":4,"incognito":true}`},
		"the query's, by number":           {query: "roll back agent:9", want: `{"persona_id":9,"incognito":true}`},
		"the profile's, by name":           {query: "roll back", profile: "eng", want: `{"persona_id":4,"incognito":true}`},
		"the profile's, by number":         {query: "roll back", number: &seven, want: `{"persona_id":7,"incognito":true}`},
		"the query's before the profile's": {query: "roll back agent:Eng", number: &seven, want: `{"persona_id":4,"incognito":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := make(chan string)
			server, asked := chatty(lines)
			server.routes["GET /persona"] = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"id":4,"name":"Eng"}]`) }
			target := server.remote(t)
			target.Agent = wire.Agent{ID: test.number, Name: test.profile}
			screen := start(t, 140, 40, Options{Target: target, Query: test.query, Private: true})
			screen.WaitText("Runbook")
			screen.Press("a")
			if body := <-asked; !strings.Contains(body, `"chat_session_info":`+test.want) {
				t.Errorf("asked %s", body)
			}
			said(lines, `{"chat_session_id":"1","incognito":true}`, `{"type":"message_delta","content":"Done."}`)
			answered(screen, "Done.")
			screen.Type("and then")
			screen.Press("enter")
			if body := <-asked; !strings.Contains(body, `"chat_session_id":"1"`) {
				t.Errorf("the follow-up asked %s", body)
			}
		})
	}
}

// modelless is a server of quarry without a language model.
func modelless() *script {
	return &script{search: func(w http.ResponseWriter, _ *http.Request, request wire.SearchRequest) {
		result := sixFields(1, "About "+request.Query, "All of it.")
		result["selected"], result["document_id"], result["ref"] = true, "a", "a#0"
		other := sixFields(2, "Beside it", "Some of it.")
		other["document_id"], other["ref"] = "b", "b#0"
		answer200(w, map[string]any{"results": []any{result, other}, "total_matches": 2,
			"stages": []any{map[string]any{"name": "select", "outcome": "skipped", "detail": "no model"}},
			"notes":  []any{map[string]any{"code": wire.NoteNoModel, "text": "no language model is configured"}}})
	}}
}

// A target that reports that it has no model is offered nothing that needs one, and nothing is said to be chosen by one.
func TestWithoutAModelNothingThatNeedsOneIsOffered(t *testing.T) {
	t.Parallel()
	server := modelless()
	settable := SetUp{Backend: setup.Backend{SaveModel: func(context.Context, setup.Model) (string, error) { return "", nil }}}
	screen := start(t, 140, 40, Options{Target: server.library(t), Query: "roll back", SetUp: settable})
	screen.WaitText("Beside it")
	screen.WaitText("y cite")
	screen.WaitGone("a ask")
	screen.WaitGone("not selected")
	screen.Press("a")
	screen.WaitText("no language model is configured; F3 sets one up")
	screen.WaitGone("╭ Answer")
	screen.Press("/", "ctrl+u")
	screen.Type("and in beta?")
	screen.WaitText("About and in beta?")
	screen.WaitGone("F3 sets one up")
	screen.Press("ctrl+j")
	screen.WaitText("no language model is configured; F3 sets one up")
	for _, request := range server.asked() {
		if len(request.MessageHistory) > 0 {
			t.Errorf("a conversation was sent: %+v", request)
		}
	}
}

// A question typed in the box goes on with the searches before it.
func TestAFollowUpSearch(t *testing.T) {
	t.Parallel()
	server, _ := chatty(nil)
	screen := start(t, 140, 40, Options{Target: server.remote(t)})
	screen.WaitText("type a question, then") // it is open
	screen.Type("x")
	screen.Press("ctrl+j")
	screen.WaitText("no search to follow up yet: ↵ runs one")
	screen.Press("backspace")
	screen.Type("roll back ")
	screen.Press("enter")
	screen.WaitText("Runbook")
	screen.Press("/")
	screen.Press("ctrl+u")
	screen.Type("and firmware? since:2026-01-01")
	screen.Press("ctrl+j")
	screen.WaitText("follow-up")
	screen.Press("/")
	screen.Press("ctrl+u")
	screen.Type("and in beta?")
	screen.Press("alt+enter")
	screen.Wait("the third search", func(string) bool { return len(server.asked()) == 3 })
	user := func(texts ...string) (said []wire.Message) {
		for _, text := range texts {
			said = append(said, wire.Message{Type: "user", Message: text})
		}
		return said
	}
	screen.Press("/")
	screen.Press("ctrl+u")
	screen.Type("another thing")
	screen.Press("enter")
	screen.Wait("the fourth search", func(string) bool { return len(server.asked()) == 4 })
	for i, want := range [][]wire.Message{nil, user("roll back", "and firmware?"), user("roll back", "and firmware?", "and in beta?"), nil} {
		if got := server.asked()[i].MessageHistory; !slices.Equal(got, want) {
			t.Errorf("search %d: %+v, want %+v", i, got, want)
		}
	}
}

// Until the first word, the seconds that an answer takes are counted.
func TestTheSecondsBeforeAnAnswerAreCounted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		lines := make(chan string)
		server, asked := chatty(lines)
		screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back", Now: time.Now})
		screen.WaitText("Runbook")
		screen.Press("a")
		<-asked
		screen.WaitText("─ searching · 1 s")
		screen.WaitText("─ searching · 2 s")
		lines <- packet(`{"type":"message_delta","content":"Use kwctl."}`)
		screen.WaitText("─ writing ╮")
		close(lines)
		screen.WaitGone("writing")
	})
}

// An answer that was stopped is copied with what it cites so far.
func TestAnUnfinishedAnswerIsCopiedWithItsSources(t *testing.T) {
	t.Parallel()
	lines := make(chan string)
	server, asked := chatty(lines)
	screen := start(t, 140, 40, Options{Target: server.remote(t), Query: "roll back"})
	screen.WaitText("Runbook")
	screen.Press("a")
	<-asked
	lines <- packet(`{"type":"search_tool_documents_delta","documents":[` + runbookDoc + `]}`)
	lines <- packet(`{"type":"message_delta","content":"Use kwctl [[1]](https://wiki.acme.com/1), and"}`)
	lines <- packet(`{"type":"citation_info","citation_number":1,"document_id":"confluence:1"}`)
	screen.WaitText("[1] Runbook · Confluence")
	screen.Press("esc")
	screen.WaitText("stopped ╮")
	screen.Press("y")
	screen.Wait("the clipboard", func(string) bool { return len(screen.Clipboard()) == 1 })
	if got := screen.Clipboard()[0]; got != "Use kwctl [1], and\n\n[1] [Runbook](https://wiki.acme.com/1) (Confluence)\n" {
		t.Errorf("copied %q", got)
	}
}
