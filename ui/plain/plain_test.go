package plain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"quarry/client"
	"quarry/client/wire"
)

func today() time.Time { return time.Date(2026, 8, 22, 12, 0, 0, 0, time.UTC) }

// world is a server with a few documents, and who talks to it.
type world struct {
	t       *testing.T
	handler http.HandlerFunc
	options Options

	mu    sync.Mutex
	asked []wire.SearchRequest
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t}
	w.options = Options{Label: "acme, onyx.acme.com", Now: today, Open: w.open}
	return w
}

func (w *world) open(context.Context) (*client.Session, error) {
	c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(http.HandlerFunc(w.serve))})
	return &client.Session{Client: c, Close: func() error { return nil }}, err
}

func (w *world) serve(answer http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/search" {
		var request wire.SearchRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			w.t.Error(err)
		}
		w.mu.Lock()
		w.asked = append(w.asked, request)
		w.mu.Unlock()
		if w.handler == nil {
			reply(answer, respond(request))
			return
		}
	}
	if w.handler != nil {
		w.handler(answer, r)
		return
	}
	switch r.URL.Path {
	case "/persona":
		reply(answer, []wire.Persona{{ID: 3, Name: "Engineering"}})
	case "/document/chunks":
		reply(answer, chunks(r))
	case "/version":
		reply(answer, wire.Version{Quarry: &wire.QuarryVersion{API: 1, Features: []string{wire.FeatureFacets}}})
	default:
		answer.WriteHeader(http.StatusNotFound)
		reply(answer, map[string]string{"detail": "Not Found"})
	}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// respond finds nothing in Slack, a mistake in "broken", and a runbook in several pieces otherwise.
func respond(request wire.SearchRequest) wire.SearchResponse {
	if len(request.Sources) > 0 && request.Sources[0] == "slack" {
		return wire.SearchResponse{Results: []wire.SearchResult{}}
	}
	link, updated := "https://wiki.acme.com/1042", "2026-03-12T09:14:05+00:00"
	one, two := 1, 2
	runbook := wire.SearchResult{CitationID: &one, Title: "Runbook: rolling back a release", Link: &link,
		SourceType: "confluence", UpdatedAt: &updated, DocumentID: "wiki:1042", Ref: "wiki:1042#2", ChunkInd: 2, ChunkStart: 2,
		ChunkEnd: 2, ChunkCount: 7, Authors: []string{"Jo Ortiz", "Sam"}, HeadingPath: []string{"Platform", "Runbooks"}, Selected: true,
		Content: "## When to roll back\n\n**Roll back** when the `error budget` is spent; see [the policy](https://wiki/9).\n\n" +
			"| step | who |\n|------|-----|\n| rollback | on-call |\n\n```sh\ndeployctl rollback --to **build**\n```\n- then tell #incidents"}
	later := runbook
	later.Content, later.Ref, later.ChunkInd, later.Selected = "Data migrations cannot be rolled back.", "wiki:1042#5", 5, false
	bare := wire.SearchResult{CitationID: &two, Title: "#incidents", SourceType: "slack", Content: "jo: we rolled back 4.12", Selected: true}
	response := wire.SearchResponse{Results: []wire.SearchResult{runbook, later, bare}, TotalMatches: 2,
		Matched: wire.Matched{Level: "all", Documents: 2},
		Notes:   []wire.Note{{Code: wire.NoteNoModel, Text: "no model"}, {Code: wire.NoteSourceFailed, Text: "jira failed: no answer in time"}}}
	if strings.Contains(request.Query, "many") {
		for i := range 5 {
			filler, number := bare, i+3
			filler.Title, filler.DocumentID, filler.CitationID = fmt.Sprintf("Thread %d", i), fmt.Sprintf("slack:%d", i), &number
			response.Results = append(response.Results, filler)
		}
	}
	return response
}

