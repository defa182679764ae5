package api

import (
	"context"
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

const private = "private" // shared_status of every session: nothing is shared

// chatUser is whom the sessions and files of a caller belong to. The owner in process is told of all documents: nobody reads
// that over a listener, not with the owner's token either.
func chatUser(who directory.Principal) string {
	if who.Owner {
		return who.UserID + "/in process"
	}
	return who.UserID
}

// ownSession opens a session of the caller.
func (s *Server) ownSession(ctx context.Context, who directory.Principal, id string) (chat.Keeper, chat.Session, error) {
	store, session, err := s.findSession(ctx, who.Tenant, id)
	switch {
	case errors.Is(err, chat.ErrNotFound):
		err = detailed(http.StatusNotFound, "Chat session not found")
	case err == nil && session.UserID != chatUser(who):
		return nil, chat.Session{}, detailed(http.StatusForbidden, "Access denied")
	}
	return store, session, err
}

// findSession finds a session of a tenant, be it kept in memory or stored.
func (s *Server) findSession(ctx context.Context, tenant, id string) (chat.Keeper, chat.Session, error) {
	hidden := s.incognito.Of(tenant)
	if session, err := hidden.Session(ctx, id); err == nil || s.Chats == nil {
		return hidden, session, err
	}
	store, err := s.Chats(ctx, tenant, false)
	if err != nil {
		return nil, chat.Session{}, err
	}
	session, err := store.Session(ctx, id)
	return store, session, err
}

// newSession is a session as it is asked for, which is not kept yet.
func (s *Server) newSession(ctx context.Context, who directory.Principal, info wire.ChatSessionInfo) (chat.Session, error) {
	session := chat.NewSession(chatUser(who), s.Now())
	session.PersonaID, session.Name, session.Incognito = info.PersonaID, info.Description, info.Incognito
	if info.ProjectID != nil {
		return session, detailed(http.StatusNotFound, "Project not found")
	}
	if info.Incognito && info.IncognitoID != "" {
		session.ID = info.IncognitoID
		switch _, _, err := s.findSession(ctx, who.Tenant, session.ID); {
		case err == nil:
			return session, sessionRefused(chat.ErrExists)
		case !errors.Is(err, chat.ErrNotFound):
			return session, err
		}
	}
	return session, nil
}

// keeper is what keeps a new session.
func (s *Server) keeper(ctx context.Context, who directory.Principal, session chat.Session) (chat.Keeper, error) {
	if session.Incognito {
		return s.incognito.Of(who.Tenant), nil
	}
	return s.Chats(ctx, who.Tenant, true)
}

// sessionRefused explains why a session cannot be made or continued.
func sessionRefused(err error) error {
	switch {
	case errors.Is(err, chat.ErrExists):
		return coded(http.StatusConflict, "DUPLICATE_RESOURCE", "A chat session with this id already exists.")
	case errors.Is(err, chat.ErrFull):
		return coded(http.StatusBadRequest, "INVALID_INPUT", "This chat session is full. Start a new one.")
	case errors.Is(err, chat.ErrNotFound): // it was dropped meanwhile
		return detailed(http.StatusNotFound, "Chat session not found")
	}
	return err
}

// chatSessions answers GET /chat/get-user-chat-sessions.
func (s *Server) chatSessions(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f := queryFields(r.URL.Query())
	most := f.wholeOr("page_size", wire.DefaultChatSessions, 1, wire.MaxChatSessions)
	project := f.whole("project_id", 0, 1<<53)
	f.boolean("only_non_project_chats", true) // there are no others
	f.boolean("include_failed_chats", true)   // they are listed, with what was said
	if err := f.failure(); err != nil {
		return err
	}
	var before time.Time
	if text := r.URL.Query().Get("before"); text != "" {
		parsed, err := wire.ParseTime(text)
		if err != nil {
			return detailed(http.StatusUnprocessableEntity, "Invalid 'before' timestamp. Expected ISO 8601 format.")
		}
		before = parsed
	}
	page := wire.ChatSessions{Sessions: []wire.ChatSession{}}
	if s.Chats == nil || project != nil { // there are no projects that a session could be in
		return answer(w, page)
	}
	store, err := s.Chats(r.Context(), who.Tenant, false)
	if err != nil {
		return err
	}
	sessions, more, err := store.Sessions(r.Context(), chatUser(who), before, most)
	if err != nil {
		return err
	}
	for _, session := range sessions {
		page.Sessions = append(page.Sessions, wire.ChatSession{
			ID: session.ID, Name: nameOf(session), PersonaID: &session.PersonaID, SharedStatus: private,
			TimeCreated: directory.Timestamp(session.Created), TimeUpdated: directory.Timestamp(session.Updated),
		})
	}
	page.HasMore = more
	return answer(w, page)
}

// nameOf is a session's name, nil for none.
func nameOf(session chat.Session) *string {
	if session.Name == "" {
		return nil
	}
	return &session.Name
}

// chatSession answers GET /chat/get-chat-session/{id}.
func (s *Server) chatSession(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	id, err := pathUUID(r)
	if err != nil {
		return err
	}
	store, session, err := s.ownSession(r.Context(), who, id)
	if err != nil {
		return err
	}
	messages, err := store.Messages(r.Context(), id)
	if err != nil {
		return err
	}
	detail := wire.ChatSessionDetail{
		ID: id, Description: nameOf(session), PersonaID: &session.PersonaID, PersonaName: s.personaName(r.Context(), who, session),
		Messages: []wire.ChatMessage{}, TimeCreated: directory.Timestamp(session.Created), SharedStatus: private,
		Packets: [][]any{}, Incognito: session.Incognito,
	}
	if who.Name != "" {
		detail.OwnerName = &who.Name
	}
	if len(messages) > 0 && s.answers.running(id) {
		run := messages[len(messages)-1].ID
		detail.CurrentRun = map[string]any{"reserved_assistant_message_id": run}
	}
	for _, m := range messages {
		detail.Messages = append(detail.Messages, chatMessage(id, m, messages))
		if m.Type == chat.TypeAssistant {
			detail.Packets = append(detail.Packets, replay(m))
		}
	}
	return answer(w, detail)
}

// personaName is the name of a session's agent; nil if the caller may not use it any more.
func (s *Server) personaName(ctx context.Context, who directory.Principal, session chat.Session) *string {
	name := directory.DefaultAgent().Name
	if session.PersonaID != 0 {
		agent, err := s.agent(ctx, who, session.PersonaID)
		if err != nil {
			return nil
		}
		name = agent.Name
	}
	return &name
}

func chatMessage(session string, m chat.Message, all []chat.Message) wire.ChatMessage {
	message := wire.ChatMessage{
		SessionID: session, ID: m.ID, Message: m.Text, Type: m.Type, ContextDocs: append([]wire.SearchDoc{}, m.Documents...),
		TimeSent: directory.Timestamp(m.Sent), Files: append([]wire.ChatFile{}, m.Files...),
	}
	if m.Parent != 0 {
		message.ParentMessage = &m.Parent
	}
	for _, child := range slices.Backward(all) {
		if child.Parent == m.ID {
			message.LatestChildMessage = &child.ID
			break
		}
	}
	if m.Type == chat.TypeUser {
		return message
	}
	seconds := m.Took.Seconds()
	message.Citations, message.ProcessingSeconds, message.ModelDisplayName = m.Citations, &seconds, orNil(m.Model)
	if m.Error != "" {
		message.Error = &m.Error
	}
	return message
}

// replay are the packets that an answer of the past would be told with.
func replay(m chat.Message) []any {
	documents := append([]wire.SearchDoc{}, m.Documents...)
	packets := []any{
		chat.At(chat.TurnSearch, chat.SearchStart()), chat.At(chat.TurnSearch, chat.SearchDocuments(documents)),
		chat.At(chat.TurnSearch, chat.SectionEnd()), chat.At(chat.TurnAnswer, chat.MessageStart(documents, m.Took.Seconds())),
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
func (s *Server) createChatSession(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	info := f.newSession()
	if err := f.failure(); err != nil {
		return err
	}
	if s.Chats == nil {
		return message("No default LLM model found")
	}
	if info.PersonaID != 0 {
		if _, err := s.agent(r.Context(), who, info.PersonaID); err != nil {
			return err
		}
	}
	session, err := s.newSession(r.Context(), who, info)
	if err != nil {
		return err
	}
	store, err := s.keeper(r.Context(), who, session)
	if err != nil {
		return err
	}
	if err := store.Add(r.Context(), session); err != nil {
		return sessionRefused(err)
	}
	return answer(w, wire.MadeChatSession{ID: session.ID, Incognito: session.Incognito})
}

// renameChatSession answers PUT /chat/rename-chat-session. Without a name a model finds one, or else it is made of the
// first words that were said.
func (s *Server) renameChatSession(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	f, err := bodyFields(r)
	if err != nil {
		return err
	}
	id := ""
	if f.require("chat_session_id") {
		id = f.uuid(f.raw["chat_session_id"], "chat_session_id")
	}
	name := f.optionalText("name", maxItemRunes)
	if err := f.failure(); err != nil {
		return err
	}
	store, session, err := s.ownSession(r.Context(), who, id)
	if err != nil {
		return err
	}
	found := ""
	if name != nil {
		found = strings.TrimSpace(*name)
	}
	if found == "" {
		if found, err = s.findName(r.Context(), who, store, session); err != nil {
			return err
		}
	}
	if err := store.Rename(r.Context(), id, found); err != nil {
		return err
	}
	return answer(w, wire.RenamedChatSession{NewName: found})
}

func (s *Server) findName(ctx context.Context, who directory.Principal, store chat.Keeper, session chat.Session) (string,
	error) {
	messages, err := store.Messages(ctx, session.ID)
	if err != nil {
		return "", err
	}
	model, err := s.model(ctx, wire.SearchRequest{}, [2]string{})
	if err != nil {
		return "", err
	}
	if model, _, err = s.metered(ctx, who, model, wire.SearchRequest{}); err != nil {
		model = nil // a name is not worth a refusal
	}
	return chat.Name(ctx, model, messages), nil
}

// stopChatSession answers POST /chat/stop-chat-session/{id}.
func (s *Server) stopChatSession(w http.ResponseWriter, r *http.Request, who directory.Principal) error {
	id, err := pathUUID(r)
	if err != nil {
		return err
	}
	store, _, err := s.ownSession(r.Context(), who, id)
	if err != nil {
		return err
	}
	here := s.answers.stop(id)
	if err := store.Stop(r.Context(), id); err != nil && !here { // another process may write it
		return err
	}
	return answer(w, wire.MessageError{Message: "Chat session stopped"})
}

// pathUUID reads the id of a session from the path.
func pathUUID(r *http.Request) (string, error) {
	f := newFields("path")
	id := f.uuid(mustJSON(r.PathValue("id")), "session_id")
	return id, f.failure()
}
