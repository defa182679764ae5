package api

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/server/chat"
	"quarry/server/directory"
)

const (
	private    = "private" // shared_status of every session: nothing is shared
	typeSystem = "system"  // type of a session's root
)

// chatUser returns the user id under which sessions and files are stored. The owner in process sees all documents, so
// these sessions are never readable over a listener, not even with the owner's token.
func chatUser(who directory.Principal) string {
	if who.Owner {
		return who.UserID + "/in process"
	}
	return who.UserID
}

// ownSession opens a session of the caller.
func (c *call) ownSession(id string) (*chat.Store, chat.Session, error) {
	store, session, err := c.findSession(id)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		err = detailed(http.StatusNotFound, "Chat session not found")
	case err == nil && session.UserID != chatUser(c.who):
		return nil, chat.Session{}, detailed(http.StatusForbidden, "Access denied")
	}
	return store, session, err
}

// findSession finds a session of the caller's tenant, incognito or stored.
func (c *call) findSession(id string) (*chat.Store, chat.Session, error) {
	hidden := c.incognito.Of(c.who.Tenant)
	if session, err := hidden.Session(c.ctx, id); err == nil {
		return hidden, session, nil
	}
	store := c.Chats(c.who.Tenant)
	session, err := store.Session(c.ctx, id)
	return store, session, err
}

// newSession returns a session that is not stored yet.
func (c *call) newSession(info wire.ChatSessionInfo) chat.Session {
	session := chat.NewSession(chatUser(c.who), c.Now())
	session.PersonaID, session.Name, session.Incognito = info.PersonaID, info.Description, info.Incognito
	if info.ProjectID != nil {
		abort(detailed(http.StatusNotFound, "Project not found"))
	}
	if info.Incognito && info.IncognitoID != "" {
		session.ID = info.IncognitoID
		switch _, _, err := c.findSession(session.ID); {
		case err == nil:
			abort(sessionRefused(chat.ErrExists))
		case !errors.Is(err, chat.ErrNotFound):
			abort(err)
		}
	}
	return session
}

// keeper returns the store of a new session.
func (c *call) keeper(session chat.Session) *chat.Store {
	if session.Incognito {
		return c.incognito.Of(c.who.Tenant)
	}
	return c.Chats(c.who.Tenant)
}

// sessionRefused converts the errors of a chat store.
func sessionRefused(err error) error {
	switch {
	case errors.Is(err, chat.ErrExists):
		return coded("DUPLICATE_RESOURCE", "A chat session with this id already exists.")
	case errors.Is(err, chat.ErrFull):
		return coded("INVALID_INPUT", "This chat session is full. Start a new one.")
	case errors.Is(err, chat.ErrNotFound): // removed in the meantime
		return detailed(http.StatusNotFound, "Chat session not found")
	}
	return err
}

// chatSessions answers GET /chat/get-user-chat-sessions.
func chatSessions(c *call) any {
	most := c.wholeOr("page_size", wire.DefaultChatSessions, 1, wire.MaxChatSessions)
	project := c.whole("project_id", 0, anyNumber)
	c.boolean("only_non_project_chats", true) // there are no others
	c.boolean("include_failed_chats", true)   // they are always listed
	check(c.failure())
	var before time.Time
	if text := c.values.Get("before"); text != "" {
		parsed, err := wire.ParseTime(text)
		if err != nil {
			abort(detailed(http.StatusUnprocessableEntity, "Invalid 'before' timestamp. Expected ISO 8601 format."))
		}
		before = parsed
	}
	if project != nil { // there are no projects that a session could be in
		return wire.ChatSessions{Sessions: []wire.ChatSession{}}
	}
	sessions, more, err := c.Chats(c.who.Tenant).Sessions(c.ctx, chatUser(c.who), before, most)
	check(err)
	return wire.ChatSessions{HasMore: more, Sessions: mapped(sessions, func(session chat.Session) wire.ChatSession {
		return wire.ChatSession{
			ID: session.ID, Name: orNil(session.Name), PersonaID: &session.PersonaID, SharedStatus: private,
			TimeCreated: directory.Timestamp(session.Created), TimeUpdated: directory.Timestamp(session.Updated),
		}
	})}
}

