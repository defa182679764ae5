package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"quarry/client"
	"quarry/config"
	"quarry/ui/target"
)

// fakeServer answers routes with fixed bodies and records the searches that it was asked for.
type fakeServer struct {
	*httptest.Server
	mu       sync.Mutex
	routes   map[string]http.HandlerFunc
	searches []map[string]any
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "onyx", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// body answers with a status and a body.
func body(status int, text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		kind := "application/json"
		if bytes.HasPrefix(text, []byte("<")) {
			kind = "text/html"
		}
		w.Header().Set("Content-Type", kind)
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "37")
		}
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}
}

// newOnyx is a server that answers as a bare Onyx does.
func newOnyx(t testing.TB) *fakeServer {
	t.Helper()
	s := &fakeServer{routes: map[string]http.HandlerFunc{}}
	for route, file := range map[string]string{
		"/search": "search.json", "/persona": "persona.json", "/manage/document-set": "document-set.json",
		"/manage/connector-status": "connector-status.json", "/federated": "federated.json",
		"/manage/indexed-sources": "indexed-sources.json", "/query/valid-tags": "valid-tags.json",
		"/version": "version.json", "/me": "me.json",
	} {
		s.routes[route] = body(http.StatusOK, fixture(t, file))
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

// queryHeader tells a handler which query it answers.
const queryHeader = "X-Test-Query"

func (s *fakeServer) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	handler := s.routes[r.URL.Path]
	s.mu.Unlock()
	if r.URL.Path == "/search" {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err == nil {
			s.mu.Lock()
			s.searches = append(s.searches, asked)
			s.mu.Unlock()
			query, _ := asked["query"].(string)
			r.Header.Set(queryHeader, query)
		}
	}
	if handler == nil {
		handler = body(http.StatusNotFound, []byte(`{"detail":"Not Found"}`))
	}
	handler(w, r)
}

func (s *fakeServer) on(route string, handler http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routes[route] = handler
}

// asked is the only search that came.
func (s *fakeServer) asked(t testing.TB) map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.searches) != 1 {
		t.Fatalf("%d searches came, want 1", len(s.searches))
	}
	return s.searches[0]
}

// testMachine is a program and the machine it runs on, in a test.
type testMachine struct {
	Program
	*fakeHost
}

// fakeHost is a machine whose every answer a test can replace.
type fakeHost struct {
	decide      func(target.Request) (target.Choice, error)
	open        func(context.Context, target.Choice) (*client.Session, error)
	openLibrary func(ctx context.Context, dir string, create bool) (*client.Session, error)
	admin       *fakeAdmin
	trial       func(config.NewProfile) (target.Choice, error)
	save        func(context.Context, config.NewProfile) (config.Saved, error)
	check       func() (string, error)
	warnings    []config.Warning
	private     bool
}

func (f *fakeHost) Decide(request target.Request) (target.Choice, error) { return f.decide(request) }
func (f *fakeHost) Open(ctx context.Context, choice target.Choice) (*client.Session, error) {
	return f.open(ctx, choice)
}
func (f *fakeHost) MakeVectors()                     {}
func (f *fakeHost) CheckEmbeddings() (string, error) { return "", nil }

func (f *fakeHost) CheckSlack(context.Context, target.Choice) (string, error) { return f.check() }
func (f *fakeHost) Private() bool                                             { return f.private }
func (f *fakeHost) Warnings() []config.Warning                                { return f.warnings }
func (f *fakeHost) OpenLibrary(ctx context.Context, dir string, create bool) (*client.Session, error) {
	return f.openLibrary(ctx, dir, create)
}
func (f *fakeHost) Administer(_ context.Context, dir, tenant string, _ bool) (*client.Session, error) {
	f.admin.opened = append(f.admin.opened, dir+":"+tenant)
	c, err := client.New(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(f.admin), Local: true})
	return &client.Session{Client: c, Close: func() error { return nil }}, err
}
func (f *fakeHost) LibraryFolder(dir string) string {
	switch {
	case dir == "":
		return "/home/jo/.local/share/quarry"
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join("/home/jo", dir)
}
func (f *fakeHost) MayWrite(string) error { return nil }
func (f *fakeHost) Trial(profile config.Profile, typed config.Secret) (target.Choice, error) {
	return f.trial(config.NewProfile{Profile: profile, Typed: typed})
}
func (f *fakeHost) SaveProfile(ctx context.Context, profile config.NewProfile) (config.Saved, error) {
	return f.save(ctx, profile)
}

// testDoors lead to a server, and to a library behind the same server.
func testDoors(address string) testMachine {
	return doorsTo(client.Options{BaseURL: address, Profile: "test"})
}

// inProcess is testDoors for a synctest bubble, in which nothing may wait for a socket.
func (s *fakeServer) inProcess() testMachine {
	return doorsTo(client.Options{BaseURL: client.InProcessURL, Transport: client.InProcess(http.HandlerFunc(s.serve)), Profile: "test"})
}

func doorsTo(options client.Options) testMachine {
	open := func() (*client.Session, error) {
		c, err := client.New(options)
		return &client.Session{Client: c, Close: func() error { return nil }}, err
	}
	choice := target.Choice{Kind: target.KindRemote, Rule: target.RuleFlag, File: "environment variables", Reason: "--server", Profile: "test",
		ServerURL: "https://onyx.example"}
	host := &fakeHost{
		decide:      func(target.Request) (target.Choice, error) { return choice, nil },
		open:        func(context.Context, target.Choice) (*client.Session, error) { return open() },
		openLibrary: func(context.Context, string, bool) (*client.Session, error) { return open() },
		admin:       &fakeAdmin{},
		trial:       func(config.NewProfile) (target.Choice, error) { return choice, nil },
		save: func(context.Context, config.NewProfile) (config.Saved, error) {
			return config.Saved{File: "config.yaml", Token: config.TokenInKeyring}, nil
		},
	}
	return testMachine{fakeHost: host, Program: Program{
		Version: "1.2.3",
		Host:    func() (Host, error) { return host, nil },
		Explore: func(context.Context, Exploration) error { return nil },
		Serve:   func(context.Context, target.ServeOptions) error { return nil },
	}}
}

// result is what a run left behind.
type result struct {
	code     int
	out, err string
}

// terminal describes the streams of a run; the zero value is a script.
type terminal struct {
	tty   bool
	width int
	in    string
	env   []string
	dir   string // for complete copies
}

// today is the day on which the tests run.
func today() time.Time { return time.Date(2026, 8, 22, 12, 0, 0, 0, time.UTC) }

func run(t testing.TB, doors testMachine, screen terminal, arguments ...string) result {
	t.Helper()
	return runContext(t, t.Context(), doors, screen, arguments...)
}

func runContext(t testing.TB, ctx context.Context, doors testMachine, screen terminal, arguments ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	if screen.env == nil && screen.tty {
		screen.env = []string{"TERM=xterm-256color"}
	}
	code := Run(ctx, IO{
		In: strings.NewReader(screen.in), Out: &out, Err: &errs, InTTY: screen.tty, OutTTY: screen.tty, ErrTTY: screen.tty,
		Width: screen.width, Env: screen.env, TempDir: screen.dir, Now: today,
	}, arguments, doors.Program)
	conforms(t, arguments, out.String())
	return result{code: code, out: out.String(), err: errs.String()}
}

// resolvedSchemas are those of all outputs, ready to validate.
var resolvedSchemas = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	resolved := map[string]*jsonschema.Resolved{}
	a := &app{out: &gate{}, err: &gate{}}
	for _, o := range a.outputs(a.root()) {
		var err error
		if resolved[o.name], err = o.schema().Resolve(nil); err != nil {
			panic(err)
		}
	}
	return resolved
})

