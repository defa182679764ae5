package explorer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/querybox"
)

// chatPage is how many earlier conversations are asked for at once.
const chatPage = wire.MaxChatSessions

// conversations is the panel of earlier conversations.
type conversations struct {
	panel.Chats
	fetching *request
	refused  string // why there are none here; empty: there may be
	none     bool   // none was stored so far
	doomed   string // deleted when the key is pressed once more
}

// askChats finds out whether a server keeps conversations, and whether there are any; a library always does, and
// without a model may have none.
func (m *Model) askChats() tea.Cmd {
	c := m.client()
	m.chats.none = m.conn.noModel
	if c.Local() && !m.conn.noModel {
		return nil
	}
	return during(m.conn.request, func(ctx context.Context) (*wire.ChatSessions, error) {
		return c.ChatSessions(ctx, 1, "")
	}, func(stored *wire.ChatSessions, err error) tea.Cmd {
		m.chats.refused, m.chats.none = whyNoChats(err), err == nil && len(stored.Sessions) == 0
		return nil
	})
}

// whyNoChats explains an error that the next call would repeat; "" for any other.
func whyNoChats(err error) string {
	switch client.KindOf(err) {
	case client.NotAvailable:
		return "this server does not store conversations"
	case client.Auth:
		return "the token lacks permission to read conversations"
	}
	return ""
}

func cannotListChats(m *Model) string {
	reason := cmp.Or(notOpen(m), m.chats.refused)
	if reason == "" && m.chats.none {
		return m.withoutModel()
	}
	return reason
}

// openChats lists earlier conversations.
func (m *Model) openChats() tea.Cmd {
	m.pushPanel(InChats, &m.chats)
	m.chats.Private = m.options.Private
	m.chats.Open(m.now())
	m.chats.doomed = ""
	return m.fetchChats("")
}

// Back stops what is being fetched, and closes the panel.
func (c *conversations) Back() bool {
	c.fetching.stop()
	return false
}

// fetchChats fetches conversations that changed before a moment, or the latest.
func (m *Model) fetchChats(before string) tea.Cmd {
	c := m.client()
	return background(m, &m.chats.fetching, func(ctx context.Context) (*wire.ChatSessions, error) {
		return c.ChatSessions(ctx, chatPage, before)
	}, m.handleChats)
}

func (m *Model) handleChats(page *wire.ChatSessions, err error) tea.Cmd {
	if err == nil {
		m.chats.Add(page.Sessions, page.HasMore)
		return nil
	}
	m.chats.refused = whyNoChats(err)
	m.chats.Fail(reasonOf(err), remedyOf(err))
	return nil
}

// moreChats asks for older conversations once the choice comes near the end of those that are known.
func (m *Model) moreChats() tea.Cmd {
	before := m.chats.Wanted()
	if m.overlay() != InChats || before == "" || m.chats.fetching.running() {
		return nil
	}
	m.chats.Doing("loading more")
	return m.fetchChats(before)
}

// changeChats runs an operation on a conversation. Its panel says what it is, and what went wrong.
func changeChats[T any](m *Model, doing string, work func(context.Context) (T, error), done func(T) tea.Cmd) tea.Cmd {
	m.chats.Doing(doing)
	return background(m, &m.chats.fetching, work, func(result T, err error) tea.Cmd {
		if err != nil {
			m.chats.Fail(reasonOf(err), remedyOf(err))
			return nil
		}
		return done(result)
	})
}

// openChat asks for the chosen conversation.
func (m *Model) openChat() tea.Cmd {
	chosen, ok := m.chats.Chosen()
	if !ok {
		return nil
	}
	c := m.client()
	return changeChats(m, "opening", func(ctx context.Context) (*wire.ChatSessionDetail, error) {
		return c.ChatSession(ctx, chosen.ID)
	}, m.handleChat)
}

