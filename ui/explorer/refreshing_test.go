package explorer

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/server"
	"quarry/server/api"
	"quarry/server/directory"
	"quarry/server/llm"
)

// watched is an explorer of a real library whose models are counted.
type watched struct {
	t      *testing.T
	model  *llmtest.Server
	owner  http.Handler
	client *client.Client
	folder string
	target Target
	screen *Model
}

func watch(t *testing.T, config llm.Config) *watched {
	t.Helper()
	model := llmtest.New()
	t.Cleanup(model.Close)
	model.On(llmtest.Containing("passages"), llmtest.Text("1")).On(llmtest.Any(), llmtest.Text("lantern"))
	config.Transport = &http.Transport{}
	if config.Default != "" {
		config.Providers = map[string]llm.Provider{"local": {BaseURL: model.BaseURL(), Models: []string{"small"}}}
	}
	if config.Embedding.Model != "" {
		config.Embedding.BaseURL = model.BaseURL()
	}
	models, err := llm.New(config)
	if err != nil {
		t.Fatal(err)
	}
	served, err := server.Open(t.Context(), server.Options{Home: t.TempDir(), Settings: api.Settings{Models: models}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	owner := served.InProcess(directory.Owner(directory.DefaultTenant))
	w := &watched{t: t, model: model, owner: owner, folder: t.TempDir(), client: clientOf(t, owner)}
	w.add("first", "The brass lantern hangs in the boathouse.")
	w.target = Target{Kind: Library, Where: "the library",
		Open: func(context.Context) (*client.Session, error) { return &client.Session{Client: w.client}, nil }}
	w.screen = New(t.Context(), Options{Target: w.target, Now: today, Width: 160, Height: 40})
	w.screen.conn.session = &client.Session{Client: w.client}
	w.screen.begin(&w.screen.conn.request)
	w.tick()
	return w
}

// tick has the explorer know the version of the library, and answers what it asks then.
func (w *watched) tick() {
	w.t.Helper()
	w.screen.Update(w.screen.askVersion()())
	w.answer()
}

// answer answers the search under way.
func (w *watched) answer() {
	w.t.Helper()
	if running := w.screen.search.running; running != nil {
		response, err := w.client.Search(w.t.Context(), running.wire)
		handled(w.screen, func() tea.Cmd { return w.screen.handleSearch(running, response, err) })
	}
}

// search searches by a key: Enter, r, or a letter.
func (w *watched) search(query string, key func(*Model) tea.Cmd) {
	w.t.Helper()
	w.screen.box.SetQuery(query)
	key(w.screen)
	w.answer()
}

// shows fails unless the summary line says a text.
func (w *watched) shows(want string, outdated bool) {
	w.t.Helper()
	line := ansi.Strip(w.screen.View().Content)
	if !strings.Contains(line, want) || strings.Contains(line, "library changed · r searches again") != outdated {
		w.t.Fatalf("want %q, outdated %t; the screen is\n%s", want, outdated, line)
	}
}

func clientOf(t *testing.T, handler http.Handler) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(handler), Local: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// add adds a file, as another process would.
func (w *watched) add(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.folder, name+".md")
	if err := os.WriteFile(path, []byte("# "+name+"\n\n"+text+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.client.ChangeLibrary(w.t.Context(), wire.AddRequest{Paths: []string{filepath.ToSlash(path)}}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// TestARefreshCallsNoModel: results that a model took part in stay, and the screen says what changed; others are brought
// up to date by words.
func TestARefreshCallsNoModel(t *testing.T) {
	t.Parallel()
	chat, vectors := llm.Config{Default: "local/small"}, llm.Config{Embedding: llm.Embedding{Model: "vectors"}}
	for name, test := range map[string]struct {
		config    llm.Config
		refreshed bool
	}{"a language model": {chat, false}, "an embedding model": {vectors, false}, "no model": {llm.Config{}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, test.config)
			w.search("lantern", (*Model).submit)
			w.shows("1 document ", false)
			if n := len(w.model.Requests()); test.refreshed != (n == 0) {
				t.Fatalf("%d calls for the search", n)
			}
			w.add("second", "A second lantern stands on the pier.")
			added := len(w.model.Requests()) // with the vectors of the new document
			w.tick()
			if test.refreshed {
				w.shows("2 documents ", false)
			} else {
				w.shows("1 document ", true)
			}
			w.tick()
			if n := len(w.model.Requests()); n != added {
				t.Fatalf("the refresh called a model %d times", n-added)
			}
			w.search("lantern", (*Model).searchAgain)
			w.shows("2 documents ", false)
			if n := len(w.model.Requests()); test.config.Default != "" && n == added {
				t.Error("r called no model")
			}
		})
	}
}

// Who edits a file from here sees it as it is now, also where an embedding model takes part, but no language model.
func TestAnEditRefreshesTheResults(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]llm.Config{
		"words": {}, "an embedding model": {Embedding: llm.Embedding{Model: "vectors"}}, "a language model": {Default: "local/small"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := watch(t, config)
			w.add("second", "Nothing hangs on the pier.")
			w.tick()
			w.search("lantern", (*Model).submit)
			w.shows("1 document ", false)
			path := filepath.Join(w.folder, "second.md")
			if err := os.WriteFile(path, []byte("A second lantern stands on the pier.\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			drive(t, w.screen, w.screen.readAgain(path, nil))
			w.tick()
			if config.Default != "" {
				w.shows("1 document ", true)
			} else {
				w.shows("2 documents ", false)
			}
		})
	}
}

// TestEnterSearchesAgainInAChangedLibrary, where it leaves results alone that are up to date.
func TestEnterSearchesAgainInAChangedLibrary(t *testing.T) {
	t.Parallel()
	w := watch(t, llm.Config{Default: "local/small"})
	w.search("lantern", (*Model).submit)
	before := len(w.model.Requests())
	w.search("lantern", (*Model).submit)
	if n := len(w.model.Requests()); n != before {
		t.Errorf("%d calls for results that are shown", n-before)
	}
	w.add("second", "A second lantern stands on the pier.")
	w.tick()
	w.shows("1 document ", true)
	w.search("lantern", (*Model).submit)
	w.shows("2 documents ", false)
}

// TestAChangeDuringASearch: what was found before the change is refreshed once it is there.
func TestAChangeDuringASearch(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]llm.Config{"a language model": {Default: "local/small"}, "no model": {}} {
		w := watch(t, config)
		w.screen.box.SetQuery("lantern")
		w.screen.submit()
		running := w.screen.search.running
		response, err := w.client.Search(t.Context(), running.wire)
		if err != nil {
			t.Fatal(err)
		}
		w.add("second", "A second lantern stands on the pier.")
		w.screen.Update(w.screen.askVersion()())
		before := len(w.model.Requests())
		handled(w.screen, func() tea.Cmd { return w.screen.handleSearch(running, response, nil) })
		w.answer()
		if config.Default == "" {
			w.shows("2 documents ", false)
		} else {
			w.shows("1 document ", true)
		}
		if n := len(w.model.Requests()); n != before {
			t.Errorf("%s: %d calls", name, n-before)
		}
	}
}

// TestResultsOfTypingAreRefreshed although a model is configured: none is asked while one types.
func TestResultsOfTypingAreRefreshed(t *testing.T) {
	t.Parallel()
	w := watch(t, llm.Config{Default: "local/small"})
	w.search("lant", (*Model).queryEdited)
	w.shows("1 document ", false)
	w.add("second", "A second lantern stands on the pier.")
	w.tick()
	w.shows("2 documents ", false)
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("%d calls of a model", n)
	}
}

// TestAnOpenExplorerCallsNoModel: the whole program, with time passing.
func TestAnOpenExplorerCallsNoModel(t *testing.T) {
	t.Parallel()
	w := watch(t, llm.Config{Default: "local/small"})
	known := make(chan struct{}) // the version of the library, so that what is added then is a change
	var once sync.Once
	watching := clientOf(t, http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.owner.ServeHTTP(out, r)
		if r.URL.Path == "/library/status" {
			once.Do(func() { close(known) })
		}
	}))
	w.target.Open = func(context.Context) (*client.Session, error) { return &client.Session{Client: watching}, nil }
	screen := start(t, 160, 40, Options{Target: w.target, Query: "lantern"})
	screen.Wait("the whole answer", func(screen string) bool { return regexp.MustCompile(`1 document · \d+ m?s`).MatchString(screen) })
	<-known
	before := len(w.model.Requests())
	w.add("second", "A second lantern stands on the pier.")
	screen.WaitText("1 document · library changed · r searches again")
	if n := len(w.model.Requests()); n != before {
		t.Errorf("the refresh called a model %d times", n-before)
	}
	screen.Press("r")
	screen.WaitText("2 documents ·")
	screen.WaitGone("library changed")
}
