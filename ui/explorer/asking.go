package explorer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/explorer/answer"
)

// together is how long pieces of an answer are gathered before they are painted, so that a fast model does not paint
// more often than a terminal shows.
const together = 16 * time.Millisecond

// asking is a question that a model answers now.
type asking struct {
	*request
	packets chan wire.ChatPacket
}

// thread is the conversation that the next question goes on with.
type thread struct {
	query   string // that it began with, filters included
	session string
}

// packetsMsg brings what a model said since the last one.
type packetsMsg struct {
	id      int
	packets []wire.ChatPacket
}

// answeredMsg ends an answer.
type answeredMsg struct {
	id     int
	answer *wire.ChatAnswer
	err    error
}

type answerRenderedMsg struct{ rendered answer.Rendered }

// openAnswer asks for an answer to the query, or shows the thread that began with it.
func (m *Model) openAnswer() tea.Cmd {
	m.overlay = InAnswer
	if m.thread.query == m.box.Query() && !m.answer.Empty() {
		return nil
	}
	m.asking.stop()
	m.asking = nil
	m.answer.Reset()
	m.thread = thread{query: m.box.Query()}
	return m.ask(client.ParseQuery(m.box.Query(), m.now()).Text)
}

// askFurther opens the line for the next question of the thread.
func (m *Model) askFurther() tea.Cmd {
	m.answer.Type()
	return nil
}

// sendFurther asks what was typed.
func (m *Model) sendFurther() tea.Cmd {
	question := strings.TrimSpace(m.answer.Typed())
	if question == "" {
		return nil
	}
	if m.asking != nil {
		m.warn("the answer before is still being written")
		return nil
	}
	return m.ask(question)
}

// ask asks a question, as the next of the thread.
func (m *Model) ask(question string) tea.Cmd {
	m.answer.Begin(question)
	ctx, r := m.begin()
	a := asking{request: r, packets: make(chan wire.ChatPacket, 64)}
	m.asking = &a
	c := m.client()
	request, agent := m.chatRequest(question)
	query := client.ParseQuery(m.thread.query, m.now())
	if agent == "" {
		agent = query.Agent
	}
	return tea.Batch(a.next(ctx), func() tea.Msg {
		defer close(a.packets)
		request, err := chatAgent(ctx, c, request, agent)
		if err != nil {
			return answeredMsg{id: r.id, err: err}
		}
		got, err := c.Ask(ctx, request, func(packet wire.ChatPacket) {
			select {
			case a.packets <- packet:
			case <-ctx.Done():
			}
		})
		return answeredMsg{id: r.id, answer: got, err: err}
	})
}

// chatRequest is the question with the filters of the query that the thread began with, and the agent of the target.
func (m *Model) chatRequest(question string) (request wire.ChatRequest, agent string) {
	latest := wire.LatestMessage
	request = wire.ChatRequest{Message: question, IncludeCitations: true, Stream: true, ParentMessageID: &latest}
	if m.thread.session != "" {
		request.ChatSessionID = m.thread.session
	} else {
		request.ChatSessionInfo = &wire.ChatSessionInfo{}
		if m.target.Agent != nil {
			request.ChatSessionInfo.PersonaID = *m.target.Agent
		}
		agent = m.target.AgentName
	}
	query := client.ParseQuery(m.thread.query, m.now())
	narrowed := query.Request()
	if len(query.Chips)+len(query.Exclude)+len(query.Phrases) > 0 {
		request.Filters = &wire.ChatFilters{Sources: narrowed.Sources, DocumentSets: narrowed.DocumentSets, Tags: narrowed.Tags,
			Authors: narrowed.Authors, DocumentTypes: narrowed.DocumentTypes}
		if m.thread.session == "" { // what must and must not be there is part of the first question alone
			request.Filters.Exclude, request.Filters.Phrases = narrowed.Exclude, narrowed.Phrases
		}
		if narrowed.TimeCutoff != nil || narrowed.TimeUntil != nil {
			request.Filters.UpdatedAt = &wire.ChatTimeRange{Start: narrowed.TimeCutoff, End: narrowed.TimeUntil}
		}
	}
	return request, agent
}

// chatAgent puts the number of an agent into a request that begins a session.
func chatAgent(ctx context.Context, c *client.Client, request wire.ChatRequest, agent string) (wire.ChatRequest, error) {
	if agent == "" || request.ChatSessionInfo == nil {
		return request, nil
	}
	found, err := withAgent(ctx, c, wire.SearchRequest{}, agent)
	if err != nil {
		return request, err
	}
	request.ChatSessionInfo = &wire.ChatSessionInfo{PersonaID: *found.PersonaID}
	return request, nil
}

// next waits for what the model says, and gathers what comes shortly after.
func (a asking) next(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		msg := packetsMsg{id: a.id}
		packet, ok := <-a.packets
		if !ok {
			return nil
		}
		msg.packets = append(msg.packets, packet)
		gathered := time.NewTimer(together)
		defer gathered.Stop()
		for {
			select {
			case packet, ok := <-a.packets:
				if !ok {
					return msg
				}
				msg.packets = append(msg.packets, packet)
			case <-gathered.C:
				return msg
			case <-ctx.Done():
				return msg
			}
		}
	}
}