// renameChat asks for another name of the chosen conversation.
func (m *Model) renameChat() tea.Cmd {
	chosen, ok := m.chats.Chosen()
	if !ok {
		return nil
	}
	return m.openPrompt("Name of the conversation", "with an empty line the server chooses one",
		text.OrEmpty(chosen.Name), func(name string) tea.Cmd {
			c := m.client()
			return changeChats(m, "renaming", func(ctx context.Context) (string, error) {
				return c.RenameChatSession(ctx, chosen.ID, name)
			}, func(name string) tea.Cmd {
				m.chats.Rename(chosen.ID, name)
				return nil
			})
		})
}

// deleteChat deletes the chosen conversation when it is called twice for it.
func (m *Model) deleteChat() tea.Cmd {
	chosen, ok := m.chats.Chosen()
	if !ok {
		return nil
	}
	if m.chats.doomed != chosen.ID {
		m.chats.doomed = chosen.ID
		m.warn(m.keys.keyOf("delete-conversation", InChats) + " again deletes the conversation")
		return nil
	}
	m.chats.doomed = ""
	c := m.client()
	return changeChats(m, "deleting", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.DeleteChatSession(ctx, chosen.ID)
	}, func(struct{}) tea.Cmd {
		m.chats.Remove(chosen.ID)
		if m.answer.thread.session == chosen.ID {
			m.answer.thread.session, m.answer.thread.asked = "", 0 // the next question begins another one
		}
		return nil
	})
}

// answerAgain asks for another answer to the last question, which takes the place of the last one.
func (m *Model) answerAgain() tea.Cmd {
	question := m.answer.DropLast()
	if len(m.answer.thread.refs) == 0 {
		question = m.answer.thread.query
	}
	m.answer.thread.again = true
	return m.ask(question)
}

// cannotAnswerAgain explains why no other answer can be asked for; "" if one can.
func cannotAnswerAgain(m *Model) string {
	switch {
	case m.answer.asking.running():
		return "the answer is not finished"
	case m.answer.Empty() || m.answer.thread.session == "" || m.answer.thread.asked == 0:
		return "no answer yet"
	}
	return ""
}

// handleChat shows an earlier conversation, to continue it: its last question is the query, and the list has the
// documents that the last answer rests on.
func (m *Model) handleChat(chat *wire.ChatSessionDetail) tea.Cmd {
	turns := chatTurns(chat)
	if len(turns) == 0 {
		m.chats.Fail("that conversation is empty", "")
		return nil
	}
	m.answer.asking.stop()
	m.setQuery(firstLine(turns[len(turns)-1].Question))
	m.answer.Restore(turns)
	if chat.Incognito {
		m.answer.Incognito()
	}
	m.answer.thread = thread{query: m.box.Query(), session: chat.ID, asked: lastQuestion(chat)}
	m.follow.trail = m.answer.Conversation()
	m.followLast()
	m.panels, m.focus = nil, InList
	m.pushPanel(InAnswer, &m.answer)
	if turn, ok := m.answer.Found(); ok {
		m.showFound(documentResults(turn), fromAnswer)
	} else {
		m.forgetResults()
	}
	return nil
}

