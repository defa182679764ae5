package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/longtest"
	"quarry/server/directory"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/llm"
)

// story is a file of testdata/conformance: requests to one server, in their order, with what must come back.
type story struct {
	About  string     `json:"about"`
	Server setting    `json:"server"`
	Cases  []exchange `json:"cases"`
}

// setting is what is out of the ordinary about a server.
type setting struct {
	Model      bool              `json:"model"`      // a language model is configured
	Replies    []reply           `json:"replies"`    // what it says to questions, the last one again and again
	Stages     map[string]string `json:"stages"`     // what it says to the stages of a search; the usual where it is not given
	Budget     int               `json:"budget"`     // tokens per day
	Rate       int               `json:"rate"`       // requests per hour
	Heartbeats bool              `json:"heartbeats"` // signs of life come at once, not after a quarter of a minute
	Fault      string            `json:"fault"`      // what is wrong with the library
	InProcess  bool              `json:"in_process"` // the owner's own, without a listener
}

// reply is what the model says.
type reply struct {
	Text   string `json:"text"`
	Begins string `json:"begins"` // and then says nothing more
	Half   string `json:"half"`   // and breaks off
	Status int    `json:"status"` // refuses, with this status
}

// exchange is a request as Onyx's command line sends it, and the answer to it.
type exchange struct {
	Case string `json:"case"`
	As   string `json:"as"`   // whose token is shown; empty: none
	Send string `json:"send"` // method and target, without /api
	// Header replaces what Onyx's command line would send; an empty value is not sent at all.
	Header map[string]string `json:"header"`
	Host   string            `json:"host"`
	Body   json.RawMessage   `json:"body"`  // JSON, sent as it stands, without the spaces
	Text   string            `json:"text"`  // a body that is no JSON
	Parts  []part            `json:"parts"` // a body of several parts

	Status int               `json:"status"`
	Reply  map[string]string `json:"reply"`  // headers of the answer
	Answer json.RawMessage   `json:"answer"` // pattern; see matcher
	Lines  []json.RawMessage `json:"lines"`  // patterns of a stream
	Plain  string            `json:"plain"`  // the answer where it is no JSON
	// During are sent when lines like these have come, one after the other.
	During *struct {
		After []json.RawMessage `json:"after"`
		Cases []exchange        `json:"cases"`
	} `json:"during"`

	// Exception is the point of testdata/exceptions.json that the answer differs from Onyx by, and Onyx what that says.
	Exception string `json:"exception"`
	Onyx      string `json:"onyx"`
}

// part is one of a body of several: a field, or the content of a file.
type part struct {
	Name string `json:"name"`
	File string `json:"file"`
	Text string `json:"text"`
}

