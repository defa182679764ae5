package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
)

const (
	askTimeout     = 5 * time.Minute
	askIdle        = time.Minute // without a line; heartbeats count
	maxAnswerBytes = 4 << 20     // of text
	maxAskBytes    = 64 << 20    // of the whole stream
)

const askPath = "/chat/send-chat-message"

var errIdle = errors.New("no data")

// Ask asks a question and reads the streamed answer. It calls report, which may be nil, with each packet, in this
// goroutine. Defaults of the request are the session's latest message, citations and streaming. If an answer fails or
// is canceled after it began, the part so far is returned with the error.
func (c *Client) Ask(ctx context.Context, request wire.ChatRequest, report func(wire.ChatPacket)) (*wire.ChatAnswer,
	error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, _, err := c.prepareChat(ctx, completeChat(request))
	if err != nil {
		return nil, err
	}
	r := post(askPath, request)
	r.stream, r.timeout = true, askTimeout
	idle := time.AfterFunc(askIdle, guard.Func(func() { cancel(errIdle) }, cancel))
	defer idle.Stop()
	a, err := c.open(ctx, r)
	if err != nil {
		return nil, c.idleError(ctx, r, err)
	}
	defer a.Close()
	if isHTML(a.Header, nil) {
		return nil, a.unusable("a web page instead of an answer")
	}
	if a.ContentLength > maxAskBytes {
		return nil, a.tooLong(maxAskBytes)
	}
	reading := asking{answer: a, client: c, report: report,
		so: &wire.ChatAnswer{Citations: map[int]string{}, Documents: []wire.SearchDoc{}}}
	err = a.lines(func(line []byte) (last bool, err error) {
		idle.Reset(askIdle)
		return reading.line(line)
	})
	reading.so.Text = reading.text.String()
	return reading.so, c.idleError(ctx, r, err)
}

// idleError replaces the cancellation of a stream without data by a Timeout.
func (c *Client) idleError(ctx context.Context, r call, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), errIdle) {
		return err
	}
	return &Error{Kind: Timeout, Method: r.method, Path: r.path, Local: c.options.Local, cause: errIdle,
		Reason: fmt.Sprintf("no data for %s while waiting for the answer", round(askIdle))}
}

func completeChat(request wire.ChatRequest) wire.ChatRequest {
	request.Stream, request.IncludeCitations = true, true
	if request.ParentMessageID == nil {
		latest := wire.LatestMessage
		request.ParentMessageID = &latest
	}
	if request.FileDescriptors == nil {
		request.FileDescriptors = []wire.ChatFile{}
	}
	request.Origin = cmp.Or(request.Origin, "api")
	if request.ChatSessionID == "" && request.ChatSessionInfo == nil {
		request.ChatSessionInfo = &wire.ChatSessionInfo{}
	}
	return request
}

// asking reads an answer.
type asking struct {
	*answer
	client   *Client
	report   func(wire.ChatPacket)
	so       *wire.ChatAnswer
	text     strings.Builder
	received int
	isRead   bool // a line could be read
	unread   int  // parts that could not
}

// chatLine is any line of a chat's stream.
type chatLine struct {
	SessionID     *string             `json:"chat_session_id"`
	Incognito     bool                `json:"incognito"`
	UserMessageID *int                `json:"user_message_id"`
	MessageID     *int                `json:"reserved_assistant_message_id"`
	Placement     *wire.ChatPlacement `json:"placement"`
	Object        json.RawMessage     `json:"obj"`
	Error         json.RawMessage     `json:"error"`
	ErrorCode     string              `json:"error_code"`
}

// line reads one line and reports whether it is the last.
func (a *asking) line(data []byte) (last bool, err error) {
	if a.received += len(data); a.received > maxAskBytes {
		return false, a.tooLong(maxAskBytes)
	}
	if data = eventData(bytes.TrimPrefix(data, []byte("\ufeff"))); len(data) == 0 {
		return false, nil
	}
	if isHTML(http.Header{}, data) {
		return false, a.unusable("a web page instead of an answer")
	}
	var line chatLine
	var packet wire.ChatPacket
	if err = unmarshal(data, &line); err != nil {
		err = a.notJSON(err)
	} else if len(line.Error) > 0 && string(line.Error) != "null" {
		return false, a.chatError(line.ErrorCode, wire.Reason(line.Error))
	} else {
		packet, err = a.packet(line, data)
	}
	if err != nil && a.isRead { // the rest may be readable
		a.unread++
		return false, nil
	}
	if a.isRead = true; err != nil {
		return false, err
	}
	last = packet.Type == wire.ChatStop
	if last && a.unread > 0 {
		note := "\n\n*" + text.Count(a.unread, "part") + " of the answer cannot be read.*"
		raw, _ := json.Marshal(map[string]string{"type": wire.ChatMessageDelta, "content": note}) // texts always encode
		object := wire.ChatObject{Content: note}
		err = a.add(wire.ChatPacket{Type: wire.ChatMessageDelta, Raw: raw, ChatObject: object})
	}
	return last, cmp.Or(err, a.add(packet))
}

