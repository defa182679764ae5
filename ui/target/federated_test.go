package target

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quarry/client"
	"quarry/client/wire"
)

// newServer answers searches with a body to who shows the token.
func newServer(t *testing.T, token string, answer http.HandlerFunc) (address string, searches *atomic.Int32) {
	t.Helper()
	searches = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"detail":"Invalid or expired token."}`)
		case r.URL.Path == "/api/search":
			searches.Add(1)
			answer(w, r)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail":"Not Found"}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, searches
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func finds(title string) http.HandlerFunc {
	return says(fmt.Sprintf(`{"results":[{"citation_id":1,"title":%q,"content":"A lantern.","link":null,"source_type":"slack","updated_at":null}]}`, title))
}

// configured is a machine whose configuration file holds a text.
func configured(t *testing.T, text string) *Host {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "config", "quarry", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newHost(t, home)
}

func openedTogether(t *testing.T, h *Host, request Request) (*client.Session, Choice) {
	t.Helper()
	request.Together = true
	choice, err := h.Decide(request)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := h.Open(context.Background(), choice)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closed(t, opened) })
	return opened, choice
}

// told lists titles with origins, and then the notes but that no model is there.
func told(response *wire.SearchResponse) string {
	var parts []string
	for _, r := range response.Results {
		parts = append(parts, r.Title+"@"+r.Origin)
	}
	for _, n := range response.Notes {
		if n.Code != wire.NoteNoModel {
			parts = append(parts, n.Code+": "+n.Text)
		}
	}
	return strings.Join(parts, "; ")
}

func TestAServerAndTheLibraryInOneGo(t *testing.T) {
	acme, _ := newServer(t, "acme-token", finds("Of acme"))
	wiki, _ := newServer(t, "wiki-token", finds("Of the wiki"))
	h := configured(t, fmt.Sprintf(`active: acme
profiles:
  acme: {server_url: %q, token: acme-token, search_also: [local, wiki]}
  wiki: {server_url: %q, token: wiki-token}
  stranger: {server_url: %q, token: another-token}
`, acme, wiki, acme))
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	cases := []struct {
		name, want, searched, beside string
		request                      Request
	}{
		{"as the profile says", "Lanterns@local; Of acme@acme; Of the wiki@wiki", "[local acme wiki]", "[acme wiki]", Request{}},
		{"a library and --also", "Lanterns@local; Of the wiki@wiki", "[local wiki]", "[wiki]",
			Request{Profile: "local", Also: []string{"wiki"}}},
		{"two servers and no library", "Of the wiki@wiki; Of acme@acme", "[wiki acme]", "[wiki acme]",
			Request{Profile: "wiki", Also: []string{"acme"}}},
		{"each shows its own token", "Of the wiki@wiki; source_failed: stranger could not be searched (POST /search: HTTP 403: Invalid or expired token.): its results are missing",
			"[wiki stranger]", "[wiki stranger]", Request{Profile: "wiki", Also: []string{"stranger"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			opened, choice := openedTogether(t, h, c.request)
			response := search(t, opened, "brass lantern")
			if got := told(response); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if got := fmt.Sprint(response.Searched); got != c.searched {
				t.Errorf("searched %s, want %s", got, c.searched)
			}
			if got := fmt.Sprint(choice.Beside()); got != c.beside {
				t.Errorf("beside %s, want %s", got, c.beside)
			}
		})
	}
	alone, err := h.Decide(Request{})
	if err != nil || len(alone.Also) > 0 {
		t.Errorf("a command that asks one place: %+v, %v", alone.Also, err)
	}
}

func TestNobodyElseIsAskedWhileOneTypes(t *testing.T) {
	acme, searches := newServer(t, "acme-token", finds("Of acme"))
	h := configured(t, fmt.Sprintf("profiles:\n  acme: {server_url: %q, token: acme-token}\n  local: {search_also: [acme]}\n", acme))
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	choice, err := h.Decide(Request{Profile: "local", Together: true})
	if err != nil || len(choice.Also) != 1 {
		t.Fatalf("%+v, %v", choice, err)
	}
	opened, _ := openedTogether(t, h, Request{Profile: "local"})
	if _, err := opened.Client.Facets(context.Background(), wire.SearchRequest{}); err != nil {
		t.Error(err)
	}
	request := wire.SearchRequest{Query: "brass lan", Instant: true}
	if _, err := opened.Client.Search(context.Background(), request); err != nil || searches.Load() != 0 {
		t.Errorf("%v: %d searches went out", err, searches.Load())
	}
}

func TestAlsoIsRefusedWhereItLeadsBack(t *testing.T) {
	h := configured(t, `active: acme
profiles:
  acme: {server_url: "http://127.0.0.1:1", token: t, search_also: [notoken]}
  notoken: {server_url: "http://127.0.0.1:1"}
