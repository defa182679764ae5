package target

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

// newHost makes a machine in an empty home; pairs are further variables.
func newHost(t *testing.T, home string, pairs ...string) *Host {
	t.Helper()
	h, err := NewHost(environment(append([]string{"HOME", home, "XDG_CONFIG_HOME", filepath.Join(home, "config"),
		"QUARRY_HOME", filepath.Join(home, "data")}, pairs...)), "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func wantExit(t *testing.T, err error, exit int, words ...string) {
	t.Helper()
	var e *config.Error
	if !errors.As(err, &e) || e.ExitCode() != exit || e.Remedy() == "" {
		t.Fatalf("got %v, want an error of exit code %d with a remedy", err, exit)
	}
	for _, word := range words {
		if !strings.Contains(e.Error()+" | "+e.Remedy(), word) {
			t.Errorf("does not say %q: %v | %s", word, e, e.Remedy())
		}
	}
}

// addNote puts one document into the library of a machine.
func addNote(t *testing.T, h *Host, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "note.md")
	if err := os.WriteFile(path, []byte("# Lanterns\n\n"+text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, err := h.OpenLibrary(context.Background(), "", true)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, opened)
	done, err := opened.Client.ChangeLibrary(context.Background(), wire.AddRequest{Paths: []string{path}}, nil)
	if err != nil || done.Added != 1 {
		t.Fatalf("add: %+v, %v", done, err)
	}
	return path
}

func serveHTTP(h *Host, ctx context.Context, options ServeOptions, ready func(net.Addr)) error {
	served, err := h.OpenServed(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = served.Close() }()
	return served.ListenHTTP(ctx, options.HTTP, ready)
}

func closed(t *testing.T, opened *client.Session) {
	t.Helper()
	if err := opened.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func search(t *testing.T, opened *client.Session, query string) *wire.SearchResponse {
	t.Helper()
	response, err := opened.Client.Search(context.Background(), wire.SearchRequest{Query: query})
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return response
}

func TestALibraryFromNothingToSearch(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := context.Background()
	for _, dir := range []string{"", filepath.Join(home, "elsewhere")} {
		_, err := h.OpenLibrary(ctx, dir, false)
		wantExit(t, err, 9, "quarry add", h.LibraryFolder(dir))
		if !errors.Is(err, ErrNoLibrary) {
			t.Errorf("%v", err)
		}
	}
	_, err := h.Open(ctx, Choice{Kind: KindLibrary, LibraryDir: filepath.Join(home, "elsewhere")})
	wantExit(t, err, 9, "elsewhere")
	var e *config.Error
	if _, err := h.Decide(Request{}); !errors.As(err, &e) || e.ExitCode() != config.ExitNotConfigured {
		t.Errorf("before anything was added: %v", err)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("looking made something: %v", entries)
	}

	addNote(t, h, "The brass lantern hangs in the boathouse.")
	choice, err := h.Decide(Request{})
	if err != nil || choice.Rule != RuleLibrary {
		t.Fatalf("%+v, %v", choice, err)
	}
	opened, err := h.Open(ctx, choice)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, opened)
	response := search(t, opened, "brass lantern")
	if len(response.Results) != 1 || !opened.Client.Local() || len(response.Searched) != 1 || response.Searched[0] != "local" {
		t.Errorf("%+v", response)
	}
}

func TestTheSampleLibraryLeavesNoTrace(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	choice, err := h.Decide(Request{Terminal: true})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := h.Open(context.Background(), choice)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, opened)
	response := search(t, opened, "how do we roll back a release")
	if len(response.Results) == 0 || response.Searched[0] != labelSample {
		t.Errorf("%+v", response)
	}
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("on disk: %v", entries)
	}
}

