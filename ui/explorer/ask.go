package explorer

import (
	"cmp"
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
)

// stopTime bounds the request that stops the server's answer.
const stopTime = 5 * time.Second

// ask asks a query, as the next question of the thread.
func (m *Model) ask(question string) tea.Cmd {
	query := client.ParseQuery(question, m.now())
	if len(m.answer.thread.refs) == 0 {
		m.answer.thread.query = question
	}
	m.answer.Begin(query.WithoutFilters())
	m.answer.partial = wire.ChatAnswer{Citations: map[int]string{}}
	if query.Similar != "" {
		m.answer.Note("the answer is not limited to similar passages")
	}
	c := m.client()
	request, agent := m.chatRequest(query)
	answer := stream(m, &m.answer.asking, answerPause, func(ctx context.Context, report func(wire.ChatPacket)) (*wire.ChatAnswer, error) {
		request, err := chatAgent(ctx, c, request, agent)
		if err != nil {
			return nil, err
		}
		got, err := c.Ask(ctx, request, report)
		if got != nil && ctx.Err() != nil {
			stopAnswer(ctx, c, cmp.Or(got.SessionID, request.ChatSessionID))
		}
		return got, err
	}, m.handlePackets, m.handleAnswer)
	return tea.Batch(m.answer.asking.watch.Start(), m.noteIgnored(request.Filters), answer)
}

// stopAnswer asks the server to stop an answer that was stopped here: a server may go on without a reader. Errors do
// not matter.
func stopAnswer(ctx context.Context, c *client.Client, session string) {
	if session == "" || c.Local() { // in this process the answer has ended already
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	_ = c.StopChat(ctx, session)
}

// noteIgnored notes the filters of a question that the server ignores.
func (m *Model) noteIgnored(filters *wire.ChatFilters) tea.Cmd {
	c := m.client()
	return during(m.answer.asking, func(ctx context.Context) ([]wire.Note, error) {
		return c.IgnoredInChat(ctx, filters), nil
	}, func(notes []wire.Note, _ error) tea.Cmd {
		for _, note := range notes {
			m.answer.Note(note.Text)
		}
		return nil
	})
}

// chatRequest is the question with its filters, and the agent of a new session: the query's, or else the target's.
func (m *Model) chatRequest(query client.Query) (request wire.ChatRequest, agent string) {
	latest := wire.LatestMessage
	request = wire.ChatRequest{Message: query.WithoutFilters(), IncludeCitations: true, Stream: true, ParentMessageID: &latest,
		Filters: query.ChatFilters(), Refs: m.answer.thread.refs}
	if len(request.Refs) > 0 {
		request.Filters = nil // they apply to searches
	}
	if m.answer.thread.again {
		m.answer.thread.again = false
		request.ParentMessageID = &m.answer.thread.asked
	}
	if m.answer.thread.session != "" {
		request.ChatSessionID = m.answer.thread.session
		return request, ""
	}
	request.ChatSessionInfo = &wire.ChatSessionInfo{Incognito: m.options.Private}
	if query.Agent != "" {
		return request, query.Agent
	}
	if m.target.Agent.ID != nil {
		request.ChatSessionInfo.PersonaID = *m.target.Agent.ID
	}
	return request, m.target.Agent.Name
}

// chatAgent puts the number of an agent into a request that begins a session.
func chatAgent(ctx context.Context, c *client.Client, request wire.ChatRequest, agent string) (wire.ChatRequest, error) {
	if agent == "" || request.ChatSessionInfo == nil {
		return request, nil
	}
	id, err := c.AgentID(ctx, agent)
	if err != nil {
		return request, err
	}
	info := *request.ChatSessionInfo
	info.PersonaID = id
	request.ChatSessionInfo = &info
	return request, nil
}