`)
	h.Keyring = nil
	for _, c := range []struct {
		request Request
		words   string
	}{
		{Request{Also: []string{"acme"}}, "--also acme is already searched"},
		{Request{Profile: "local", Also: []string{"local"}}, "--also local is already searched"},
		{Request{Also: []string{"acne"}}, "use --also acme"},
	} {
		c.request.Together = true
		_, err := h.Decide(c.request)
		wantExit(t, err, 2, c.words)
	}
	choice, err := h.Decide(Request{Together: true})
	if err != nil || len(choice.Also) != 0 || len(choice.Warnings) != 1 || !strings.Contains(choice.Warnings[0].Text, "notoken is not searched") {
		t.Errorf("%+v, %v", choice, err)
	}
	_, err = h.Decide(Request{Together: true, Also: []string{"notoken"}})
	wantExit(t, err, 3, "notoken")
	choice, err = h.Decide(Request{Together: true, Also: []string{"local"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Open(context.Background(), choice)
	wantExit(t, err, 9, "quarry add")
}

func TestAnotherLibraryOfTheSameLabel(t *testing.T) {
	h := configured(t, "")
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	dir := filepath.Join(t.TempDir(), "second")
	second := newHost(t, t.TempDir(), "QUARRY_HOME", dir)
	addNote(t, second, "A lantern of tin.")
	opened, _ := openedTogether(t, h, Request{Library: dir, Also: []string{"local"}})
	if got := told(search(t, opened, "lantern")); got != "Lanterns@library; Lanterns@local" {
		t.Errorf("found %s", got)
	}
}

func TestHostileServersBesideTheLibrary(t *testing.T) {
	cases := map[string]http.HandlerFunc{
		"500 MB": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"results":[{"title":"`)
			block := strings.Repeat("x", 1<<20)
			for range 500 {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		},
		"HTML": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>Sign in</html>")
		},
		"half JSON":  says(`{"results":[{"title":"a","con`),
		"a list":     says(`[]`),
		"no results": says(`{}`),
		"a huge one": says(`{"results":[{"title":"a","content":"` + strings.Repeat(`\u0000`, 1<<20) + `"}]}`),
		"failing":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"hanging up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"controls":   says(`{"results":[{"title":"\u001b[2Jx","content":"\u001b]52;c;x\u0007","source_type":"slack","link":"file:///etc/passwd"}]}`),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		},
		"wrong types": says(`{"results":[{"title":7}]}`),
	}
	for name, answer := range cases {
		t.Run(name, func(t *testing.T) {
			acme, _ := newServer(t, "t", answer)
			h := configured(t, fmt.Sprintf("profiles:\n  acme: {server_url: %q, token: t}\n", acme))
			addNote(t, h, "The brass lantern hangs in the boathouse.")
			opened, _ := openedTogether(t, h, Request{Profile: "local", Also: []string{"acme"}})
			response := search(t, opened, "brass lantern")
			got := told(response)
			if !strings.HasPrefix(got, "Lanterns@local") || strings.ContainsAny(got, "\x1b\x00\x07") {
				t.Errorf("found %q", got)
			}
			if taken := name == "a huge one" || name == "controls"; taken == strings.Contains(got, "source_failed: acme") {
				t.Errorf("found %q", got)
			}
			for _, r := range response.Results {
				if r.Origin == "acme" && r.Link != nil {
					t.Errorf("a link to %s", *r.Link)
				}
			}
		})
	}
}

// A server that does not answer one search keeps no other one waiting, though both ask what is connected to it and what
// number its agent has.
func TestASlowServerKeepsNoOtherSearchWaiting(t *testing.T) {
	slow, goOn := make(chan string, 2), make(chan struct{})
	var asked sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, again := asked.LoadOrStore(r.URL.Path, true); !again {
			slow <- r.URL.Path
			<-goOn
		}
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/persona":
			_, _ = io.WriteString(w, `[{"id":7,"name":"Eng"}]`)
		case "/api/manage/indexed-sources":
			_, _ = io.WriteString(w, `{"sources":["slack"]}`)
		case "/api/federated":
			_, _ = io.WriteString(w, `[]`)
		default:
			finds("Found")(w, r)
		}
	}))
	t.Cleanup(s.Close)
	h := configured(t, "profiles:\n  acme:\n    server_url: "+s.URL+"\n    token: acme-token\n    agent: Eng\n")
	choice, err := h.Decide(Request{Profile: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	asks, opened, err := h.openFederated(t.Context(), choice, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	asked.Store("/api/search", true)
	search := func() error {
		_, err := asks.Search(t.Context(), wire.SearchRequest{Query: "lantern"})
		return err
	}
	for path, ask := range map[string]func() error{
		"/api/persona":                search,
		"/api/manage/indexed-sources": func() error { asks.Sources(t.Context()); return nil },
	} {
		first := make(chan error, 1)
		asked.Delete(path)
		go func() { first <- ask() }()
		if at := <-slow; at != path {
			t.Fatalf("waits at %s", at)
		}
		asked.Store("/api/federated", true)
		if err := ask(); err != nil {
			t.Error(err)
		}
		goOn <- struct{}{}
		if err := <-first; err != nil {
			t.Error(err)
		}
	}
}