// followLast makes the last question of the thread a follow-up to those before it, so that to search for it means
// what it meant there.
func (m *Model) followLast() {
	last := len(m.follow.trail) - 1
	for last >= 0 && m.follow.trail[last].Type != "user" {
		last--
	}
	m.follow.question = following{}
	if last > 0 {
		m.follow.question = newFollowing(m.query(), m.follow.trail[:last])
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// chatTurns are the questions and answers of a conversation: of one that branches, those that lead to the last message.
func chatTurns(chat *wire.ChatSessionDetail) []panel.Turn {
	byID := map[int]wire.ChatMessage{}
	for _, message := range chat.Messages {
		byID[message.ID] = message
	}
	var thread []wire.ChatMessage // the last message first
	if n := len(chat.Messages); n > 0 {
		for message, ok := chat.Messages[n-1], true; ok; {
			thread = append(thread, message)
			delete(byID, message.ID)
			if message.ParentMessage == nil {
				break
			}
			message, ok = byID[*message.ParentMessage]
		}
	}
	var turns []panel.Turn
	for i := len(thread) - 1; i >= 0; i-- {
		switch message := thread[i]; message.Type {
		case "user":
			turns = append(turns, panel.Turn{Question: message.Message})
		case "assistant":
			if n := len(turns); n > 0 {
				addAnswer(&turns[n-1], message, chat.CurrentRun != nil && i == 0)
			}
		}
	}
	return turns
}

// lastQuestion returns the number of the question that the last answer of a conversation follows; 0 if none is known.
func lastQuestion(chat *wire.ChatSessionDetail) int {
	if n := len(chat.Messages); n > 0 && chat.Messages[n-1].Type == "assistant" &&
		chat.Messages[n-1].ParentMessage != nil {
		return *chat.Messages[n-1].ParentMessage
	}
	return 0
}

// addAnswer completes a turn with its answer.
func addAnswer(turn *panel.Turn, message wire.ChatMessage, running bool) {
	turn.ChatAnswer = wire.ChatAnswer{Text: message.Message, Citations: map[int]string{}}
	turn.Documents = exslices.CastFunc(message.ContextDocs,
		func(saved wire.SavedSearchDoc) wire.SearchDoc { return saved.SearchDoc })
	for number, id := range message.Citations {
		if n, err := strconv.Atoi(number); err == nil {
			turn.Citations[n] = id
		}
	}
	switch {
	case message.Error != nil && *message.Error != "":
		turn.Problem = *message.Error
	case running:
		turn.Problem = "the answer is still being written"
	}
}

// followUps is what the next question can refer to.
type followUps struct {
	question following      // the follow-up, if it is the query
	trail    []wire.Message // the conversation that the next question continues
}

// following is a question that follows up on earlier ones.
type following struct {
	text string         // of the question, without filters
	said []wire.Message // what was said before, and the question
}

func newFollowing(question client.Query, said []wire.Message) following {
	return following{question.Text, append(slices.Clone(said), wire.Message{Type: "user", Message: question.Text})}
}

// of gives what was said before a query and in it, for the search; nil where the query stands alone.
func (f following) of(query client.Query) []wire.Message {
	if f.text == "" || f.text != query.Text {
		return nil
	}
	return f.said
}

// followUp searches for the query as a follow-up to the searches and answers before it.
func (m *Model) followUp() tea.Cmd {
	m.box.FinishFilters()
	typed := m.box.Query()
	query := m.parse(typed)
	if !query.HasWords() {
		m.warn("type a follow-up question first")
		return nil
	}
	m.focus = InList
	if s := m.search.shown; m.upToDate() && sameQuestion(s.text, typed) && len(s.wire.MessageHistory) > 0 {
		return nil
	}
	return m.searchFurther(typed, m.follow.trail)
}

// searchFurther searches for a query in the light of what was said before.
func (m *Model) searchFurther(text string, said []wire.Message) tea.Cmd {
	m.follow.question = newFollowing(m.parse(text), said)
	return m.startSearch(text, false, false)
}

// replaceQuery puts a question in place of the words of the query. Its filters stay, and undo brings the words back.
func (m *Model) replaceQuery(question string) {
	filters := exslices.CastFunc(m.box.Chips(), func(chip querybox.Chip) string { return chip.Raw })
	m.setQuery(strings.Join(append(filters, question), " "))
}

// noTrail says why there is nothing that a question could go on with.
func noTrail(m *Model) string {
	return cmp.Or(notOpen(m), m.withoutModel(), unless(len(m.follow.trail) > 0,
		"no search to follow up yet: "+m.keys.keyOf("search", InBox)+" runs one"))
}
