package explorer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exmaps"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/state"
)

// stopTime bounds the request that stops the server's answer.
const stopTime = 5 * time.Second

// ask asks a query, as the next question of the thread.
func (m *Model) ask(question string) tea.Cmd {
	query := m.parse(question)
	if len(m.answer.thread.refs) == 0 {
		m.answer.thread.query = question
	}
	m.answer.Begin(query.WithoutFilters())
	if query.Similar != "" {
		m.answer.Note("the answer is not limited to similar passages")
	}
	c := m.client()
	request, agent := m.chatRequest(query)
	answer := stream(m, &m.answer.asking,
		answerPause, func(ctx context.Context, report func(wire.ChatPacket)) (*wire.ChatAnswer, error) {
			if agent != "" {
				id, err := c.AgentID(ctx, agent)
				if err != nil {
					return nil, err
				}
				request.ChatSessionInfo.PersonaID = id
			}
			got, err := c.Ask(ctx, request, report)
			if got != nil && ctx.Err() != nil {
				c.StopAnswer(ctx, cmp.Or(got.SessionID, request.ChatSessionID), stopTime)
			}
			return got, err
		}, m.handlePackets, m.handleAnswer)
	return tea.Batch(m.answer.asking.watch.Start(), m.noteIgnored(request.Filters), answer)
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
	thread := &m.answer.thread
	request = wire.ChatRequest{Message: query.WithoutFilters(), Filters: query.ChatFilters(), Refs: thread.refs}
	if len(request.Refs) > 0 {
		request.Filters = nil // they apply to searches
	}
	if thread.again {
		thread.again = false
		request.ParentMessageID = &thread.asked
	}
	if thread.session != "" {
		request.ChatSessionID = thread.session
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

// openAnswer asks for an answer to the query, over the marked passages if some of the results are marked.
func (m *Model) openAnswer() tea.Cmd {
	var over []state.Passage
	if m.asksOverMarked() {
		over = m.markedShown()
	}
	return m.answerTo(m.box.Query(), over)
}

// answerTo asks for an answer over passages, or else over what is found, or shows the thread that the question belongs
// to.
func (m *Model) answerTo(query string, over []state.Passage) tea.Cmd {
	m.pushPanel(InAnswer, &m.answer)
	refs, whole := chatRefs(over)
	if t := m.answer.thread; t.query == query && slices.Equal(t.refs, refs) && !m.answer.Empty() &&
		m.answer.refused == "" {
		return nil
	}
	m.answer.asking.stop()
	m.answer.Reset()
	m.answer.thread, m.answer.refused = thread{query: query, refs: refs}, ""
	if len(over) == 0 {
		asked := tea.Batch(m.wholeSearch(query), m.ask(query))
		if len(m.markedShown()) > 0 {
			m.answer.Note(notOverMarked + "; it searched all documents")
		}
		return asked
	}
	asked := m.ask(query)
	m.answer.Filters("only the " + text.Count(len(over), "marked passage"))
	if slices.ContainsFunc(over, func(p state.Passage) bool { return p.Stale != "" }) {
		m.answer.Note("some of them changed or are gone since they were marked: " +
			"the answer is from the documents as they are")
	}
	if !whole {
		m.answer.Note("long passages were read in part: a question takes 20 parts")
	}
	return asked
}

// markedShown are the marked passages among the results, in the order of the marks. Those of other searches, which
// nobody sees, are not asked over.
func (m *Model) markedShown() []state.Passage {
	marks := m.marks()
	if len(marks) == 0 || m.search.shown == nil {
		return nil
	}
	shown := exmaps.NewSetWithItems(refsOf(m.search.shown.response.Results))
	return slices.DeleteFunc(slices.Clone(marks), func(p state.Passage) bool { return !shown.Has(p.Ref) })
}

// asksOverMarked reports whether the server answers from passages of one's choice.
func (m *Model) asksOverMarked() bool {
	return m.conn.welcome.refs || m.isLocal() && !m.target.Elsewhere
}

const notOverMarked = "this server cannot ask over marked passages"

// cannotAskOver returns why passages cannot be asked over; "" if they can.
func (m *Model) cannotAskOver(passages []state.Passage) string {
	elsewhere := func(p state.Passage) bool { return p.DocumentID == "" || slices.Contains(m.target.Beside, p.Origin) }
	switch at := slices.IndexFunc(passages, elsewhere); {
	case !m.asksOverMarked():
		return notOverMarked
	case len(passages) > wire.MaxChatRefs:
		return fmt.Sprintf("a question takes at most %d marked passages; %d are marked", wire.MaxChatRefs,
			len(passages))
	case at >= 0:
		return "this server does not have the marked passage “" + text.OneLine(passages[at].Title) + "”"
	}
	return ""
}

func markedRef(p state.Passage) string { return p.Ref }

// chatRefs returns the refs of passages for a question: first the best chunk of each, then as many of their others as a
// question takes. whole reports whether that is all.
func chatRefs(passages []state.Passage) (refs []string, whole bool) {
	refs = exslices.CastFunc(passages, markedRef)
	for _, p := range passages {
		for chunk := p.ChunkStart; chunk <= p.ChunkEnd; chunk++ {
			ref := p.DocumentID + "#" + strconv.Itoa(chunk)
			switch {
			case slices.Contains(refs, ref):
			case len(refs) >= wire.MaxChatRefs:
				return refs, false
			default:
				refs = append(refs, ref)
			}
		}
	}
	return refs, true
}

func cannotAskCollection(m *Model) string {
	return cmp.Or(notOpen(m), noCollected(m), m.withoutModel(), m.cannotAskOver(m.marks()))
}

// askCollection asks for a question over the marked passages.
func (m *Model) askCollection() tea.Cmd {
	marks := m.marks()
	open := m.openPrompt("Ask over "+text.Count(len(marks), "marked passage"), "question",
		m.search.question(), func(question string) tea.Cmd {
			if !m.parse(question).HasWords() {
				m.warn("not asked: type a question")
				return nil
			}
			return m.answerTo(question, marks)
		})
	m.prompt.does = "ask"
	return open
}

// question is what was searched last, without its filters.
func (s *searching) question() string {
	if s.shown == nil {
		return ""
	}
	return strings.TrimSpace(s.shown.query.WithoutFilters())
}
