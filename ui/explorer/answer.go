package explorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
)

// answerPause is how long pieces of an answer are gathered before they are drawn, so that a fast model does not draw
// more often than a terminal shows.
const answerPause = 16 * time.Millisecond

// answering is the panel of answers and the conversation in it.
type answering struct {
	panel.Answer
	asking    *request
	passages  *request // completes the passages of the documents that an answer cites
	thread    thread
	rendering bool
	completed map[string]bool // refs of the answer's documents whose whole passage was asked for
	refused   string          // why no further question can be answered; empty: it can
	reading   bool            // a cited document is read; going back leads to the answer
}

// thread is the conversation that the next question continues.
type thread struct {
	query   string // asked last, filters included; over marked passages asked first
	session string
	refs    []string // of the passages that it is about; empty: of what is found
	asked   int      // number of the last question; 0: not known
	again   bool     // the last question is asked again
}

// wholeSearch has the list show what the answer rests on, where it shows less: what was found while typing, or for
// another query.
func (m *Model) wholeSearch(query string) tea.Cmd {
	if m.search.running != nil && !m.search.running.typed() && sameQuestion(m.search.running.text, query) {
		return nil
	}
	if s := m.search.shown; m.failing() || s != nil && !s.typed() && !s.ofAnswer && sameQuestion(s.text, query) {
		return nil
	}
	return m.startSearch(query, false, false)
}

// sendFurther asks what was typed, under the filters of the question before. The question takes the place of the query,
// so that the list shows what is found for it in the light of what was said before.
func (m *Model) sendFurther() tea.Cmd {
	question := strings.TrimSpace(m.answer.Typed())
	if question == "" {
		return nil
	}
	if m.answer.asking.running() {
		m.warn("the previous answer is not finished")
		return nil
	}
	if !m.parse(question).HasWords() {
		m.warn("type a question besides the filters")
		return nil
	}
	if len(m.answer.thread.refs) > 0 {
		return m.ask(question)
	}
	said := m.answer.Conversation()
	m.replaceQuery(question)
	query := m.box.Query()
	search := m.searchFurther(query, said)
	return tea.Batch(search, m.ask(query))
}

// handlePackets shows what the model said.
func (m *Model) handlePackets(packets []wire.ChatPacket) tea.Cmd {
	var said strings.Builder
	for _, packet := range packets {
		m.answer.Cites(packet)
		switch packet.Type {
		case wire.ChatSessionCreated:
			m.sessionMade(packet)
		case wire.ChatMessageIDs:
			m.answer.thread.asked = packet.UserMessageID
		case wire.ChatSearchQueries:
			m.answer.Queries(packet.Queries)
		case wire.ChatSearchFilters:
			m.answer.Filters(filterText(packet))
		case wire.ChatSearchDocuments, wire.ChatMessageStart:
			if documents := len(packet.Documents) + len(packet.FinalDocuments); documents > 0 {
				m.answer.Documents(documents)
			}
		case wire.ChatMessageDelta:
			said.WriteString(packet.Content)
		}
	}
	if said.Len() > 0 {
		m.answer.Append(said.String())
	}
	return nil
}

// filterText names the filters that a model set.
func filterText(packet wire.ChatPacket) string {
	parts := exslices.CastFunc(packet.Sources, wire.SourceName)
	if packet.TimeFilterStart != nil {
		parts = append(parts, "since "+passage.Day(*packet.TimeFilterStart))
	}
	if packet.TimeFilterEnd != nil {
		parts = append(parts, "until "+passage.Day(*packet.TimeFilterEnd))
	}
	return strings.Join(parts, ", ")
}

// handleAnswer ends an answer.
func (m *Model) handleAnswer(answer *wire.ChatAnswer, err error) tea.Cmd {
	if err != nil {
		m.answerFailed(err)
		return nil
	}
	m.answer.thread.session = cmp.Or(answer.SessionID, m.answer.thread.session)
	if len(answer.Documents) > 0 {
		m.answer.Documents(len(answer.Documents))
	}
	m.answer.Finish(*answer)
	if answer.Stopped {
		m.answer.Stop() // by somebody else
	}
	m.follow.trail = m.answer.Conversation()
	return nil
}

// sessionMade notes the conversation that a question began.
func (m *Model) sessionMade(packet wire.ChatPacket) {
	m.answer.thread.session = packet.SessionID
	switch {
	case packet.Incognito:
		m.answer.Incognito()
	case m.options.Private:
		m.answer.Note("private is set, but this server stores the conversation")
	}
}

