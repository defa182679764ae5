package server

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/llmtest"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/llm"
)

// answering are models that answer every question in the same way, and are quickly done with what is asked before it.
func answering(t *testing.T, answer llmtest.Answer) *llm.Providers {
	t.Helper()
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Containing("You answer questions of people in a company"), answer)
	model.On(llmtest.Any(), llmtest.Text("lantern"))
	models, err := llm.New(llm.Config{Default: "local", Providers: map[string]llm.Provider{
		"local": {BaseURL: model.BaseURL(), Models: []string{"m"}}}, Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// ownerAt sends a request of the owner.
func ownerAt(ctx context.Context, s *Server, method, target, body string) string {
	answer := httptest.NewRecorder()
	s.InProcess(directory.Owner(directory.DefaultTenant)).ServeHTTP(answer, httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body)))
	return answer.Body.String()
}

// An answer is stopped by whichever process is asked to, not only by the one that writes it.
func TestAnAnswerOfAnotherProcessIsStopped(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	stopsElsewhere(t, func() Options { return Options{Home: home} })
}

func stopsElsewhere(t *testing.T, place func() Options) {
	t.Helper()
	models := answering(t, llmtest.HangAfter("The beginning "))
	var servers [2]*Server
	for i := range servers {
		options := place()
		options.Models = models
		servers[i] = openServer(t, options)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session := strings.Split(ownerAt(ctx, servers[0], http.MethodPost, "/chat/create-chat-session", `{}`), `"`)[3]
	read, write := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/chat/send-chat-message",
			strings.NewReader(`{"message":"x","chat_session_id":"`+session+`"}`))
		servers[0].InProcess(directory.Owner(directory.DefaultTenant)).ServeHTTP(streamed{httptest.NewRecorder(), write}, request)
		_ = write.Close()
	}()
	told := ""
	for lines := bufio.NewScanner(read); lines.Scan(); {
		told = lines.Text()
		if strings.Contains(told, `"content":"beginning`) || strings.Contains(told, `"content":"The`) {
			if got := ownerAt(ctx, servers[1], http.MethodPost, "/chat/stop-chat-session/"+session, ""); !strings.Contains(got, "stopped") {
				t.Errorf("%s", got)
			}
		}
	}
	<-done
	if !strings.Contains(told, `"stop_reason":"user_cancelled"`) {
		t.Errorf("the last line is %s", told)
	}
	if detail := ownerAt(ctx, servers[1], http.MethodGet, "/chat/get-chat-session/"+session, ""); !strings.Contains(detail, "The beginning") {
		t.Errorf("what was written is not kept: %s", detail)
	}
}