func TestReadOnlyIsHeldByTheDoors(t *testing.T) {
	home := t.TempDir()
	ctx := context.Background()
	note := addNote(t, newHost(t, home), "The brass lantern hangs in the boathouse.")
	h := newHost(t, home, "QUARRY_READONLY", "1")
	if !config.ReadOnly(h.Env) {
		t.Error("ReadOnly")
	}

	_, err := h.OpenLibrary(ctx, "", true)
	wantExit(t, err, 9, "QUARRY_READONLY")
	_, err = h.SaveProfile(ctx, config.NewProfile{Profile: config.Profile{Name: "a", ServerURL: "https://a"},
		Typed: config.NewSecret("t")})
	wantExit(t, err, 9, "QUARRY_READONLY")
	_, err = h.Administer(ctx, "", "", true)
	wantExit(t, err, 9, "QUARRY_READONLY")
	_, err = administer(t, h, "").AdminAddToken(ctx, wire.AccessTokenRequest{Name: "a"})
	wantRefusal(t, err, client.Auth, "read-only")

	opened, err := h.OpenLibrary(ctx, "", false)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, opened)
	if _, err := opened.Client.ChangeLibrary(ctx, wire.RemoveRequest{Refs: []string{note}}, nil); err == nil {
		t.Error("a document was removed")
	}
	if _, err := opened.Client.ChangeLibrary(ctx, wire.AddRequest{Paths: []string{filepath.Dir(note)}}, nil); err == nil {
		t.Error("a folder was added")
	}
	if response := search(t, opened, "lantern"); len(response.Results) != 1 {
		t.Errorf("what was there is no longer found: %+v", response)
	}
}