func (m *Model) answerFailed(err error) {
	if client.KindOf(err) == client.Canceled {
		m.answer.Stop()
		return
	}
	failed, isKnown := errors.AsType[*client.Error](err)
	problem, remedy := reasonOf(err), remedyOf(err)
	switch {
	case isKnown && strings.Contains(failed.Reason, "No default LLM model"):
		m.answer.refused, problem = noModel, noModel
		remedy = text.Sentence(m.modelRemedy(failed.Local))
		if failed.Local && m.target.OwnModel {
			remedy = "Answers from several targets need a model on this machine: " + m.modelRemedy(true) +
				", or ask " + m.target.Where + " alone with quarry ask."
		}
		remedy += " The passages found are in the list."
	case isKnown && failed.Status == http.StatusNotFound && failed.Code == "" &&
		strings.EqualFold(failed.Reason, "Not Found"):
		m.answer.refused = "this server cannot answer questions"
		problem, remedy = m.answer.refused, "The passages found are in the list."
	case isKnown && failed.Kind == client.RateLimited && failed.RetryAfter > 0:
		remedy = "Try again after " + m.now().Add(failed.RetryAfter).Format(time.TimeOnly) + "."
	}
	m.answer.Fail(problem, remedy)
}

// Back leaves the line, stops the answer, or closes the panel.
func (a *answering) Back() bool {
	if !a.Typing() {
		a.asking.stop()
	}
	return a.Answer.Back()
}

// renderAnswer renders what the answer panel shows, one rendering at a time.
func (m *Model) renderAnswer() tea.Cmd {
	if m.overlay() != InAnswer || m.answer.rendering {
		return nil
	}
	r, _ := m.overlayRect()
	_, _, width, height := panel.Inside(r.W, r.H)
	m.answer.View(width, height, m.theme) // a job is for the size shown last
	render := m.answer.RenderJob(m.theme)
	if render == nil {
		return nil
	}
	m.answer.rendering = true
	return detached(nil, func() (func(), error) { return render(), nil }, func(show func(), _ error) tea.Cmd {
		m.answer.rendering = false
		show()
		return nil
	})
}

func cannotAnswer(m *Model) string {
	reason := cmp.Or(notOpen(m), unless(m.query().HasWords(), "type a question first"), m.withoutModel())
	if reason == "" && m.asksOverMarked() {
		reason = m.cannotAskOver(m.markedShown())
	}
	return reason
}

// noModel is why a question or a follow-up is not possible.
const noModel = "no language model is configured"

// withoutModel returns why the target answers no questions, as far as its searches report it; "" if it may.
func (m *Model) withoutModel() string {
	switch {
	case !m.conn.noModel:
		return ""
	case m.isLocal():
		return noModel + "; " + m.modelRemedy(true)
	}
	return noModel + " on this server"
}

// modelRemedy is what configures a language model, of this machine or elsewhere.
func (m *Model) modelRemedy(here bool) string {
	setUp := m.options.SetUp
	key := m.keys.keyOf("set-up", InList)
	switch {
	case !here || setUp.Refused != "":
		return "ask the administrator to configure one"
	case key == "" || setUp.Backend.SaveModel == nil || setUp.ReadOnly != "" || m.target.Kind == Remote:
		return "set llm.default and llm.providers in the configuration file"
	}
	return key + " sets one up"
}

func cannotFollowUp(m *Model) string { return cmp.Or(m.answer.refused, m.withoutModel()) }

func noAnswer(m *Model) string {
	_, ok := m.answer.Last()
	return unless(ok, "no answer to copy yet")
}

// copyAnswer copies the last answer as far as it is, with the documents that it cites.
func (m *Model) copyAnswer() tea.Cmd {
	turn, _ := m.answer.Last()
	return m.copy(passage.Answer(turn.Text, turn.Cited(false)), "answer")
}

// openCited shows the document with a citation number: the passage in the list, or else among the
// documents of the answer, which take the list's place, or else its source.
func (m *Model) openCited(number int) tea.Cmd {
	source, turn, ok := m.answer.Cited(number)
	if !ok {
		m.warn("the answer has no citation with that number")
		return nil
	}
	at, link := m.resultOf(source), text.OrEmpty(source.Link)
	if at < 0 &&
		slices.ContainsFunc(turn.Documents, func(d wire.SearchDoc) bool { return d.DocumentID == source.DocumentID }) {
		m.showFound(documentResults(turn), fromAnswer)
		at = m.resultOf(source)
	}
	switch {
	case at >= 0:
	case m.openable(link):
		return m.openLink(link)
	default:
		m.warn("that document is not in the results and has no link")
		return nil
	}
	m.list.SelectIndex(at)
	m.panels = nil
	m.focus, m.reader, m.answer.reading = InReader, m.compare.following, true
	return nil
}