// isForeign reports whether ownSession refused a session that does not exist, or is somebody else's.
func isForeign(err error) bool {
	return statusOf(err) == http.StatusForbidden || statusOf(err) == http.StatusNotFound
}

// chatSession answers GET /chat/get-chat-session/{id}.
func chatSession(c *call) any {
	id := c.pathSession()
	c.boolean("include_deleted", false) // deleted sessions are not kept
	shared := c.boolean("is_shared", false)
	store, session, err := c.session(id)
	check(err)
	if shared {
		abort(detailed(http.StatusForbidden, "Chat session is not shared"))
	}
	messages := must(store.Messages(c.ctx, id))
	detail := wire.ChatSessionDetail{
		ID: id, Description: orNil(session.Name), PersonaID: &session.PersonaID, PersonaName: c.personaName(session),
		Messages: []wire.ChatMessage{}, TimeCreated: directory.Timestamp(session.Created), SharedStatus: private,
		Packets: [][]any{}, Incognito: session.Incognito, OwnerName: orNil(c.who.Name),
	}
	if run := c.answers.resumable(id); run != nil {
		detail.CurrentRun = &wire.ChatRun{ID: run.answer.ID}
	}
	if len(messages) > 0 {
		detail.Messages = append(detail.Messages, chatMessage(id,
			chat.Message{ID: chat.Root(messages), Type: typeSystem, Sent: session.Created}, messages))
	}
	for _, m := range messages {
		detail.Messages = append(detail.Messages, chatMessage(id, m, messages))
		if m.Type == chat.TypeAssistant {
			detail.Packets = append(detail.Packets, replay(m))
		}
	}
	return must(asJSON(detail))
}

// session opens a session of the caller if the request is valid.
func (c *call) session(id string) (*chat.Store, chat.Session, error) {
	check(c.failure())
	return c.ownSession(id)
}

// personaName returns the name of a session's agent; nil if the caller may no longer use it.
func (c *call) personaName(session chat.Session) *string {
	agent, err := c.agent(session.PersonaID)
	if err != nil {
		return nil
	}
	return &agent.Name
}

func chatMessage(session string, m chat.Message, all []chat.Message) wire.ChatMessage {
	message := wire.ChatMessage{
		SessionID: session, ID: m.ID, Message: m.Text, Type: m.Type, ContextDocs: savedDocuments(m),
		TimeSent: directory.Timestamp(m.Sent), Files: listed(m.Files),
	}
	root := chat.Root(all)
	if m.ID != root {
		message.ParentMessage = new(cmp.Or(m.Parent, root))
	}
	for _, child := range slices.Backward(all) {
		if cmp.Or(child.Parent, root) == m.ID {
			message.LatestChildMessage = &child.ID
			break
		}
	}
	if m.Type != chat.TypeAssistant {
		return message
	}
	seconds := m.Took.Seconds()
	message.Citations, message.ProcessingSeconds = m.Citations, &seconds
	message.ModelDisplayName, message.Error = orNil(m.Model), orNil(m.Error)
	return message
}

// savedDocuments numbers the documents of an answer. Onyx numbers all documents of all answers.
func savedDocuments(m chat.Message) []wire.SavedSearchDoc {
	const most = 1 << 10 // of one answer
	saved := make([]wire.SavedSearchDoc, len(m.Documents))
	for i, document := range m.Documents {
		saved[i] = wire.SavedSearchDoc{SearchDoc: document, ID: m.ID*most + i}
	}
	return saved
}