func chunks(r *http.Request) wire.DocumentChunks {
	var from, to int
	_, _ = fmt.Sscan(r.URL.Query().Get("from"), &from)
	_, _ = fmt.Sscan(r.URL.Query().Get("to"), &to)
	found := wire.DocumentChunks{Document: wire.DocumentInfo{ID: "wiki:1042", Title: "Runbook", ChunkCount: 7}}
	for i := from; i <= min(to, 6); i++ {
		found.Chunks = append(found.Chunks, wire.Chunk{ChunkInd: i, Content: fmt.Sprintf("# Part %d\ntext %d", i+1, i+1)})
	}
	return found
}

// transcript talks and returns what a terminal would show: what was said, and each typed line behind its prompt.
func (w *world) transcript(lines ...string) string {
	w.t.Helper()
	screen := &screen{typed: lines}
	w.options.In, w.options.Out, w.options.Err = strings.NewReader(strings.Join(append(lines, ""), "\n")), screen, screen
	s := &session{Options: w.options, patience: time.Hour}
	if err := s.run(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	return screen.String()
}

// screen shows what is written, and after each prompt what is typed next.
type screen struct {
	shown strings.Builder
	typed []string
}

func (s *screen) String() string { return s.shown.String() }

func (s *screen) Write(p []byte) (int, error) {
	if s.shown.Write(p); string(p) == prompt && len(s.typed) > 0 {
		s.shown.WriteString(s.typed[0] + "\n")
		s.typed = s.typed[1:]
	}
	return len(p), nil
}

func TestTranscript(t *testing.T) {
	w := newWorld(t)
	w.options.Width = 72
	golden.RequireEqual(t, w.transcript("help", "how do we roll back", "1", "raw 3", "e 1", "e 1", "e 3", "cite 2", "open 1", "open 3",
		"9", "more", "many things", "more", "more", "source:slack", "deploy source:slack within:30d", "drop", "drop",
		"deploy agent:Enginering", "deploy since:soon", "", "/help", "quit"))
}

func TestSampleTranscript(t *testing.T) {
	w := newWorld(t)
	w.options.Label, w.options.Sample, w.options.Query = "the sample library", true, "roll back"
	golden.RequireEqual(t, w.transcript())
}

// The count is of the documents that match; what lacks a word comes behind them, and says so.
func TestFurtherResults(t *testing.T) {
	w := newWorld(t)
	w.handler = func(answer http.ResponseWriter, _ *http.Request) {
		reply(answer, wire.SearchResponse{TotalMatches: 1, Matched: wire.Matched{Level: "all", Documents: 1}, Results: []wire.SearchResult{
			{Title: "Deploys", SourceType: "web", DocumentID: "a", Matches: true, Missing: []string{"roll"}, Content: "back to a deploy"},
			{Title: "Firmware", SourceType: "web", DocumentID: "b", Missing: []string{"roll", "deploy"}, Content: "go back"},
		}})
	}
	said := w.transcript("roll back a deploy", "quit")
	for _, want := range []string{"1 document. 1 result, then 1 further result.", "Web. Without “roll”.", "Further results.\n2. Firmware\nWeb. Without “roll”, “deploy”."} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q:\n%s", want, said)
		}
	}
}

// problem is a failure with what to do about it.
type problem struct{ what, remedy string }

func (p *problem) Error() string  { return p.what }
func (p *problem) Remedy() string { return p.remedy }

func TestFailures(t *testing.T) {
	w := newWorld(t)
	w.handler = func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(http.StatusUnauthorized)
		reply(answer, map[string]string{"error_code": "UNAUTHENTICATED", "detail": "the token expired"})
	}
	said := w.transcript("deploy", "drop", "cite 1", strings.Repeat("x", 2049), strings.Repeat("x", 9000))
	for _, want := range []string{"Error: ", "the token expired", "Hint: ", "There is no filter to remove", "There are no results",
		"2049 characters", "longer than 2048 characters"} {
		if !strings.Contains(said, want) {
			t.Errorf("does not say %q:\n%s", want, said)
		}
	}
	w = newWorld(t)
	w.options.Open = func(context.Context) (*client.Session, error) {
		return nil, &problem{"nothing was added", "quarry add PATH"}
	}
	if said := w.transcript("deploy"); !strings.Contains(said, "Error: Nothing was added.\nHint: quarry add PATH") {
		t.Errorf("%s", said)
	}
}