// resultOf finds the passage of a cited document in the list, by its id, or where the server names none by its link; -1
// where it is not.
func (m *Model) resultOf(source wire.SearchDoc) int {
	if m.search.shown == nil {
		return -1
	}
	results := m.search.shown.response.Results
	if i := slices.IndexFunc(results, func(r wire.SearchResult) bool {
		return r.DocumentID != "" && r.DocumentID == source.DocumentID
	}); i >= 0 {
		return i
	}
	return slices.IndexFunc(results, func(r wire.SearchResult) bool {
		link := text.OrEmpty(source.Link)
		return link != "" && r.DocumentID == "" && text.OrEmpty(r.Link) == link
	})
}

// fromAnswer is what the list says of the documents that an answer rests on.
const fromAnswer = "an answer"

// showFound has the list show passages that no search found, and what they are from.
func (m *Model) showFound(results []wire.SearchResult, from string) {
	m.stopSearch()
	m.stopBlaming()
	m.search.failure = nil
	response := &wire.SearchResponse{Results: results}
	wire.FillEmpty(response)
	answered := shown{search: m.searchOf(m.box.Query()), response: response, ofAnswer: true, from: from}
	if from == fromCitation { // whose words are not looked for
		answered.query = client.Query{}
	}
	answered.request = m.begin(&m.answer.passages)
	m.answer.completed = map[string]bool{}
	m.show(answered)
}

// documentResults are the documents of an answer as passages: under the numbers that the answer cites them by, and
// those that it does not cite under numbers that are free.
func documentResults(turn panel.Turn) []wire.SearchResult {
	numbers, taken := map[string]int{}, map[int]bool{}
	for _, source := range turn.Cited(false) {
		numbers[source.DocumentID], taken[*source.CitationID] = *source.CitationID, true
	}
	free := 0
	var results []wire.SearchResult
	for _, d := range turn.Documents[:min(len(turn.Documents), wire.MaxNumResults)] {
		number, cited := numbers[d.DocumentID]
		if !cited {
			for free++; taken[free]; free++ {
			}
			number = free
		}
		results = append(results, d.Result(number))
	}
	slices.SortStableFunc(results, func(a, b wire.SearchResult) int { return *a.CitationID - *b.CitationID })
	return results
}

// completePassage fetches the whole of the selected passage, where the list shows the documents of an answer. What
// cannot be fetched stays as it is.
func (m *Model) completePassage() tea.Cmd {
	result, ok := m.result()
	if !ok || !m.search.shown.ofAnswer || m.client() == nil || result.DocumentID == "" ||
		m.answer.completed[result.Ref] {
		return nil
	}
	m.answer.completed[result.Ref] = true
	c, shown := m.client(), m.search.shown
	return during(shown.request, func(ctx context.Context) (*wire.DocumentChunks, error) {
		return c.Chunks(ctx, result.DocumentID, result.ChunkInd, result.ChunkInd, wordsOf(shown))
	}, func(document *wire.DocumentChunks, err error) tea.Cmd {
		if err == nil && len(document.Chunks) == 1 && m.search.shown == shown {
			m.handlePassage(result.Ref, document)
		}
		return nil
	})
}

// handlePassage puts the whole of a passage in place of its beginning.
func (m *Model) handlePassage(ref string, document *wire.DocumentChunks) {
	results, chunk := m.search.shown.response.Results, document.Chunks[0]
	i := slices.IndexFunc(results, func(r wire.SearchResult) bool { return r.Ref == ref })
	if i < 0 || chunk.Damaged {
		return
	}
	results[i].Content, results[i].Highlights = chunk.Content, chunk.Highlights
	results[i].HeadingPath, results[i].ChunkCount = chunk.HeadingPath, document.Document.ChunkCount
	m.list.Set(results, passage.Words(m.search.shown.query), true)
}

// notOfAnswer returns why the shown list cannot be explained.
func notOfAnswer(m *Model) string {
	if m.search.shown != nil && m.search.shown.ofAnswer {
		return fmt.Sprintf("these documents come from %s; %s runs a search", m.search.shown.from,
			m.keys.keyOf("search-again", InList))
	}
	return nothingAsked(m)
}
