package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/server/chat"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/pipeline"
)

const (
	askTimeout = 5 * time.Minute
	heartbeat  = 15 * time.Second
	stopCheck  = 250 * time.Millisecond
	maxChat    = 32 * megabyte // 10 MB of piped text, escaped as JSON
)

// chatRoutes returns the routes of questions and sessions.
func chatRoutes() []route {
	const read, write = directory.PermissionReadChat, directory.PermissionWriteChat
	return []route{
		withBody("POST /chat/send-chat-message", write, sendMessage, changes, rateLimited,
			withTimeout(askTimeout), upTo(maxChat)),
		noBody("GET /chat/get-user-chat-sessions", read, chatSessions),
		noBody("GET /chat/get-chat-session/{id}", read, chatSession),
		withBody("POST /chat/create-chat-session", write, createChatSession, changes),
		withBody("PUT /chat/rename-chat-session", directory.PermissionBasic, renameChatSession, changes),
		noBody("POST /chat/stop-chat-session/{id}", write, stopChatSession, changes),
		noBody("GET /chat/chat-session/{id}/resume-stream", read, resumeChat, withTimeout(askTimeout)),
		withBody("PATCH /chat/chat-session/{id}", directory.PermissionBasic, updateChatSession, changes),
		noBody("DELETE /chat/delete-chat-session/{id}", directory.PermissionBasic, deleteChatSession, changes),
		noBody("DELETE /chat/delete-all-chat-sessions", directory.PermissionBasic, deleteChatSessions, changes),
	}
}

// turn is one question and its answer.
type turn struct {
	*call
	request  chatRequest
	store    *chat.Store
	session  chat.Session
	isNew    bool
	history  []chat.Message
	prepared pipeline.Request
	agent    directory.Agent
	files    []chat.File     // attached to the question and to earlier messages
	named    []wire.ChatFile // attached to the question
	audit    *audit
	started  time.Time

	questionID int
	answer     chat.Message
	failed     *chatFailure // why the answer is incomplete; nil if its user stopped it or disconnected
	text       strings.Builder
	evidence   string // what the search returned, for the model
	out        *lines // nil: the answer is not streamed
	record     *recording
	place      int // turn of the packets
	mutex      sync.Mutex
}

// sendMessage answers POST /chat/send-chat-message: it searches like POST /search for the same question, or reads the
// passages that the question names, and a model answers from them.
func sendMessage(c *call) (answer any) {
	t := &turn{call: c, audit: c.startAudit(), started: time.Now(), record: newRecording()}
	t.audit.kind = kindAnswer
	t.audit.of(func() { answer = t.respond() })
	return answer
}