// add adds a packet to the answer and reports it.
func (a *asking) add(packet wire.ChatPacket) error {
	err := a.keep(&packet)
	if err == nil && a.report != nil {
		a.report(packet)
	}
	return err
}

// eventData removes the framing that a server or proxy may add to a line of an event stream.
func eventData(line []byte) []byte {
	if len(line) == 0 || line[0] == '{' {
		return line
	}
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return bytes.TrimSpace(data)
	}
	for _, other := range []string{":", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(line, []byte(other)) {
			return nil
		}
	}
	return line
}

// packet decodes a line. Lines that are not packets get types of our own.
func (a *asking) packet(line chatLine, text []byte) (wire.ChatPacket, error) {
	packet := wire.ChatPacket{Placement: line.Placement}
	raw := json.RawMessage(text)
	if len(line.Object) > 0 {
		raw = line.Object
	}
	var err error
	if packet.Raw, err = sanitizeJSON(raw, nil); err != nil {
		return packet, a.notJSON(err)
	}
	switch {
	case len(line.Object) > 0:
		var kind struct {
			Type string `json:"type"`
		}
		if err := unmarshal(line.Object, &kind); err != nil {
			return packet, a.notJSON(err)
		}
		packet.Type = kind.Type
		if !readsChat(kind.Type) {
			break
		}
		if err := unmarshal(line.Object, &packet.ChatObject); err != nil {
			return packet, a.notJSON(err)
		}
	case line.MessageID != nil:
		packet.Type, packet.MessageID = wire.ChatMessageIDs, *line.MessageID
		if line.UserMessageID != nil {
			packet.UserMessageID = *line.UserMessageID
		}
	case line.SessionID != nil:
		packet.Type, packet.SessionID, packet.Incognito = wire.ChatSessionCreated, *line.SessionID, line.Incognito
	}
	sanitizeValue(&packet, a.client.options.Local)
	return packet, nil
}

// readsChat reports whether the fields of a type of packet are read. Others are not decoded: their fields may have the
// same names and other types.
func readsChat(kind string) bool {
	return slices.Contains([]string{wire.ChatSearchQueries, wire.ChatSearchFilters, wire.ChatSearchDocuments,
		wire.ChatMessageStart, wire.ChatMessageDelta, wire.ChatCitation, wire.ChatReasoningDelta, wire.ChatStop,
		"custom_tool_start", "research_agent_start"}, kind)
}

// keep adds a packet to the answer.
func (a *asking) keep(packet *wire.ChatPacket) error {
	switch packet.Type {
	case wire.ChatSessionCreated:
		a.so.SessionID, a.so.Incognito = packet.SessionID, packet.Incognito
	case wire.ChatMessageIDs:
		a.so.UserMessageID, a.so.MessageID = packet.UserMessageID, packet.MessageID
	case wire.ChatSearchDocuments:
		a.so.AddDocuments(packet.Documents)
	case wire.ChatMessageStart:
		a.so.AddDocuments(packet.FinalDocuments)
	case wire.ChatMessageDelta:
		if a.text.Len()+len(packet.Content) > maxAnswerBytes {
			return a.unusable(fmt.Sprintf("a response of more than %d MB of text", maxAnswerBytes>>20))
		}
		a.text.WriteString(packet.Content)
	case wire.ChatCitation:
		if len(a.so.Citations) < wire.MaxChatDocuments {
			a.so.Citations[packet.CitationNumber] = packet.DocumentID
		} else {
			a.unread++
		}
	case wire.ChatError:
		return a.chatError("", "")
	case wire.ChatStop:
		a.so.Stopped = packet.StopReason != nil && *packet.StopReason == wire.StopCancelled
	}
	return nil
}