// replay returns the packets of a stored answer.
func replay(m chat.Message) []any {
	documents := listed(m.Documents)
	packets := []any{
		chat.At(chat.TurnSearch, chat.SearchStart()), chat.At(chat.TurnSearch, chat.SearchDocuments(documents)),
		chat.At(chat.TurnSearch, chat.SectionEnd()),
		chat.At(chat.TurnAnswer, chat.MessageStart(documents, m.Took.Seconds())),
		chat.At(chat.TurnAnswer, chat.MessageDelta(m.Text)),
	}
	for _, number := range sortedNumbers(m.Citations) {
		packets = append(packets, chat.At(chat.TurnAnswer, chat.Citation(number, m.Citations[strconv.Itoa(number)])))
	}
	return append(packets, chat.At(chat.TurnAnswer, chat.SectionEnd()), chat.At(chat.TurnAnswer, chat.Stop(false)))
}

func sortedNumbers(citations map[string]string) []int {
	var numbers []int
	for text := range citations {
		if n, err := strconv.Atoi(text); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// createChatSession answers POST /chat/create-chat-session.
func createChatSession(c *call) any {
	info := c.sessionInfo()
	check(c.failure())
	_, err := c.directory.Agent(info.PersonaID)
	if errors.Is(err, directory.ErrNotFound) {
		err = detailed(http.StatusForbidden, noPersona(info.PersonaID))
	}
	check(err)
	session := c.newSession(info)
	check(sessionRefused(c.keeper(session).Add(c.ctx, session)))
	return wire.MadeChatSession{ID: session.ID, Incognito: session.Incognito}
}

// renameChatSession answers PUT /chat/rename-chat-session. Without a name, a model chooses one, or it is
// made of the first words.
func renameChatSession(c *call) any {
	id := ""
	if c.require("chat_session_id") {
		id = c.uuid(c.raw["chat_session_id"], "chat_session_id")
	}
	name := strings.TrimSpace(c.textOf("name", maxItemRunes))
	store, session, err := c.session(id)
	check(err)
	if name == "" {
		name = c.findName(store, session)
	}
	check(store.Rename(c.ctx, id, name))
	return wire.RenamedChatSession{NewName: name}
}

func (c *call) findName(store *chat.Store, session chat.Session) string {
	messages := must(store.Messages(c.ctx, session.ID))
	model, _, err := c.metered(c.model(wire.SearchRequest{}, [2]string{}), wire.SearchRequest{})
	if err != nil {
		model = nil // naming must not fail because of the budget
	}
	return chat.Name(c.ctx, model, messages)
}

// stopChatSession answers POST /chat/stop-chat-session/{id}.
func stopChatSession(c *call) any {
	id := c.pathSession()
	store, _, err := c.session(id)
	check(sessionHidden(err))
	here := c.answers.stop(id)
	if err := store.Stop(c.ctx, id); here == 0 { // another process may be writing the answer
		check(err)
	}
	return wire.MessageError{Message: "Chat session stopped"}
}

// updateChatSession answers PATCH /chat/chat-session/{id}. Sessions quote documents that others may not see, so none
// can be shared.
func updateChatSession(c *call) any {
	id, status := c.pathSession(), c.requireEnum("sharing_status", []string{"public", private})
	_, _, err := c.session(id)
	check(err)
	if status != private {
		abort(forbidden("Chat sessions cannot be shared: they quote documents that others may not see."))
	}
	return nil
}

// deleteChatSession answers DELETE /chat/delete-chat-session/{id}. Every deletion is final.
func deleteChatSession(c *call) any {
	id := c.pathSession()
	c.boolean("hard_delete", true)
	store, _, err := c.session(id)
	if isForeign(err) {
		err = detailed(http.StatusBadRequest, "Chat session not found")
	}
	check(err)
	c.answers.stop(id)
	check(store.Remove(c.ctx, id))
	return nil
}

// deleteChatSessions answers DELETE /chat/delete-all-chat-sessions.
func deleteChatSessions(c *call) any {
	user := chatUser(c.who)
	c.answers.stopAll(errStopped,
		func(t *turn) bool { return t.who.Tenant == c.who.Tenant && t.session.UserID == user })
	c.incognito.RemoveAll(c.ctx, c.who.Tenant, user)
	check(c.Chats(c.who.Tenant).RemoveAll(c.ctx, user))
	return nil
}
