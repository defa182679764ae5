package contracttest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"quarry/client"
	"quarry/client/wire"
)

// RunChat runs the part of the suite that is about questions, which Run runs too.
func RunChat(t *testing.T, newClient func(t *testing.T) *client.Client, want Expectations) {
	t.Helper()
	s := suite{newClient: newClient, want: want}
	t.Run("ask", s.ask)
	t.Run("ask fails", s.askFails)
	t.Run("ask refused", s.askRefused)
	t.Run("ask without a model", s.askWithoutModel)
	t.Run("sessions", s.sessions)
	t.Run("sessions refused", s.sessionsRefused)
}

// nobodysSession is the id of a session that no server has.
const nobodysSession = "7d1f5c4e-0b57-4f7e-9a39-0f4f64cf2c01"

// asked is an answer, and the types of its packets.
type asked struct {
	*wire.ChatAnswer
	types []string
}

func (s suite) question(t *testing.T, c *client.Client, request wire.ChatRequest) (a asked, err error) {
	t.Helper()
	a.ChatAnswer, err = c.Ask(t.Context(), request, func(packet wire.ChatPacket) {
		if packet.Type == "" || packet.Type != wire.ChatSessionCreated && packet.Type != wire.ChatMessageIDs && packet.Placement == nil {
			t.Errorf("packet %+v", packet)
		}
		if n := len(a.types); packet.Type != wire.ChatHeartbeat && (n == 0 || a.types[n-1] != packet.Type) {
			a.types = append(a.types, packet.Type)
		}
	})
	return a, err
}

func (s suite) ask(t *testing.T) {
	if s.want.Question == "" {
		t.Skip("no question is given")
	}
	c := s.newClient(t)
	first, err := s.question(t, c, wire.ChatRequest{Message: s.want.Question})
	if err != nil {
		t.Fatal(err)
	}
	s.checkAnswer(t, c, first)
	if len(first.types) < 2 || first.types[0] != wire.ChatSessionCreated || first.types[1] != wire.ChatMessageIDs {
		t.Errorf("the answer begins with %q", first.types)
	}
	if first.SessionID == "" || first.UserMessageID == 0 || first.MessageID == 0 || first.UserMessageID == first.MessageID {
		t.Errorf("session %q, messages %d and %d", first.SessionID, first.UserMessageID, first.MessageID)
	}
	parent := first.MessageID
	next, err := s.question(t, c, wire.ChatRequest{Message: s.want.Question, ChatSessionID: first.SessionID, ParentMessageID: &parent})
	if err != nil {
		t.Fatal(err)
	}
	s.checkAnswer(t, c, next)
	if next.types[0] != wire.ChatMessageIDs {
		t.Errorf("a continued session repeats its start: %q", next.types)
	}
}

// checkAnswer holds what every answer promises: the order of its packets, and that all that it cites can be found.
func (s suite) checkAnswer(t *testing.T, c *client.Client, a asked) {
	t.Helper()
	if strings.TrimSpace(a.Text) == "" || !clean(a.Text) || a.Stopped {
		t.Errorf("answer %q, stopped %v", a.Text, a.Stopped)
	}
	order := []string{wire.ChatSearchStart, wire.ChatSearchDocuments, wire.ChatMessageStart, wire.ChatMessageDelta, wire.ChatStop}
	at := -1
	for _, kind := range order {
		place := slices.Index(a.types, kind)
		if place <= at {
			t.Errorf("%s is not in its place among %q", kind, a.types)
		}
		at = place
	}
	if at != len(a.types)-1 {
		t.Errorf("after the end: %q", a.types[at:])
	}
	if len(a.Documents) == 0 || len(a.Citations) == 0 {
		t.Errorf("%d documents, %d citations", len(a.Documents), len(a.Citations))
	}
	for number := range a.Citations {
		document, ok := a.Document(number)
		if !ok || number < 1 || document.DocumentID == "" || document.Title == "" || document.SourceType == "" {
			t.Errorf("citation %d stands for %+v", number, document)
		}
	}
	for _, document := range a.Documents {
		result := wire.SearchResult{Title: document.Title, Content: document.Blurb, SourceType: document.SourceType, Origin: c.Profile(),
			Link: document.Link, UpdatedAt: document.UpdatedAt}
		checkResult(t, c, result)
	}
}

func (s suite) askFails(t *testing.T) {
	if s.want.Failing == "" {
		t.Skip("no question that fails is given")
	}
	c := s.newClient(t)
	a, err := s.question(t, c, wire.ChatRequest{Message: s.want.Failing})
	refused(t, "a question that fails in its stream", err, s.want.FailingAs)
	if a.ChatAnswer == nil || a.SessionID == "" {
		t.Errorf("what came before is lost: %+v", a.ChatAnswer)
	}
	if slices.Contains(a.types, wire.ChatStop) {
		t.Errorf("a failed answer reports its end: %q", a.types)
	}
}