func (t *turn) respond() any {
	c := t.call
	t.request = must(decodeChat(c.fields))
	whole, release := c.ctx, func() {}
	if t.request.Stream {
		whole, release = detached(whole)
		t.out = newLines(c.w, wire.MediaTypeEvents)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(whole)
	defer cancel(nil)
	if err := guard.Ended(t.begin); err != nil {
		check(t.refuse(err))
		return written{}
	}
	running := *c
	running.ctx, t.call = ctx, &running
	defer c.answers.begin(t, cancel)()
	defer t.record.end()
	defer t.watch(cancel)()
	defer t.watchReaders(c.ctx, cancel)()
	failure := guard.Ended(t.run)
	t.keep(failure)
	if !t.request.Stream {
		if c.ctx.Err() == context.Canceled {
			abort(c.ctx.Err())
		}
		return must(asJSON(t.whole()))
	}
	switch {
	case failure == nil:
		t.send(chat.Stop(false))
	case errors.Is(context.Cause(ctx), errStopped):
		t.send(chat.Stop(true))
	case t.failed != nil:
		t.line(t.failed)
	}
	return written{}
}

// begin checks the request and stores the question.
func (t *turn) begin() {
	t.prepare()
	question := chat.Message{ID: t.questionID, Parent: t.parent(),
		Text: firstRunes(t.request.Message, wire.MaxChatRunes), Files: t.named}
	var err error
	t.questionID, t.answer.ID, err = t.store.Begin(t.ctx, t.session, t.isNew, question)
	check(sessionRefused(err))
}

// prepare finds the session, checks the request against the caller's rights, and completes it.
func (t *turn) prepare() {
	if t.request.mocked {
		abort(message("mock_llm_response can only be used when INTEGRATION_TESTS_MODE=true"))
	}
	if id := t.request.forced; id != nil && *id != searchToolID {
		abort(message(fmt.Sprintf("Forced tool %d not found in tools", *id)))
	}
	t.findSession()
	if strings.TrimSpace(t.request.Message) == "" {
		abort(invalid(problem{kind: "string_too_short", where: []any{"body", "message"},
			text: "String should have at least 1 character"}))
	}
	search := t.request.search(t.session.PersonaID)
	search.MessageHistory = chat.Conversation(t.history, search.Query)
	search.Stream = true // to receive the queries before the results
	t.audit.request, t.audit.secret = search, t.session.Incognito
	t.prepared = t.call.prepare(search)
	if t.prepared.Model == nil {
		abort(noModel())
	}
	var err error
	t.prepared.Model, t.audit.meter, err = t.metered(t.prepared.Model, search)
	check(err)
	t.byVector(&t.prepared, t.audit.meter)
	t.answer.Model = t.prepared.Model.Name()
	if t.session.PersonaID != 0 {
		t.agent = must(t.call.agent(t.session.PersonaID))
	}
	t.files, t.named = t.attached(t.agent.Files, t.request.FileDescriptors, t.history)
	if t.store == nil {
		t.store = t.keeper(t.session)
	}
}

// findSession reads the session of the request with its messages, or creates a new one.
func (t *turn) findSession() {
	if t.request.ChatSessionID == "" {
		t.isNew = true
		t.session = t.newSession(*cmp.Or(t.request.ChatSessionInfo, &wire.ChatSessionInfo{}))
		return
	}
	var err error
	t.store, t.session, err = t.ownSession(t.request.ChatSessionID)
	check(err)
	t.history, err = chat.Thread(must(t.store.Messages(t.ctx, t.session.ID)), t.request.parent)
	if errors.Is(err, chat.ErrNotFound) {
		err = detailed(http.StatusNotFound, "Chat message not found")
	}
	check(err)
	if last := len(t.history) - 1; last >= 0 && t.history[last].Type == chat.TypeUser { // it is answered once more
		asked := t.history[last]
		t.questionID, t.history = asked.ID, t.history[:last]
		t.request.Message, t.request.FileDescriptors = asked.Text, asked.Files
	}
}

// parent is the message that the question follows; 0 for none.
func (t *turn) parent() int {
	if len(t.history) == 0 {
		return 0
	}
	return t.history[len(t.history)-1].ID
}

// run searches and answers, and streams each step.
func (t *turn) run() {
	if t.isNew {
		t.line(wire.MadeChatSession{ID: t.session.ID, Incognito: t.session.Incognito})
	}
	t.line(struct {
		UserMessageID int `json:"user_message_id"`
		MessageID     int `json:"reserved_assistant_message_id"`
	}{t.questionID, t.answer.ID})
	defer t.sendHeartbeats()()
	t.send(chat.SearchStart())
	response := t.passages()
	t.audit.answered(response)
	t.answer.Documents, t.evidence = chat.Documents(response.Results), response.LLMFacingText
	t.send(chat.SearchDocuments(t.answer.Documents))
	t.send(chat.SectionEnd())
	t.at(chat.TurnAnswer)
	t.send(chat.MessageStart(t.answer.Documents, time.Since(t.started).Seconds()))
	t.answer.Citations = map[string]string{}
	question := chat.Question{
		Text: t.request.Message, Context: t.request.AdditionalContext, History: t.history, Today: t.today(),
		Files:            t.files,
		Instructions:     strings.TrimSpace(t.agent.SystemPrompt + "\n\n" + t.agent.TaskPrompt),
		WithoutCitations: !t.request.IncludeCitations,
	}
	check(chat.Answer(t.ctx, t.prepared.Model, question, response.Results, t.sendPieces(response)))
	t.send(chat.SectionEnd())
	t.audit.whole = true
}

// today is the date in the instructions to the model; zero for an agent without.
func (t *turn) today() time.Time {
	if t.agent.WithoutDate {
		return time.Time{}
	}
	return t.Now()
}

// sendPieces returns a function that sends the pieces of an answer.
func (t *turn) sendPieces(response *wire.SearchResponse) func(chat.Piece) {
	sources := chat.SourcesOf(response.Results)
	return func(piece chat.Piece) {
		if piece.Citation == 0 {
			t.text.WriteString(piece.Text)
			t.send(chat.MessageDelta(piece.Text))
			return
		}
		number := strconv.Itoa(piece.Citation)
		t.answer.Citations[number] = sources[piece.Citation].DocumentID
		t.send(chat.Citation(piece.Citation, t.answer.Citations[number]))
	}
}

// passages returns what is answered from: the passages that the question names, without a search, or else those found.
func (t *turn) passages() (response *wire.SearchResponse) {
	if len(t.request.Refs) == 0 {
		return t.search()
	}
	t.read(func(snapshot index.Snapshot) {
		edge, refs := t.cross(snapshot, &t.prepared), slices.Clone(t.request.Refs)
		edge.storeAll(refs)
		response = must(pipeline.Passages(t.ctx, snapshot, t.prepared, refs))
		edge.narrow(response)
	})
	return response
}

// search is the search of POST /search. The queries are sent once, before passages are selected.
func (t *turn) search() (response *wire.SearchResponse) {
	sent := false
	send := func(known *wire.SearchResponse) {
		if sent || known == nil {
			return
		}
		sent = true
		t.send(chat.SearchQueries(queryTexts(known.Queries)))
		if filters := searchFilters(known.AppliedFilters); filters != nil {
			t.send(filters)
		}
	}
	var provisional *wire.SearchResponse
	t.read(func(snapshot index.Snapshot) {
		edge := t.cross(snapshot, &t.prepared)
		response = must(pipeline.Run(t.ctx, snapshot, t.prepared, func(event wire.SearchEvent) {
			switch {
			case event.Type == wire.EventProvisional:
				provisional = event.Response
			case event.Type == wire.EventStage && event.Name == "select" && event.State == "start":
				send(provisional)
			}
		}))
		edge.narrow(response)
	})
	send(response)
	return response
}

// queryTexts returns the distinct queries by descending weight.
func queryTexts(queries []wire.ExecutedQuery) []string {
	queries = slices.Clone(queries)
	slices.SortStableFunc(queries, func(a, b wire.ExecutedQuery) int { return cmp.Compare(b.Weight, a.Weight) })
	texts := []string{}
	for _, q := range queries {
		if !slices.ContainsFunc(texts, func(known string) bool { return strings.EqualFold(known, q.Query) }) {
			texts = append(texts, q.Query)
		}
	}
	return texts
}

// searchFilters returns the packet of the filters of a search; nil if there are none.
func searchFilters(applied []wire.AppliedFilter) any {
	sources := []string{}
	var start, end *string
	for _, filter := range applied {
		switch {
		case filter.Negated: // Onyx's packet has no place for it
		case filter.Field == "sources":
			sources = append(sources, filter.Value)
		case filter.Field == "time_cutoff":
			start = &filter.Value
		case filter.Field == "time_until":
			end = &filter.Value
		}
	}
	if len(sources) == 0 && start == nil && end == nil {
		return nil
	}
	return chat.SearchFilters(sources, start, end)
}

// line sends a line.
func (t *turn) line(value any) {
	line, _ := asJSON(value) // packets always encode
	t.record.add(line)
	if t.out != nil {
		t.out.send(line)
	}
}

// send sends a packet of the current turn.
func (t *turn) send(object any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.line(chat.At(t.place, object))
}

func (t *turn) at(place int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.place = place
}

// sendHeartbeats sends signs of life until end is called.
func (t *turn) sendHeartbeats() (end func()) {
	return t.every(t.heartbeat, "send heartbeats", func(context.Context) bool {
		t.send(chat.Heartbeat())
		return true
	})
}

// keep stores the answer, even if its reader has disconnected.
func (t *turn) keep(failure error) {
	t.answer.Text, t.answer.Took = t.text.String(), time.Since(t.started)
	switch cause := context.Cause(t.ctx); {
	case failure == nil || errors.Is(cause, errStopped):
	case errors.Is(cause, context.Canceled):
		t.answer.Error = "The answer was canceled before it was complete."
	default:
		if errors.Is(cause, fault.ErrStopping) {
			failure = cause
		}
		f := t.chatError(failure)
		t.failed, t.answer.Error, t.audit.failed = &f, f.Error, f.Code
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), quick)
	defer cancel()
	if err := t.store.Finish(ctx, t.session.ID, t.answer); err != nil {
		t.Log.ErrorContext(ctx, "storing an answer failed", "error", err.Error())
	}
}