// chatError returns the error of a failure inside the stream. Its codes are a list of their own and about the model,
// not the user: a rejected key of the model is the server's failure.
func (a *asking) chatError(code, reason string) *Error {
	e := &Error{Kind: Server, Code: shorten(code)}
	e.Reason = cmp.Or(shorten(reason), e.Code, "the answer failed without a reason")
	switch strings.ToUpper(e.Code) {
	case "RATE_LIMIT", "RATE_LIMITED", "BUDGET_EXCEEDED":
		e.Kind = RateLimited
	case "TIMEOUT", "GATEWAY_TIMEOUT":
		e.Kind = Timeout
	case "CONTEXT_TOO_LONG", "CONTENT_POLICY", "VALIDATION_ERROR", "INVALID_INPUT", "DUPLICATE_RESOURCE":
		e.Kind = BadRequest
	case "INSUFFICIENT_PERMISSIONS", "UNAUTHORIZED":
		e.Kind = Auth
	case "NOT_FOUND", "PERSONA_NOT_FOUND", "SESSION_NOT_FOUND":
		e.Kind = NotAvailable
	}
	return a.named(e)
}

// ChatSessions lists the caller's sessions, newest first: at most size (0: the default), and only those older than
// before, unless it is empty.
func (c *Client) ChatSessions(ctx context.Context, size int, before string) (*wire.ChatSessions, error) {
	if size <= 0 {
		size = wire.DefaultChatSessions
	}
	query := map[string][]string{"page_size": {strconv.Itoa(min(size, wire.MaxChatSessions))}}
	if before != "" {
		query["before"] = []string{before}
	}
	sessions, err := fetched[wire.ChatSessions](ctx, c, get("/chat/get-user-chat-sessions", query))
	if err == nil && sessions.Sessions == nil {
		sessions.Sessions = []wire.ChatSession{}
	}
	return sessions, err
}

// ChatSession returns a session with its messages.
func (c *Client) ChatSession(ctx context.Context, id string) (*wire.ChatSessionDetail, error) {
	r := get("/chat/get-chat-session/"+id, nil)
	if !isPlainID(id) {
		return nil, badRequest(r.method, "/chat/get-chat-session", "not the id of a session")
	}
	r.limit = maxSearchBytes
	session, err := fetched[wire.ChatSessionDetail](ctx, c, r)
	if err == nil && session.Messages == nil {
		session.Messages = []wire.ChatMessage{}
	}
	return session, err
}

// RenameChatSession renames a session and returns its new name. If name is empty, the server chooses one.
func (c *Client) RenameChatSession(ctx context.Context, id, name string) (string, error) {
	body := wire.RenameChatSession{ID: id}
	if name != "" {
		body.Name = &name
	}
	r := post("/chat/rename-chat-session", body)
	r.method, r.timeout = http.MethodPut, askIdle // a model may write the name
	var renamed wire.RenamedChatSession
	err := c.fetch(ctx, r, &renamed)
	return renamed.NewName, err
}

// DeleteChatSession deletes a session.
func (c *Client) DeleteChatSession(ctx context.Context, id string) error {
	const path = "/chat/delete-chat-session/"
	if !isPlainID(id) {
		return badRequest(http.MethodDelete, path, "not the id of a session")
	}
	return c.do(ctx, change(http.MethodDelete, path+id, nil))
}

// StopAnswer stops the answer that a server is writing for nobody, within a time, also once ctx has ended. Errors do
// not matter: a server may notice by itself that the connection is gone, and in this process the answer has ended
// already.
func (c *Client) StopAnswer(ctx context.Context, session string, within time.Duration) {
	if session != "" && !c.Local() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
		defer cancel()
		_ = c.StopChat(ctx, session)
	}
}

// StopChat stops the answer that the server is writing in a session.
func (c *Client) StopChat(ctx context.Context, id string) error {
	if !isPlainID(id) {
		return badRequest(http.MethodPost, "/chat/stop-chat-session", "not the id of a session")
	}
	return c.do(ctx, post("/chat/stop-chat-session/"+id, nil))
}

// isPlainID reports whether an id can be part of a path unescaped.
func isPlainID(id string) bool {
	const longest = 100
	return id != "" && len(id) <= longest && strings.Trim(id,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