// TestAnswersEndWithTheServer: an answer that outlasts the grace ends with an error that its reader sees, and what was
// written of it is kept.
func TestAnswersEndWithTheServer(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	s := openServer(t, Options{Home: home, Settings: api.Settings{Models: answering(t, llmtest.HangAfter("The beginning "))}})
	s.grace = time.Millisecond
	token := addToken(t, s, directory.TokenRequest{Name: "jo", Email: "jo@acme.com"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- s.Admit(api.PublicOptions{}).ListenAndServe(ctx, "127.0.0.1:0", func(at net.Addr) { ready <- at })
	}()
	at := "http://" + (<-ready).String()
	answer := send(t, http.MethodPost, at+"/chat/send-chat-message", token, `{"message":"x"}`)
	defer answer.Body.Close()
	var session, last string
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		last = lines.Text()
		if id, found := strings.CutPrefix(last, `{"chat_session_id":"`); found {
			session, _, _ = strings.Cut(id, `"`)
		}
		if strings.Contains(last, `"content":"beginning`) || strings.Contains(last, `"content":"The`) {
			stop()
		}
	}
	if !strings.Contains(last, "SERVICE_UNAVAILABLE") {
		t.Errorf("the last line is %s", last)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	people, err := s.directory(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	jo, err := people.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	kept := httptest.NewRecorder()
	s.InProcess(jo).ServeHTTP(kept, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/chat/get-chat-session/"+session, http.NoBody))
	if text := kept.Body.String(); !strings.Contains(text, "The beginning") || !strings.Contains(text, "The server is stopping.") {
		t.Errorf("what was written is not kept: %s", text)
	}
}

// streamed writes an answer where it can be read while it is written.
type streamed struct {
	*httptest.ResponseRecorder
	to io.Writer
}

func (s streamed) Write(text []byte) (int, error) { return s.to.Write(text) }

// What is asked incognito is on no disk and in no list, and goes on while the process lasts.
func TestIncognitoIsNotStored(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	s, err := Open(t.Context(), Options{Home: home, Settings: api.Settings{Models: answering(t, llmtest.Text("Nothing was found."))}})
	if err != nil {
		t.Fatal(err)
	}
	const id = "6b1d4c9e-54d5-4c55-8f0e-0f6a3d3f1a77"
	first := ownerAt(t.Context(), s, http.MethodPost, "/chat/send-chat-message",
		`{"message":"xyzzy","chat_session_info":{"incognito":true,"incognito_session_id":"`+id+`"}}`)
	if !strings.HasPrefix(first, `{"chat_session_id":"`+id+`","incognito":true}`) {
		t.Errorf("%s", first)
	}
	if got := ownerAt(t.Context(), s, http.MethodPost, "/chat/send-chat-message",
		`{"message":"plugh","chat_session_id":"`+id+`"}`); !strings.Contains(got, "Nothing") {
		t.Errorf("%s", got)
	}
	detail := ownerAt(t.Context(), s, http.MethodGet, "/chat/get-chat-session/"+id, "")
	if !strings.Contains(detail, "xyzzy") || !strings.Contains(detail, "plugh") || !strings.Contains(detail, `"incognito":true`) {
		t.Errorf("%s", detail)
	}
	if got := ownerAt(t.Context(), s, http.MethodGet, "/chat/get-user-chat-sessions", ""); !strings.Contains(got, `"sessions":[]`) {
		t.Errorf("%s", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	_ = filepath.WalkDir(home, func(path string, _ fs.DirEntry, _ error) error {
		text, _ := os.ReadFile(path)
		if strings.Contains(path, chatsFile) || strings.Contains(string(text), "xyzzy") {
			t.Errorf("%s was written", path)
		}
		return nil
	})
}

// Sessions are made on disk by the first question, and not by looking for them.
func TestChatsOnDisk(t *testing.T) {
	t.Parallel()
	models := answering(t, llmtest.Text("Nothing was found."))
	home := filepath.Join(t.TempDir(), "home")
	for _, readOnly := range []bool{true, false} {
		s, err := Open(t.Context(), Options{Home: home, ReadOnly: readOnly, Settings: api.Settings{Models: models}})
		if err != nil {
			t.Fatal(err)
		}
		call := func(method, target, body string) string { return ownerAt(t.Context(), s, method, target, body) }
		if got := call(http.MethodGet, "/chat/get-user-chat-sessions", ""); !strings.Contains(got, `"sessions":[]`) {
			t.Errorf("%s", got)
		}
		if _, err := os.Stat(home); err == nil {
			t.Error("looking made something")
		}
		if got := call(http.MethodPost, "/chat/send-chat-message", `{"message":"x"}`); !strings.Contains(got, "Nothing") ||
			!strings.Contains(got, `"type":"stop"`) {
			t.Errorf("%s", got)
		}
		if got := call(http.MethodGet, "/chat/get-user-chat-sessions", ""); strings.Contains(got, `"sessions":[]`) {
			t.Errorf("%s", got)
		}
		_, err = os.Stat(filepath.Join(home, "tenants", "default", chatsFile))
		if (err == nil) == readOnly {
			t.Errorf("read-only %t: %v", readOnly, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
