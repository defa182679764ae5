package contracttest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"

	"quarry/client/wire"
)

// What a Recorded server answers: RecordedQuestion, in the one session that it has, RecordedFailure when the stream has
// begun, and RecordedWithoutModel as if it had none.
const (
	RecordedQuestion     = "how do we roll back a deploy"
	RecordedFailure      = "fail"
	RecordedWithoutModel = "no model"

	recordedSession = "0a6cb2de-3a53-4d5e-8f2e-6f8f3b9a1c11"
)

// chats adds the routes of questions and sessions.
func (r *recorded) chats() {
	r.handle("POST /chat/send-chat-message", r.ask)
	r.handle("GET /chat/get-user-chat-sessions", func(w http.ResponseWriter, request *http.Request) {
		if before, err := wire.ParseTime(request.URL.Query().Get("before")); err == nil && before.Year() < 2026 {
			r.write(w, http.StatusOK, `{"sessions":[],"has_more":false}`)
			return
		}
		r.send(w, http.StatusOK, "chat-sessions")
	})
	r.handle("GET /chat/get-chat-session/{id}", r.ofSession(func(w http.ResponseWriter, _ *http.Request) {
		r.send(w, http.StatusOK, "chat-session")
	}))
	r.handle("POST /chat/stop-chat-session/{id}", r.ofSession(func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, http.StatusOK, `{"message":"Chat session stopped"}`)
	}))
	r.handle("DELETE /chat/delete-chat-session/{id}", r.ofSession(func(w http.ResponseWriter, _ *http.Request) {
		r.write(w, http.StatusOK, "null")
	}))
	r.handle("PUT /chat/rename-chat-session", func(w http.ResponseWriter, request *http.Request) {
		var asked wire.RenameChatSession
		if err := json.NewDecoder(request.Body).Decode(&asked); err != nil || asked.ID != recordedSession {
			r.noSession(w)
			return
		}
		name := "Rolling back deploys"
		if asked.Name != nil {
			name = *asked.Name
		}
		r.write(w, http.StatusOK, marshal(wire.RenamedChatSession{NewName: name}))
	})
}

func (r *recorded) noSession(w http.ResponseWriter) {
	r.write(w, http.StatusNotFound, `{"detail":"Chat session not found"}`)
}

func (r *recorded) ofSession(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		if request.PathValue("id") != recordedSession {
			r.noSession(w)
			return
		}
		next(w, request)
	}
}

func (r *recorded) ask(w http.ResponseWriter, request *http.Request) {
	var asked wire.ChatRequest
	err := json.NewDecoder(request.Body).Decode(&asked)
	info, filters := asked.ChatSessionInfo, asked.Filters
	switch {
	case err != nil || asked.Message == "" || asked.ChatSessionID != "" && info != nil:
		r.write(w, http.StatusUnprocessableEntity, `{"status_code":422,"message":"1 validation error","data":null}`)
	case asked.ChatSessionID != "" && asked.ChatSessionID != recordedSession:
		r.noSession(w)
	case info != nil && r.persona(strconv.Itoa(info.PersonaID)) == nil:
		r.send(w, http.StatusNotFound, "error-404-persona")
	case filters != nil && len(filters.DocumentSets) > 0:
		r.send(w, http.StatusForbidden, "error-403-document-sets")
	case asked.Message == RecordedWithoutModel:
		r.send(w, http.StatusBadRequest, "error-400-valueerror")
	case asked.Message == RecordedFailure:
		r.tell(w, "chat/chat-stream-error.ndjson", "")
	case asked.ChatSessionID != "":
		r.tell(w, "chat/chat-stream.ndjson", `{"chat_session_id"`)
	default:
		r.tell(w, "chat/chat-stream.ndjson", "")
	}
}

// tell sends a recorded stream, without the lines that have one of the beginnings.
func (r *recorded) tell(w http.ResponseWriter, name, without string) {
	text, err := fs.ReadFile(r.bodies, name)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", wire.MediaTypeEvents)
	for line := range strings.Lines(string(text)) {
		if without == "" || !strings.HasPrefix(line, without) {
			fmt.Fprint(w, line)
			_ = http.NewResponseController(w).Flush()
		}
	}
}