func TestAgents(t *testing.T) {
	seven := 7
	for _, test := range []struct {
		query, name string
		id          *int
		want        int
	}{{"x agent:engineering", "", &seven, 3}, {"x", "Engineering", nil, 3}, {"x", "", &seven, 7}, {"x agent:12", "", nil, 12}} {
		w := newWorld(t)
		w.options.Agent = wire.Agent{ID: test.id, Name: test.name}
		w.transcript(test.query)
		if len(w.asked) != 1 || w.asked[0].PersonaID == nil || *w.asked[0].PersonaID != test.want {
			t.Errorf("%+v: %+v", test, w.asked)
		}
	}
	w := newWorld(t)
	w.options.Limit = 7
	w.transcript("x")
	if w.asked[0].PersonaID != nil || *w.asked[0].NumResults != 7 {
		t.Errorf("%+v", w.asked)
	}
}

func TestParseCommand(t *testing.T) {
	for line, want := range map[string]command{
		"3": {name: "read", number: 3}, "e 3": {name: "expand", number: 3}, "EXPAND 3": {name: "expand", number: 3},
		"cite 12": {name: "cite", number: 12}, "quit": {name: "quit"}, "q": {name: "quit"}, "?": {name: "help"},
		"open source": {query: "open source"}, "cite": {query: "cite"}, "4040": {query: "4040"}, "0": {query: "0"}, "-3": {query: "-3"},
		"/quit": {query: "quit"}, "/": {}, "more deploys": {query: "more deploys"}, "": {},
	} {
		if got := parseCommand(line); got != want {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// sitting is a person who types and interrupts when the test says so.
type sitting struct {
	in         *io.PipeWriter
	interrupts chan os.Signal
	said       chan string // every text that was written
	done       chan error
}

func (s *sitting) Write(p []byte) (int, error) {
	s.said <- string(p)
	return len(p), nil
}

// hear waits for a text, and fails when the conversation ends without it.
func (s *sitting) hear(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case said := <-s.said:
			if strings.Contains(said, text) {
				return
			}
		case err := <-s.done:
			t.Fatalf("left without saying %q: %v", text, err)
		}
	}
}

func (w *world) sit(patience time.Duration) *sitting {
	reader, writer := io.Pipe()
	p := &sitting{in: writer, interrupts: make(chan os.Signal, 1), said: make(chan string, 100), done: make(chan error, 1)}
	w.options.In, w.options.Out, w.options.Err, w.options.Interrupts = reader, p, p, p.interrupts
	s := &session{Options: w.options, patience: patience}
	go func() { p.done <- s.run(w.t.Context()) }()
	return p
}

func TestInterrupts(t *testing.T) {
	w := newWorld(t)
	searching := make(chan struct{}, 1)
	w.handler = func(_ http.ResponseWriter, r *http.Request) {
		searching <- struct{}{}
		<-r.Context().Done()
	}
	p := w.sit(time.Hour)
	fmt.Fprintln(p.in, "deploy")
	<-searching
	p.interrupts <- os.Interrupt
	p.hear(t, "Cancelled. ")
	fmt.Fprintln(p.in, "help") // after which the next interrupt is a first one again
	p.hear(t, "Type words")
	p.interrupts <- os.Interrupt
	p.hear(t, "Ctrl-C again")
	p.interrupts <- os.Interrupt
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	p = w.sit(time.Hour)
	fmt.Fprintln(p.in, "deploy")
	<-searching
	p.interrupts <- os.Interrupt
	p.hear(t, "Cancelled. ")
	p.interrupts <- os.Interrupt
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestASlowSearchSaysSo(t *testing.T) {
	w := newWorld(t)
	w.handler = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	said := &signalled{seen: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	w.options.In, w.options.Out, w.options.Err, w.options.Query = strings.NewReader(""), said, said, "deploy"
	done := make(chan error, 1)
	s := &session{Options: w.options, patience: time.Nanosecond}
	go func() { done <- s.run(ctx) }()
	<-said.seen
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// signalled closes a channel when it is told that a search goes on.
type signalled struct{ seen chan struct{} }

func (s *signalled) Write(p []byte) (int, error) {
	if string(p) == "Searching.\n" {
		close(s.seen)
	}
	return len(p), nil
}

func TestSpoken(t *testing.T) {
	for content, want := range map[string]string{
		"# Title\ntext":                          "Title.|text",
		"> quoted\n> more":                       "quoted|more",
		"- a\n* b\n1. c":                         "a|b|1. c",
		"a [b](http://x) c ![d](e.png) f":        "a b c d f",
		"a [b](unclosed":                         "a b",
		"a](b)":                                  "a](b)",
		"- [x] a\n- [ ] b <b>c</b>":              "done: a|to do: b c",
		"---\n***\n===":                          "",
		"| a | |\n|---|---|\n| c | d |":          "a.|c, d.",
		"```go\nx := **p\n\n```\nafter `y`":      "Code:|x := **p||End of code.|after y",
		"~~not~~ *do* a *b c* 2 * 3 * 4 **x** *": "not do a b c 2 * 3 * 4 x *",
		"snake_case 5 * 3 = 15":                  "snake_case 5 * 3 = 15",
	} {
		if got := strings.Join(spoken(content), "|"); got != want {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	}
}

func TestAuthorsAreListed(t *testing.T) {
	s := &session{Options: Options{Now: time.Now}}
	for want, names := range map[string][]string{"Slack, by A.": {"A"}, "Slack, by A and B.": {"A", "B"}, "Slack, by A, B and C.": {"A", "B", "C"}} {
		if got := s.about(wire.SearchResult{SourceType: "slack", Authors: names}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzSpoken(f *testing.F) {
	f.Add("# a\n[b](c)\n```\nd")
	f.Fuzz(func(t *testing.T, text string) {
		s := &session{Options: Options{Width: 40}}
		for _, line := range spoken(client.Sanitize(text)) {
			if strings.Contains(line, "\n") || strings.Contains(s.broken(line), "\x1b") {
				t.Errorf("%q gives %q", text, line)
			}
		}
	})
}

// A search that is cancelled while the target is being opened leaves the opening to the next one.
func TestACancelledSearchOpensNothingTwice(t *testing.T) {
	w := newWorld(t)
	var opened, closed atomic.Int32
	proceed, begun := make(chan struct{}), make(chan struct{}, 9)
	w.options.Open = func(ctx context.Context) (*client.Session, error) {
		opened.Add(1)
		begun <- struct{}{}
		<-proceed
		opened, err := w.open(ctx)
		opened.Close = func() error { closed.Add(1); return nil }
		return opened, err
	}
	p := w.sit(time.Hour)
	fmt.Fprintln(p.in, "deploy")
	<-begun
	p.interrupts <- os.Interrupt
	p.hear(t, "Cancelled. ")
	fmt.Fprintln(p.in, "rollback")
	close(proceed)
	p.hear(t, "2 documents. ")
	fmt.Fprintln(p.in, "quit")
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	if opened.Load() != 1 || closed.Load() != 1 {
		t.Errorf("opened %d times, closed %d times", opened.Load(), closed.Load())
	}
}

// What is still being opened when the person leaves is closed as soon as it is there.
func TestLeavingWhileOpening(t *testing.T) {
	w := newWorld(t)
	proceed, begun, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	w.options.Open = func(context.Context) (*client.Session, error) {
		close(begun)
		<-proceed
		opened, err := w.open(context.WithoutCancel(t.Context()))
		opened.Close = func() error { close(closed); return nil }
		return opened, err
	}
	p := w.sit(time.Hour)
	fmt.Fprintln(p.in, "deploy")
	<-begun
	p.interrupts <- os.Interrupt
	p.interrupts <- os.Interrupt
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	close(proceed)
	<-closed
}
