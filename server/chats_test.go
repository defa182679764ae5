package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/server/llm"
	"quarry/server/llm/llmtest"
)

// Sessions are made on disk by the first question, and not by looking for them.
func TestChatsOnDisk(t *testing.T) {
	t.Parallel()
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Any(), llmtest.Text("Nothing was found."))
	models, err := llm.New(llm.Config{Default: "local", Providers: map[string]llm.Provider{
		"local": {BaseURL: model.BaseURL(), Models: []string{"m"}}}, Transport: &http.Transport{}})
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	for _, readOnly := range []bool{true, false} {
		s, err := Open(t.Context(), Options{Home: home, ReadOnly: readOnly, Models: models})
		if err != nil {
			t.Fatal(err)
		}
		call := func(method, target, body string) string {
			answer := httptest.NewRecorder()
			s.InProcess(s.Owner()).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, target,
				strings.NewReader(body)))
			return answer.Body.String()
		}
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