// readTestdata decodes a file, in which nothing may be misspelt.
func readTestdata(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func readStories(t *testing.T) map[string]story {
	t.Helper()
	files, err := filepath.Glob("testdata/conformance/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	stories := map[string]story{}
	for _, file := range files {
		var s story
		readTestdata(t, file, &s)
		stories[strings.TrimSuffix(filepath.Base(file), ".json")] = s
	}
	return stories
}

// TestConformance holds a listener to the API of Onyx, at the root and under /api, and to what it adds to it. What is
// asked and answered stands in testdata/conformance, the shapes in testdata/shapes.json, where the server differs from
// Onyx on purpose in testdata/exceptions.json. At last it looks whether anything was left out.
func TestConformance(t *testing.T) {
	stories := readStories(t)
	seen := newCoverage(t)
	prefixes, each := []string{"", "/api"}, 1 // each story runs below one of them, in the long form below both
	if longtest.Enabled() {
		each = len(prefixes)
	}
	for i, name := range slices.Sorted(maps.Keys(stories)) {
		s := stories[name]
		if name == "library" && (strings.HasPrefix(t.Name(), onPostgres) || strings.HasPrefix(t.Name(), onWeaviate)) {
			continue // its status names the engine
		}
		for n := range each {
			prefix := prefixes[(i+n)%len(prefixes)]
			t.Run(name+prefix, func(t *testing.T) {
				c := newConversant(t, s.Server, prefix, seen)
				for _, e := range s.Cases {
					t.Run(e.Case, func(t *testing.T) { c.exchange(t, e) })
				}
			})
		}
	}
	if want := each * countCases(stories); seen.cases != want {
		t.Logf("%d of %d cases ran: what they cover is not counted", seen.cases, want)
		return
	}
	seen.check(t, stories)
}

func countCases(stories map[string]story) (n int) {
	var count func([]exchange)
	count = func(cases []exchange) {
		for _, e := range cases {
			n++
			if e.During != nil {
				count(e.During.Cases)
			}
		}
	}
	for _, s := range stories {
		count(s.Cases)
	}
	return n
}

// conversant talks to a server.
type conversant struct {
	world  *world
	url    string
	prefix string
	client *http.Client
	*matcher
	seen *coverage
}

func newConversant(t *testing.T, is setting, prefix string, seen *coverage) *conversant {
	w := newWorld(t)
	w.addTokens()
	w.addUndated()
	stages := map[string]llmtest.Answer{}
	for purpose, says := range is.Stages {
		stages[purpose] = llmtest.Text(says)
	}
	scripted := withChat(w, stages, is.answers()...)
	scripted.On(toName(), llmtest.Text(`"Rolling back deploys."`))
	if !is.Model {
		w.server.Models = nil
	}
	if is.Budget > 0 {
		w.server.Budget = llm.NewBudget(is.Budget, &llmtest.Ledger{}, w.server.Now, nil)
	}
	if is.Heartbeats {
		w.server.heartbeat = time.Millisecond
	}
	handler := w.server.Gate(PublicOptions{Rate: Rate{is.Rate, time.Hour}}).Listener(true)
	if is.InProcess {
		handler = w.server.Handler(directory.Owner(directory.DefaultTenant))
	}
	folder := w.folder()
	if is.Fault == "damaged" {
		w.damage(folder, garbled)
	} else {
		w.breakLibrary(is.Fault)
	}
	probe := &valueProbe{t: t, seen: map[uintptr]any{}}
	server := httptest.NewServer(probe.wrap(handler))
	t.Cleanup(server.Close)
	c := &conversant{world: w, url: server.URL, prefix: prefix, matcher: seen.matcher, seen: seen,
		client: &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}}
	c.names = map[string]any{"eng": json.Number(fmt.Sprint(w.eng.ID)), "folder": filepath.ToSlash(folder)}
	for who, secret := range w.tokens {
		c.names["token_"+who] = secret
	}
	return c
}

// addTokens gives Jo tokens that end, have ended and were revoked.
func (w *world) addTokens() {
	add := func(who string, days int) directory.Token {
		token, secret, err := w.people.AddToken(w.t.Context(),
			directory.TokenRequest{Name: who, Email: "jo@acme.example", Days: &days})
		w.check(err)
		w.tokens[who] = secret
		return token
	}
	w.now.Store(new(today.AddDate(0, 0, -10)))
	add("over", 1)
	w.now.Store(new(today))
	add("brief", 30)
	revoked := add("revoked", 30)
	w.check(w.people.In(w.t.Context(), directory.DefaultTenant).RevokeToken("jo@acme.example", revoked.ID))
}

// addUndated adds a document of which nothing is known but its text. Kim alone sees it.
func (w *world) addUndated() {
	d := document("notion:1", "Undated", "notion", "user_email:kim@acme.example", "An undated page about nothing.", "a", "b", "")
	d.UpdatedAt, d.Link = time.Time{}, ""
	_, err := writePosted(w.t.Context(), w.documents, index.Batch{Upsert: []index.Document{d}})
	w.check(err)
}

// folder contains files that are read, one of them in an assumed encoding, some that are not, and a Slack export.
func (w *world) folder() string {
	folder := w.t.TempDir()
	w.check(os.WriteFile(filepath.Join(folder, "quokka.md"), []byte("# Quokkas\n\nThe quokka smiles.\n"), 0o600))
	w.check(os.WriteFile(filepath.Join(folder, "quokka.bin"), []byte{0, 1, 2, 3}, 0o600))
	for _, name := range []string{".cache", "drafts"} {
		w.check(os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	w.check(os.WriteFile(filepath.Join(folder, ".quarryignore"), []byte("draft*"), 0o600))
	w.check(os.WriteFile(filepath.Join(folder, "draft.md"), nil, 0o600))
	w.check(os.Symlink("quokka.md", filepath.Join(folder, "link.md")))
	w.check(os.WriteFile(filepath.Join(folder, "zoo.txt"), []byte("The caf\xe9 of the zoo."), 0o600))
	w.check(os.WriteFile(filepath.Join(folder, "broken.txt"), []byte("\xc8\xcb"), 0o600))
	w.check(os.WriteFile(filepath.Join(folder, "id_rsa"), []byte("a private key"), 0o600))
	w.check(os.WriteFile(filepath.Join(folder, "yarn.lock"), []byte("quokka@1"), 0o600))
	w.check(os.MkdirAll(filepath.Join(folder, "acme", "general"), 0o700))
	for name, text := range map[string]string{"users.json": "[]", "channels.json": `[{"id":"C1","name":"general"}]`,
		"general/2024-03-01.json": `[{"ts":"1709280000.000100","text":"Feed the wombat."}]`} {
		w.check(os.WriteFile(filepath.Join(folder, "acme", name), []byte(text), 0o600))
	}
	return folder
}

func (s setting) answers() (answers []llmtest.Answer) {
	for _, r := range s.Replies {
		switch {
		case r.Begins != "":
			answers = append(answers, llmtest.HangAfter(r.Begins))
		case r.Half != "":
			answers = append(answers, llmtest.EndsEarly(r.Half))
		case r.Status != 0:
			answers = append(answers, llmtest.Status(r.Status, "because"))
		default:
			answers = append(answers, llmtest.Text(r.Text))
		}
	}
	return answers
}

// breakLibrary makes the documents, or for a directory that cannot be written the people, unreachable.
func (w *world) breakLibrary(kind string) {
	failure, known := map[string]error{
		"": nil, "busy": fault.ErrBusy, "slow": context.DeadlineExceeded, "broken": errors.New("a secret of this machine"),
		"panic": nil, "read-only": fault.ErrReadOnly,
	}[kind]
	if !known {
		w.t.Fatalf("unknown fault %q", kind)
	}
	if kind == "" {
		return
	}
	w.server.Index = func(context.Context, string, bool) (index.Index, error) {
		if kind == "panic" {
			panic("a secret of this machine")
		}
		return nil, failure
	}
}

// exchange sends a request and holds the answer to what is expected of it.
func (c *conversant) exchange(t *testing.T, e exchange) {
	t.Helper()
	request, body := c.request(t, e)
	response, err := c.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != e.Status {
		text, _ := io.ReadAll(io.LimitReader(response.Body, megabyte))
		t.Fatalf("HTTP %d, not %d: %s", response.StatusCode, e.Status, text)
	}
	for name, want := range e.Reply {
		for _, wrong := range c.match(name, want, response.Header.Get(name)) {
			t.Error(wrong)
		}
	}
	c.seen.request(request, e, body)
	switch kind := response.Header.Get("Content-Type"); {
	case len(e.Lines) > 0:
		if kind != wire.MediaTypeNDJSON && kind != wire.MediaTypeEvents {
			t.Errorf("media type %q", kind)
		}
		c.stream(t, e, request, response.Body)
	case e.Plain != "":
		text, err := io.ReadAll(response.Body)
		if err != nil || !strings.Contains(string(text), c.expand(e.Plain)) {
			t.Errorf("%.300q, %v", text, err)
		}
	default:
		if kind != wire.MediaTypeJSON {
			t.Errorf("media type %q", kind)
		}
		c.answer(t, e, request, response)
	}
}

func (c *conversant) answer(t *testing.T, e exchange, request *http.Request, response *http.Response) {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeJSON(text)
	if err != nil {
		t.Fatalf("%v: %.300q", err, text)
	}
	for _, wrong := range c.match("the answer", parsed(t, string(e.Answer)), got) {
		t.Error(wrong)
	}
	c.seen.answer(request, response.StatusCode, got)
}

// stream reads a stream line by line, and does meanwhile what is to be done.
func (c *conversant) stream(t *testing.T, e exchange, request *http.Request, body io.Reader) {
	t.Helper()
	var patterns, lines []any
	for _, pattern := range e.Lines {
		patterns = append(patterns, parsed(t, string(pattern)))
	}
	beats, awaited := 0, 0
	decoder := json.NewDecoder(body)
	decoder.UseNumber()
	for {
		var line any
		if err := decoder.Decode(&line); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("after %d lines: %v", len(lines), err)
		}
		c.seen.line(request, line)
		if len(lines) == 0 { // so that what happens meanwhile knows the session
			c.match("", patterns[0], line)
		}
		if e.During != nil && awaited < len(e.During.After) &&
			len(c.match("", parsed(t, string(e.During.After[awaited])), line)) == 0 {
			if awaited++; awaited == len(e.During.After) {
				for _, meanwhile := range e.During.Cases {
					t.Run(meanwhile.Case, func(t *testing.T) { c.exchange(t, meanwhile) })
				}
			}
		}
		if len(c.match("", "$Heartbeat", line)) == 0 {
			beats++ // which stand anywhere
			continue
		}
		lines = append(lines, line)
	}
	if e.During != nil && awaited < len(e.During.After) {
		t.Errorf("no line is like %s", e.During.After[awaited])
	}
	c.seen.beats += beats
	for _, wrong := range c.matchLines(patterns, lines) {
		t.Error(wrong)
	}
}

// request is what Onyx's command line would send: the token in two headers, no User-Agent of its own.
func (c *conversant) request(t *testing.T, e exchange) (*http.Request, []byte) {
	t.Helper()
	method, target, _ := strings.Cut(c.expand(e.Send), " ")
	body, kind := c.body(t, e)
	var reader io.Reader
	if len(body) > 0 {
		reader = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.url+c.prefix+target, reader)
	if err != nil {
		t.Fatal(err)
	}
	if e.As == "sandbox" && c.world.tokens[e.As] == "" {
		_, secret, _, err := c.world.people.EnsureSandboxToken(t.Context(),
			directory.SandboxRequest{Email: "jo@acme.example", Key: strings.Repeat("k", 32)})
		c.world.check(err)
		c.world.tokens[e.As] = secret
	}
	if secret := c.world.tokens[e.As]; secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("X-Onyx-Authorization", "Bearer "+secret)
	} else if e.As != "" {
		t.Fatalf("nobody is called %q", e.As)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for name, value := range e.Header {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, c.expand(value))
		}
	}
	if e.Host != "" {
		r.Host = e.Host
	}
	return r, body
}

func (c *conversant) body(t *testing.T, e exchange) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	switch {
	case len(e.Parts) > 0:
		parts := multipart.NewWriter(&b)
		for _, p := range e.Parts {
			w, err := parts.CreateFormField(p.Name)
			if p.File != "" {
				w, err = parts.CreateFormFile(p.Name, p.File)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.WriteString(w, c.expand(p.Text))
		}
		if err := parts.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), parts.FormDataContentType()
	case e.Text != "":
		return []byte(c.expand(e.Text)), wire.MediaTypeJSON
	case len(e.Body) > 0:
		if err := json.Compact(&b, e.Body); err != nil {
			t.Fatal(err)
		}
		return []byte(c.expandBody(b.Bytes())), wire.MediaTypeJSON
	}
	return nil, ""
}

const (
	noAuth  = `{"detail":"Access denied. User is not authenticated."}`
	noScope = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"This token's scopes do not permit this endpoint."}`
	noRight = `{"error_code":"INSUFFICIENT_PERMISSIONS","detail":"You do not have the required permissions for this action."}`
)

// conformanceCase is a request and what must come back.
type conformanceCase struct {
	name, who, request, body string
	status                   int
	answer                   string // a part of it
}