func TestARemoteGetsItsTokenWithTheFirstRequest(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.UserAgent())
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"email":"ada@example.com"}`))
	}))
	defer server.Close()
	h := newHost(t, t.TempDir(), "ONYX_SERVER_URL", server.URL, "ONYX_PAT", "env-token", "ONYX_API_PREFIX", "/v2")
	choice, err := h.Decide(Request{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := h.Open(context.Background(), choice)
	if err != nil || len(got) != 0 {
		t.Fatalf("%v, %v", err, got)
	}
	defer closed(t, opened)
	if _, err := opened.Client.Me(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0] != "/v2/me Bearer env-token quarry/1.2.3" {
		t.Errorf("%v", got)
	}
	if opened.Client.Profile() != labelEnvironment || opened.Client.Local() {
		t.Errorf("%q", opened.Client.Profile())
	}
}

func TestAMissingTokenIsToldByTheFirstRequest(t *testing.T) {
	h := newHost(t, t.TempDir())
	h.Config.Profiles = map[string]config.Profile{"work": {Name: "work", ServerURL: "https://work.example.com"}}
	h.Keyring = fakeRing{}
	choice, err := h.Decide(Request{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := h.Open(context.Background(), choice)
	if err != nil {
		t.Fatal(err)
	}
	_, err = opened.Client.Me(context.Background())
	var remedied interface {
		error
		ExitCode() int
		Remedy() string
	}
	if !errors.As(err, &remedied) || remedied.ExitCode() != 3 || !strings.Contains(remedied.Remedy(), "quarry configure") {
		t.Errorf("%v", err)
	}
}

func TestATrialUsesOnlyWhatWasTyped(t *testing.T) {
	h := newHost(t, t.TempDir(), "ONYX_PAT", "env-token")
	choice, err := h.Trial(config.Profile{Name: "new", ServerURL: "HTTPS://New.example.com/", TokenCommand: "echo other"},
		config.NewSecret("typed"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := choice.token(context.Background())
	if token != "typed" || err != nil || choice.ServerURL != "https://new.example.com" || choice.APIPrefix != "/api" {
		t.Errorf("%q, %v, %+v", token, err, choice)
	}
	_, err = h.Trial(config.Profile{Name: "new", ServerURL: "new"}, config.NewSecret("typed"))
	wantExit(t, err, 2)
	_, err = h.Trial(config.Profile{Name: "new", ServerURL: "https://new"}, config.Secret{})
	wantExit(t, err, 3)
}

func TestSavedProfilesAreDecidedOn(t *testing.T) {
	home := t.TempDir()
	saved, err := newHost(t, home).SaveProfile(context.Background(), config.NewProfile{
		Profile: config.Profile{Name: "default", ServerURL: "https://onyx.example.com"}, Typed: config.NewSecret("tok"),
		Activate: true})
	if err != nil {
		t.Fatal(err)
	}
	choice, err := newHost(t, home).Decide(Request{})
	if err != nil || choice.Profile != "default" || choice.File != saved.File || choice.Rule != RuleProfile {
		t.Errorf("%+v, %v", choice, err)
	}
}

func TestTokens(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	ctx := t.Context()
	admin := administer(t, h, "")
	if listed, err := admin.AdminTokens(ctx); err != nil || listed == nil || len(listed) != 0 {
		t.Errorf("%v, %v", listed, err)
	}
	wantRefusal(t, admin.AdminRemoveToken(ctx, 7), client.NotAvailable, "token 7", "quarry admin token list")
	if entries, _ := os.ReadDir(home); len(entries) > 0 {
		t.Errorf("looking made something: %v", entries)
	}
	request := func(name, user string) wire.AccessTokenRequest {
		return wire.AccessTokenRequest{Name: name, User: user}
	}
	odd := request("laptop", "")
	odd.Scopes = []string{"no:such"}
	_, err := admin.AdminAddToken(ctx, odd)
	wantRefusal(t, err, client.BadRequest)
	made, err := admin.AdminAddToken(ctx, request("laptop", "ada@example.com"))
	if err != nil || !strings.HasPrefix(made.Item.Token, "onyx_pat_") || len(made.NewUsers) != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	listed, err := admin.AdminTokens(ctx)
	if err != nil || len(listed) != 1 || listed[0].User != "ada@example.com" || listed[0].Name != "laptop" || strings.Contains(listed[0].TokenDisplay, made.Item.Token) {
		t.Errorf("%+v, %v", listed, err)
	}
	if again, err := admin.AdminAddToken(ctx, request("desk", "Ada@example.com")); err != nil || len(again.NewUsers) > 0 {
		t.Errorf("the second token made a user: %+v, %v", again, err)
	}
	if err := admin.AdminRemoveToken(ctx, made.Item.ID); err != nil {
		t.Error(err)
	}
	wantRefusal(t, admin.AdminRemoveToken(ctx, made.Item.ID), client.NotAvailable)
}

func TestServe(t *testing.T) {
	home := t.TempDir()
	h := newHost(t, home)
	addNote(t, h, "The brass lantern hangs in the boathouse.")
	made := makeToken(t, h)
	ctx, stop := context.WithCancel(context.Background())
	ready, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() { done <- serveHTTP(h, ctx, ServeOptions{HTTP: "127.0.0.1:0"}, func(a net.Addr) { ready <- a }) }()
	address := <-ready

	other := newHost(t, t.TempDir(), "QUARRY_SERVER_URL", "http://"+address.String(), "QUARRY_PAT", made)
	choice, err := other.Decide(Request{})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := other.Open(context.Background(), choice)
	if err != nil {
		t.Fatal(err)
	}
	if response := search(t, opened, "lantern"); len(response.Results) != 1 {
		t.Errorf("%+v", response)
	}
	if _, err := opened.Client.LibraryStatus(context.Background()); client.KindOf(err) != client.NotAvailable {
		t.Errorf("the library's own routes are served: %v", err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestTheRateOfTheConfigurationHolds, unless serve is told another one.
func TestTheRateOfTheConfigurationHolds(t *testing.T) {
	for name, test := range map[string]struct {
		told    *config.Rate
		refused bool
	}{
		"of the configuration": {nil, true},
		"none":                 {&config.Rate{}, false},
		"another":              {&config.Rate{Count: 2, Per: time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, t.TempDir())
			h.Config.Rate = config.Rate{Count: 1, Per: time.Hour}
			addNote(t, h, "The brass lantern hangs in the boathouse.")
			made := makeToken(t, h)
			ctx, stop := context.WithCancel(context.Background())
			ready, done := make(chan net.Addr, 1), make(chan error, 1)
			go func() {
				done <- serveHTTP(h, ctx, ServeOptions{HTTP: "127.0.0.1:0", Rate: test.told}, func(a net.Addr) { ready <- a })
			}()
			other := newHost(t, t.TempDir(), "QUARRY_SERVER_URL", "http://"+(<-ready).String(), "QUARRY_PAT", made)
			choice, err := other.Decide(Request{})
			if err != nil {
				t.Fatal(err)
			}
			opened, err := other.Open(context.Background(), choice)
			if err != nil {
				t.Fatal(err)
			}
			search(t, opened, "lantern")
			_, err = opened.Client.Search(context.Background(), wire.SearchRequest{Query: "lantern"})
			if (client.KindOf(err) == client.RateLimited) != test.refused || (err == nil) == test.refused {
				t.Errorf("the second search: %v", err)
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestThePrivateLogHoldsNoQueries: who searched, and what came of it, is logged all the same.
func TestThePrivateLogHoldsNoQueries(t *testing.T) {
	for _, private := range []bool{false, true} {
		var log bytes.Buffer
		h := newHost(t, t.TempDir())
		h.Log = slog.New(slog.NewTextHandler(&log, nil))
		h.Config.Private = private
		addNote(t, h, "The brass lantern hangs in the boathouse.")
		made := makeToken(t, h)
		ctx, stop := context.WithCancel(context.Background())
		ready, done := make(chan net.Addr, 1), make(chan error, 1)
		go func() { done <- serveHTTP(h, ctx, ServeOptions{HTTP: "127.0.0.1:0"}, func(a net.Addr) { ready <- a }) }()
		other := newHost(t, t.TempDir(), "QUARRY_SERVER_URL", "http://"+(<-ready).String(), "QUARRY_PAT", made)
		choice, err := other.Decide(Request{})
		if err != nil {
			t.Fatal(err)
		}
		opened, err := other.Open(context.Background(), choice)
		if err != nil {
			t.Fatal(err)
		}
		search(t, opened, "lantern")
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		got := log.String()
		if !strings.Contains(got, "msg=search tenant=default user=owner@localhost") || !strings.Contains(got, "results=1") {
			t.Errorf("the search is not logged:\n%s", got)
		}
		if strings.Contains(got, "lantern") == private {
			t.Errorf("private: %v, and the log:\n%s", private, got)
		}
	}
}

func TestWhatIsNotServed(t *testing.T) {
	h := newHost(t, t.TempDir())
	h.Config.Profiles = map[string]config.Profile{"work": {Name: "work", ServerURL: "https://w", Token: config.NewSecret("t")}}
	serve := func(options ServeOptions) error { return serveHTTP(h, context.Background(), options, nil) }
	for _, where := range []Request{{Server: "https://w"}, {Profile: "work"}, {Sample: true}, {Profile: "wrok"}} {
		wantExit(t, serve(ServeOptions{Request: where, HTTP: "127.0.0.1:0"}), 2)
	}
	h.Config.Index.Engine = config.EnginePostgres
	_, err := h.OpenLibrary(context.Background(), "", true)
	wantExit(t, err, 3, "directory.url")
	h.Config.Index.Engine = "weaviate://w"
	wantExit(t, serve(ServeOptions{HTTP: "127.0.0.1:0"}), 3, "index.engine")
	_, err = h.OpenLibrary(context.Background(), "", true)
	wantExit(t, err, 3, "index.engine")
}

func TestABrokenConfigurationIsToldAtOnce(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	if err := os.WriteFile(file, []byte("them: dark"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := NewHost(environment([]string{"HOME", home, "QUARRY_CONFIG", file}), "")
	var e *config.Error
	if !errors.As(err, &e) || e.ExitCode() != 3 || e.File != file {
		t.Errorf("%v", err)
	}
}