// packetsTold shows what the model said.
func (m *Model) packetsTold(msg packetsMsg) tea.Cmd {
	a := m.asking
	if a == nil || !a.is(msg.id) {
		return nil
	}
	var text strings.Builder
	for _, packet := range msg.packets {
		switch packet.Type {
		case wire.ChatSessionCreated:
			m.thread.session = packet.SessionID
		case wire.ChatSearchQueries:
			m.answer.Queries(packet.Queries)
		case wire.ChatSearchFilters:
			m.answer.Filters(filterText(packet))
		case wire.ChatSearchDocuments, wire.ChatMessageStart:
			if documents := len(packet.Documents) + len(packet.FinalDocuments); documents > 0 {
				m.answer.Documents(documents)
			}
		case wire.ChatMessageDelta:
			text.WriteString(packet.Content)
		}
	}
	if text.Len() > 0 {
		m.answer.Append(text.String())
	}
	return a.next(m.ctx)
}

// filterText tells which filters a model set.
func filterText(packet wire.ChatPacket) string {
	var parts []string
	for _, source := range packet.Sources {
		parts = append(parts, client.SourceName(source))
	}
	if packet.TimeFilterStart != nil {
		parts = append(parts, "since "+day(*packet.TimeFilterStart))
	}
	if packet.TimeFilterEnd != nil {
		parts = append(parts, "until "+day(*packet.TimeFilterEnd))
	}
	return strings.Join(parts, ", ")
}

func day(moment string) string {
	date, _, _ := strings.Cut(moment, "T")
	return date
}

// answered ends an answer.
func (m *Model) answered(msg answeredMsg) {
	if m.asking == nil || !m.asking.is(msg.id) {
		return
	}
	m.asking.stop()
	m.asking = nil
	if msg.err != nil {
		m.answerFailed(msg.err)
		return
	}
	m.thread.session = msg.answer.SessionID
	if len(msg.answer.Documents) > 0 {
		m.answer.Documents(len(msg.answer.Documents))
	}
	m.answer.Finish(msg.answer.Text, citedSources(msg.answer))
}

// citedSources are the documents that an answer cites, by number.
func citedSources(got *wire.ChatAnswer) []answer.Source {
	var sources []answer.Source
	for number := 1; len(sources) < len(got.Citations) && number <= maxCitation; number++ {
		document, ok := got.Document(number)
		if !ok {
			continue
		}
		source := answer.Source{Number: number, Title: document.Title, SourceType: document.SourceType, DocumentID: document.DocumentID}
		if document.Link != nil {
			source.Link = *document.Link
		}
		sources = append(sources, source)
	}
	return sources
}

// maxCitation bounds the numbers that are looked for in an answer.
const maxCitation = 500

func (m *Model) answerFailed(err error) {
	if client.KindOf(err) == client.Canceled {
		m.answer.Stop()
		return
	}
	var told *client.Error
	if errors.As(err, &told) && strings.Contains(told.Reason, "No default LLM model") {
		remedy := "The server's administrator configures one. The passages found stand in the list."
		if told.Local {
			remedy = "Set llm.default and llm.providers in the configuration file. The passages found stand in the list."
		}
		m.answer.Fail("no language model is configured, so nothing can be answered", remedy)
		return
	}
	m.answer.Fail(reasonOf(err), remedyOf(err))
}

// closeAnswer goes one step back: it leaves the line, stops the answer, or closes the panel.
func (m *Model) closeAnswer() tea.Cmd {
	switch {
	case m.answer.Typing():
		m.answer.StopTyping()
	case m.asking != nil:
		m.asking.stop()
		m.asking = nil
		m.answer.Stop()
	default:
		m.overlay = 0
	}
	return nil
}

// openCited shows the document that a number of the answer stands for: the passage in the list, or else its source.
func (m *Model) openCited(number int) tea.Cmd {
	source, ok := m.answer.Cited(number)
	if !ok {
		m.warn("the answer cites nothing by that number")
		return nil
	}
	if i := m.resultOf(source); i >= 0 {
		m.list.SelectIndex(i)
		m.overlay = 0
		return m.focusReader()
	}
	if !m.openable(source.Link) {
		m.warn("that document is not among the results, and has no link to open")
		return nil
	}
	return m.openLink(source.Link)
}

// resultOf finds the passage of a cited document in the list, by its id, or where the server names none by its link; -1
// where it is not.
func (m *Model) resultOf(source answer.Source) int {
	if m.shown == nil {
		return -1
	}
	results := m.shown.response.Results
	if i := slices.IndexFunc(results, func(r wire.SearchResult) bool {
		return r.DocumentID != "" && r.DocumentID == source.DocumentID
	}); i >= 0 {
		return i
	}
	return slices.IndexFunc(results, func(r wire.SearchResult) bool {
		return source.Link != "" && r.DocumentID == "" && linkOf(r) == source.Link
	})
}

// renderAnswer renders what the answer panel shows, one rendering at a time.
func (m *Model) renderAnswer() tea.Cmd {
	if m.overlay != InAnswer || m.renderingAnswer {
		return nil
	}
	r := m.overlayRect()
	m.answer.View(r.W, r.H, m.theme, "") // a job is for the size shown last
	job, ok := m.answer.RenderJob(m.theme)
	if !ok {
		return nil
	}
	m.renderingAnswer = true
	return func() tea.Msg { return answerRenderedMsg{job.Render()} }
}

func (m *Model) answerRendered(msg answerRenderedMsg) {
	m.renderingAnswer = false
	m.answer.Apply(msg.rendered)
}

func cannotAnswer(m *Model) string {
	switch {
	case m.client() == nil:
		return notOpen(m)
	case !client.ParseQuery(m.box.Query(), m.now()).HasWords():
		return "type a question first"
	}
	return ""
}

// stop gives up an answer; what was written stays. A nil one is none.
func (a *asking) stop() {
	if a != nil {
		a.request.stop()
	}
}