// conforms checks JSON that a command printed against the schema of the command. Flags that shape the JSON make another.
func conforms(t testing.TB, arguments []string, output string) {
	t.Helper()
	has := func(words ...string) bool {
		return slices.ContainsFunc(arguments, func(one string) bool {
			flag, _, _ := strings.Cut(one, "=")
			return slices.Contains(words, flag)
		})
	}
	if !strings.HasPrefix(output, "{") && !strings.HasPrefix(output, "[{") || has("--fields", "--jq", "--template", "--raw", "schema") {
		return
	}
	a := &app{out: &gate{}, err: &gate{}}
	command, _, err := a.root().Find(arguments)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(command.CommandPath(), "quarry"), " "), " ", "-")
	switch {
	case has("ndjson"):
		name = "search-ndjson"
	case has("--pick"):
		name = "pick"
	case has("--version", "-v"):
		name = "version"
	case name == "":
		name = "search"
	}
	s := resolvedSchemas()[name]
	if s == nil {
		t.Errorf("%v prints JSON without a schema: %s", arguments, output)
		return
	}
	for decoder := json.NewDecoder(strings.NewReader(output)); decoder.More(); {
		var value any
		if err := decoder.Decode(&value); err != nil {
			return // the test reads it
		}
		if err := s.Validate(value); err != nil {
			t.Errorf("%v: the schema %s: %v\n%.3000s", arguments, name, err, output)
			return
		}
	}
}

// failing are doors behind which nothing is configured.
func failing(err error) testMachine {
	doors := testDoors("http://127.0.0.1:1")
	doors.decide = func(target.Request) (target.Choice, error) { return target.Choice{}, err }
	return doors
}

var errNotConfigured = &Failure{Code: ExitNotConfigured, What: "no server is configured", Do: "set ONYX_PAT", Err: errors.New("none")}

func (r result) check(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d, want %d\nstdout: %s\nstderr: %s", r.code, code, r.out, r.err)
	}
	return r
}

// twoLines checks that an error is what failed and what to do, and nothing reached standard output.
func (r result) twoLines(t *testing.T, parts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
	if !strings.HasPrefix(lines[len(lines)-1], "hint: ") {
		t.Errorf("an error is two lines, got:\n%s", r.err)
	}
	result{out: r.out, err: strings.Join(lines[:len(lines)-1], "\n")}.oneLine(t)
	for _, part := range parts {
		if !strings.Contains(r.err, part) {
			t.Errorf("stderr lacks %q:\n%s", part, r.err)
		}
	}
}

// oneLine checks that an error without a known solution has no hint, and nothing reached standard output.
func (r result) oneLine(t *testing.T, parts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
	if !strings.HasPrefix(lines[len(lines)-1], "error: ") {
		t.Errorf("the error is not the last line:\n%s", r.err)
	}
	for _, part := range parts {
		if !strings.Contains(r.err, part) {
			t.Errorf("stderr lacks %q:\n%s", part, r.err)
		}
	}
	if r.out != "" {
		t.Errorf("stdout of a failed command: %q", r.out)
	}
}

// interrupted checks that the only error says that the command was stopped.
func (r result) interrupted(t *testing.T) {
	t.Helper()
	if r.err != "error: interrupted\n" || r.out != "" {
		t.Errorf("stdout %q, stderr %q", r.out, r.err)
	}
}
