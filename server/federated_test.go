package server

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/pipeline"
)

// colleague is a federated source that counts how often it is asked.
type colleague struct{ asked atomic.Int32 }

func (c *colleague) Name() string                     { return "acme" }
func (c *colleague) Sources(context.Context) []string { return nil }
func (c *colleague) Timeout() time.Duration           { return 0 }
func (c *colleague) Search(context.Context, wire.SearchRequest) (*wire.SearchResponse, error) {
	c.asked.Add(1)
	return &wire.SearchResponse{Results: []wire.SearchResult{{Title: "Theirs", Content: "A secret of acme.", SourceType: "slack"}}}, nil
}

// Federated sources answer under the tokens of the owner, so that nobody else may ask them.
func TestOnlyTheOwnerAsksFederatedSources(t *testing.T) {
	acme := &colleague{}
	s := open(t, Options{Home: t.TempDir(), Settings: api.Settings{Federated: []pipeline.Federated{acme}}})
	made := addToken(t, s, directory.TokenRequest{Tenant: directory.DefaultTenant, Name: "laptop"})
	stranger := directory.Owner(directory.DefaultTenant)
	stranger.Owner = false
	callers := map[string]struct {
		handler http.Handler
		finds   bool
	}{
		"the owner in process":       {s.InProcess(directory.Owner(directory.DefaultTenant)), true},
		"another identity":           {s.InProcess(stranger), false},
		"the owner over a listener":  {s.api.Gate(api.PublicOptions{}).Listener(false), false},
		"the owner in process again": {s.InProcess(directory.Owner(directory.DefaultTenant)), true},
	}
	for name, caller := range callers {
		for _, body := range []string{`{"query":"secret"}`, `{"query":"secret","stream":true}`} {
			before := acme.asked.Load()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/search", strings.NewReader(body))
			r.Host = "127.0.0.1"
			r.Header.Set("Authorization", "Bearer "+made)
			w := httptest.NewRecorder()
			caller.handler.ServeHTTP(w, r)
			text, _ := io.ReadAll(w.Body)
			if w.Code != http.StatusOK || strings.Contains(string(text), "acme") != caller.finds ||
				(acme.asked.Load() > before) != caller.finds {
				t.Errorf("%s: HTTP %d %s", name, w.Code, text)
			}
		}
	}
}

func TestAServerWithoutDocumentsOfItsOwn(t *testing.T) {
	s := open(t, Options{Settings: api.Settings{Empty: true, Federated: []pipeline.Federated{&colleague{}}}})
	if found := search(t, s, "secret"); len(found) != 1 || found[0].Origin != "acme" || *found[0].CitationID != 1 {
		t.Errorf("%+v", found)
	}
	if status, body := ask(t, s, "GET", "/version", ""); status != http.StatusOK || strings.Contains(body, wire.FeatureInstant) {
		t.Errorf("HTTP %d %s", status, body)
	}
	if status, body := ask(t, s, "POST", "/library/add", `{"paths":["/etc/hosts"]}`); status == http.StatusOK && !strings.Contains(body, "error") {
		t.Errorf("HTTP %d %s", status, body)
	}
}
