package explorer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/testkit/memnet"
	"quarry/internal/testkit/screentest"
	"quarry/ui/target"
)

// today is the day on which all tests of the screen take place.
func today() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// sampleTarget is the sample library as the program opens it. No test changes it, so that all share one.
func sampleTarget(t testing.TB) Target {
	t.Helper()
	return Target{Kind: Sample, Where: "the sample library", Examples: []string{"how do we roll back a deploy"},
		Open: func(context.Context) (*client.Session, error) {
			opened, err := openedSample()
			if err != nil {
				return nil, err
			}
			return &client.Session{Client: opened.Client}, nil
		}}
}

// openedSample stays open until the tests have ended; it is in memory, and writes nothing to its folders.
var openedSample = sync.OnceValues(openSample)

func openSample() (*client.Session, error) {
	const home = "/nonexistent"
	env := map[string]string{"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": home,
		"QUARRY_HOME": home + "/library"}
	host, err := target.NewHost(func(key string) (string, bool) { value, ok := env[key]; return value, ok }, "test")
	if err != nil {
		return nil, err
	}
	choice, err := host.Decide(target.Request{Sample: true, Terminal: true})
	if err != nil {
		return nil, err
	}
	return host.Open(context.Background(), choice)
}

// inBubble runs a test of the screen in a bubble, where time passes only while everybody waits. No code may be shown in
// it: the regular expressions of its highlighting share a clock with the other tests.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // after all others: Bubble Tea's ticks outlive the program
		test(t)
	})
}

// script is a server that a test writes: it answers searches as the test says.
type script struct {
	mu       sync.Mutex
	requests []wire.SearchRequest
	search   func(w http.ResponseWriter, r *http.Request, request wire.SearchRequest)
	routes   map[string]http.HandlerFunc // beside /search
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if route, ok := s.routes[r.Method+" "+r.URL.Path]; ok {
		route(w, r)
		return
	}
	if r.URL.Path != "/search" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"detail":"Not Found"}`)
		return
	}
	var request wire.SearchRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	s.search(w, r, request)
}

// asked are the searches that the server was asked so far.
func (s *script) asked() []wire.SearchRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]wire.SearchRequest(nil), s.requests...)
}

// answer writes a body as JSON.
func answer200(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body)
}

// remote is the target of a scripted server.
func (s *script) remote(t testing.TB) Target {
	t.Helper()
	server, transport := memnet.Serve(s)
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	return Target{Kind: Remote, Where: "acme · onyx.acme.com", Open: func(context.Context) (*client.Session, error) {
		c, err := client.New(client.Options{BaseURL: server.URL, Profile: "acme", Transport: transport,
			Token: func(context.Context) (string, error) { return "onyx_pat_test", nil }})
		return &client.Session{Client: c}, err
	}}
}

// library is the target of a scripted server that stands for a library of this machine.
func (s *script) library(t testing.TB) Target {
	t.Helper()
	return Target{Kind: Library, Where: "the library", Open: func(context.Context) (*client.Session, error) {
		c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(s), Local: true})
		return &client.Session{Client: c}, err
	}}
}

// sixFields is what a bare Onyx says of a passage.
func sixFields(citation int, title, content string) map[string]any {
	return map[string]any{"citation_id": citation, "title": title, "content": content, "link": "https://wiki.acme.com/1",
		"source_type": "confluence", "updated_at": "2026-03-12T09:00:00+00:00"}
}

// leftPane is the text of the screen as far as the border between list and reader.
func leftPane(screen *screentest.Screen) string {
	var text strings.Builder
	for line := range strings.Lines(screen.Text()) {
		left, _, _ := strings.Cut(strings.TrimPrefix(line, "│"), "│")
		text.WriteString(left + "\n")
	}
	return text.String()
}

// start runs an explorer in a terminal of a test.
func start(t *testing.T, width, height int, options Options) *screentest.Screen {
	t.Helper()
	return startIn(t, options, screentest.Options{Width: width, Height: height, Profile: colorprofile.TrueColor, Dark: true})
}

// timeless is a model whose searches take no time, at any speed of the machine.
type timeless struct{ *Model }

func (m timeless) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := m.Model.Update(msg)
	if m.search.shown != nil {
		for i := range m.search.shown.response.Stages {
			m.search.shown.response.Stages[i].MS = 0
		}
	}
	return m, cmd
}

func startIn(t *testing.T, options Options, terminal screentest.Options) *screentest.Screen {
	t.Helper()
	if options.Now == nil {
		options.Now = today
	}
	if options.Theme == "" {
		options.Theme = "auto"
	}
	options.Profile = terminal.Profile
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	m := New(ctx, options)
	t.Cleanup(func() { _ = m.target.State.Save(context.WithoutCancel(t.Context())) }) // before its folder is removed
	return screentest.Start(t, timeless{m}, terminal)
}