func (s suite) askRefused(t *testing.T) {
	if s.want.Question == "" {
		t.Skip("no question is given")
	}
	c := s.newClient(t)
	for what, test := range map[string]struct {
		request wire.ChatRequest
		kind    client.Kind
	}{
		"no message":         {wire.ChatRequest{}, client.BadRequest},
		"an unknown agent":   {wire.ChatRequest{Message: "x", ChatSessionInfo: &wire.ChatSessionInfo{PersonaID: 1 << 30}}, client.NotAvailable},
		"an unknown session": {wire.ChatRequest{Message: "x", ChatSessionID: nobodysSession}, client.NotAvailable},
		"both sessions": {wire.ChatRequest{Message: "x", ChatSessionID: nobodysSession, ChatSessionInfo: &wire.ChatSessionInfo{}},
			client.BadRequest},
		"an unknown set": {wire.ChatRequest{Message: "x", Filters: &wire.ChatFilters{ChatLists: wire.ChatLists{DocumentSets: []string{"nobody's set"}}}}, client.Auth},
	} {
		_, err := s.question(t, c, test.request)
		refused(t, what, err, test.kind)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Ask(ctx, wire.ChatRequest{Message: s.want.Question}, nil)
	refused(t, "a question that is given up", err, client.Canceled)
	if s.want.Refused != nil {
		_, err := s.question(t, s.want.Refused(t), wire.ChatRequest{Message: s.want.Question})
		refused(t, "a question with an unknown token", err, client.Auth)
	}
}

func (s suite) askWithoutModel(t *testing.T) {
	if s.want.Unanswered == "" {
		t.Skip("no question that has no model is given")
	}
	_, err := s.question(t, s.newClient(t), wire.ChatRequest{Message: s.want.Unanswered})
	refused(t, "a question", err, client.BadRequest)
	if err != nil && !strings.Contains(err.Error(), "No default LLM model found") {
		t.Errorf("the reason is lost: %v", err)
	}
}

func (s suite) sessions(t *testing.T) {
	if s.want.Question == "" {
		t.Skip("no question is given")
	}
	c := s.newClient(t)
	a, err := s.question(t, c, wire.ChatRequest{Message: s.want.Question})
	if err != nil {
		t.Fatal(err)
	}
	page := must[*wire.ChatSessions](t)(c.ChatSessions(t.Context(), 10, ""))
	listed := slices.IndexFunc(page.Sessions, func(session wire.ChatSession) bool { return session.ID == a.SessionID })
	if listed < 0 {
		t.Fatalf("the session %s is not among %+v", a.SessionID, page.Sessions)
	}
	for _, text := range []string{page.Sessions[listed].TimeCreated, page.Sessions[listed].TimeUpdated} {
		if _, err := wire.ParseTime(text); err != nil {
			t.Error(err)
		}
	}
	if before := must[*wire.ChatSessions](t)(c.ChatSessions(t.Context(), 10, "1980-01-01T00:00:00Z")); len(before.Sessions) != 0 {
		t.Errorf("sessions of before 1980: %+v", before.Sessions)
	}
	s.session(t, c, a)
	if name, err := c.RenameChatSession(t.Context(), a.SessionID, "Leave"); err != nil || name != "Leave" {
		t.Errorf("renamed to %q, %v", name, err)
	}
	if name, err := c.RenameChatSession(t.Context(), a.SessionID, ""); err != nil || name == "" {
		t.Errorf("named %q, %v", name, err)
	}
	if err := c.StopChat(t.Context(), a.SessionID); err != nil {
		t.Errorf("stopping what is over: %v", err)
	}
	if err := c.DeleteChatSession(t.Context(), a.SessionID); err != nil {
		t.Errorf("deleting it: %v", err)
	}
}

// session reads a session back: what was asked, and what was answered.
func (s suite) session(t *testing.T, c *client.Client, a asked) {
	t.Helper()
	detail := must[*wire.ChatSessionDetail](t)(c.ChatSession(t.Context(), a.SessionID))
	if detail.ID != a.SessionID || len(detail.Messages) < 3 {
		t.Fatalf("session %+v", detail)
	}
	root, question, answer := detail.Messages[0], detail.Messages[1], detail.Messages[2]
	if root.Type != "system" || root.ParentMessage != nil || root.Message != "" {
		t.Errorf("root %+v", root)
	}
	if question.Type != "user" || question.Message != s.want.Question || question.ParentMessage == nil || *question.ParentMessage != root.ID {
		t.Errorf("question %+v", question)
	}
	if answer.Type != "assistant" || answer.Message != a.Text || answer.ParentMessage == nil || *answer.ParentMessage != question.ID ||
		len(answer.ContextDocs) == 0 || len(answer.Citations) != len(a.Citations) {
		t.Errorf("answer %+v\narrived as %q with %d citations", answer, a.Text, len(a.Citations))
	}
}

func (s suite) sessionsRefused(t *testing.T) {
	c := s.newClient(t)
	_, err := c.ChatSession(t.Context(), nobodysSession)
	refused(t, "an unknown session", err, client.NotAvailable)
	_, err = c.RenameChatSession(t.Context(), nobodysSession, "x")
	refused(t, "renaming an unknown session", err, client.NotAvailable)
	refused(t, "stopping an unknown session", c.StopChat(t.Context(), nobodysSession), client.NotAvailable)
}