// whole is the answer without streaming.
func (t *turn) whole() wire.ChatFullResponse {
	return wire.ChatFullResponse{
		Answer: t.answer.Text, AnswerCitationless: chat.Uncited(t.answer.Text), ToolCalls: t.toolCalls(),
		TopDocuments: listed(t.answer.Documents), MessageID: t.answer.ID, ChatSessionID: &t.session.ID,
		Incognito: t.session.Incognito, ErrorMessage: orNil(t.answer.Error),
		CitationInfo: mapped(sortedNumbers(t.answer.Citations), func(number int) wire.ChatCitationAt {
			return wire.ChatCitationAt{Type: wire.ChatCitation, CitationNumber: number,
				DocumentID: t.answer.Citations[strconv.Itoa(number)]}
		}),
	}
}

// toolCalls describes the search as a call of a tool.
func (t *turn) toolCalls() []wire.ToolCall {
	return []wire.ToolCall{{Name: searchToolName,
		Arguments: map[string]any{"queries": []string{t.prepared.Search.Query}},
		Result:    t.evidence, SearchDocs: listed(t.answer.Documents)}}
}

var errStopped = errors.New("stopped by its user")

// answers tracks the answers in progress, so that they can be stopped.
type answers struct{ stops sync.Map } // *turn → context.CancelCauseFunc

func (a *answers) begin(t *turn, cancel context.CancelCauseFunc) (end func()) {
	a.stops.Store(t, cancel)
	return func() { a.stops.Delete(t) }
}

// watch stops the answer when another process was asked to stop it.
func (t *turn) watch(cancel context.CancelCauseFunc) (end func()) {
	return t.every(t.stopCheck, "watch for a request to stop the answer", func(ctx context.Context) bool {
		stopped, err := t.store.Stopped(ctx, t.session.ID, t.answer.ID)
		if stopped {
			cancel(errStopped)
		} else if err != nil && ctx.Err() == nil {
			t.Log.WarnContext(ctx, "checking for a request to stop the answer failed",
				slog.String("error", err.Error()))
		}
		return !stopped && err == nil
	})
}

// every calls do at each interval until it returns false, the request is done or end is called, which waits for it.
func (t *turn) every(interval time.Duration, what string, do func(context.Context) bool) (end func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	done := make(chan struct{})
	guard.Go(func() {
		defer close(done)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if !do(ctx) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}, guard.Log(t.Log, what))
	return func() {
		cancel()
		<-done
	}
}
