package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"quarry/client"
	"quarry/ui/target"
)

// A token without a server goes to that of Onyx's CLI; when that fails, the variable that is missing is what to set.
func TestTokenWithoutServer(t *testing.T) {
	for name, fail := range map[string]struct {
		handler http.HandlerFunc
		code    int
	}{
		"refused":     {body(http.StatusUnauthorized, fixture(t, "error-401-expired.json")), ExitAuth},
		"unreachable": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ExitUnreachable},
	} {
		s := newOnyx(t)
		s.on("/search", fail.handler)
		doors := testDoors(s.URL)
		doors.decide = func(target.Request) (target.Choice, error) {
			return target.Choice{Kind: target.KindRemote, ServerURL: "https://cloud.onyx.app", NoServerIn: "ONYX_SERVER_URL"}, nil
		}
		got := run(t, doors, terminal{}, "search", "deploy").check(t, fail.code)
		if !strings.Contains(got.err, "et ONYX_SERVER_URL to the server of the token") || !strings.Contains(got.err, "(https://cloud.onyx.app)") {
			t.Errorf("%s: %s", name, got.err)
		}
	}
}

// Every body of an error that an Onyx or a proxy sends becomes a code, its own reason, and something to do.
func TestErrorBodies(t *testing.T) {
	tests := []struct {
		file   string
		status int
		code   int
		reason string
		do     string
	}{
		{"error-400-valueerror.json", 400, ExitUsage, "No default LLM model found", "default language model"},
		{"error-401-expired.json", 401, ExitAuth, "The token has expired", "validate-config"},
		{"error-402-tier.json", 402, ExitGeneral, "not available on your plan", "administrator"},
		{"error-403-document-sets.json", 403, ExitAuth, "['Legal']", "quarry document-sets"},
		{"error-403-me.json", 403, ExitAuth, "Unauthorized", "token"},
		{"error-403-proxy.json", 403, ExitUnreachable, "may not reach this destination", "proxy"},
		{"error-403-scope.json", 403, ExitAuth, "scopes do not permit", "scope"},
		{"error-403-token.json", 403, ExitAuth, "not authenticated", "token"},
		{"error-404-document.json", 404, ExitNotAvailable, "Document not found", ""},
		{"error-404-persona.json", 404, ExitNotAvailable, "Persona with id 77", "quarry agents"},
		{"error-413.json", 413, ExitGeneral, "too large", "less"},
		{"error-422-source.json", 422, ExitUsage, "Input should be", "quarry sources"},
		{"error-429.json", 429, ExitRateLimited, "Rate limit exceeded", "37s"},
		{"error-500.json", 500, ExitServer, "semantic query rephrase", "again"},
		{"error-501.json", 501, ExitServer, "vector database", "administrator"},
		{"error-502-proxy.html", 502, ExitServer, "web page", "behind the proxy"},
		{"error-504.json", 504, ExitTimeout, "did not answer in time", "--no-query-expansion"},
	}
	for _, test := range tests {
		t.Run(test.file, func(t *testing.T) {
			s := newOnyx(t)
			s.on("/search", body(test.status, fixture(t, test.file)))
			got := run(t, testDoors(s.URL), terminal{}, "search", "deploy").check(t, test.code)
			if test.do == "" {
				got.oneLine(t, test.reason)
				return
			}
			got.twoLines(t, test.reason, test.do)
			if strings.Contains(got.err, "{") && !strings.Contains(test.file, "422") {
				t.Errorf("a body is not printed raw: %s", got.err)
			}
			if strings.Count(got.err, "\n") != 2 {
				t.Errorf("an error is two lines:\n%s", got.err)
			}
		})
	}
}

func TestServersThatMisbehave(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name    string
		handler http.HandlerFunc
		code    int
	}{
		{"hangs", hang, ExitTimeout},
		{"hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ExitUnreachable},
		{"half a JSON", body(200, []byte(`{"results":[{"title":"x`)), ExitServer},
		{"no results", body(200, []byte(`{}`)), ExitServer},
		{"a web page", body(200, []byte("<!doctype html><html><title>Sign in</title></html>")), ExitServer},
		{"nothing", body(200, nil), ExitServer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newOnyx(t)
			s.on("/search", test.handler)
			limit := "30s"
			if test.code == ExitTimeout {
				limit = "50ms"
			}
			run(t, testDoors(s.URL), terminal{}, "search", "deploy", "--timeout", limit).check(t, test.code).twoLines(t)
		})
	}
	t.Run("is not there", func(t *testing.T) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := "http://" + listener.Addr().String()
		_ = listener.Close()
		run(t, testDoors(address), terminal{}, "search", "deploy").check(t, ExitUnreachable).twoLines(t, "validate-config")
		run(t, testDoors(address), terminal{}, "search", "deploy", "--server", address).check(t, ExitUnreachable).
			twoLines(t, "validate-config --server "+address)
	})
}

type guided struct{ error }

func (guided) ExitCode() int  { return 3 }
func (guided) Remedy() string { return "quarry configure sets it up" }

func TestExplain(t *testing.T) {
	tests := []struct {
		err  error
		code int
	}{
		{nil, 0},
		{errOutputClosed, 0},
		{fmt.Errorf("print: %w", errOutputClosed), 0},
		{&client.Error{Kind: client.Unreachable, Reason: "hung up"}, ExitUnreachable},
		{context.Canceled, ExitInterrupted},
		{&client.Error{Kind: client.Canceled}, ExitInterrupted},
		{context.DeadlineExceeded, ExitTimeout},
		{fmt.Errorf("listen: %w", syscall.EADDRINUSE), ExitGeneral},
		{fmt.Errorf("write: %w", syscall.ENOSPC), ExitGeneral},
		{&os.PathError{Op: "open", Path: "/x", Err: os.ErrPermission}, ExitGeneral},
		{&os.PathError{Op: "open", Path: "/x", Err: os.ErrNotExist}, ExitGeneral},
		{errors.New("something"), ExitGeneral},
		{fmt.Errorf("wrapped: %w", guided{errors.New("config.yaml: unknown key")}), ExitNotConfigured},
		{usage("do", "what"), ExitUsage},
		{&client.Error{Kind: client.General, Status: 409}, ExitGeneral},
	}
	for _, test := range tests {
		a := &app{program: failing(errNotConfigured).Program}
		got := a.explain(test.err)
		if test.code == 0 {
			if got != nil {
				t.Errorf("%v: %v", test.err, got)
			}
			continue
		}
		if got == nil || got.Code != test.code || got.What == "" {
			t.Errorf("%v: %+v, want code %d with words", test.err, got, test.code)
		}
	}
}

// The words of a server's validator are for programs.
func TestValidationErrorsAreInWordsForPeople(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"'loc': ('body', 'chat_session_id'), 'msg': 'Input should be a UUID', 'input': 'nope'}": "chat session id 'nope': Input should be a UUID",
		`'loc': ('body', 'name'), 'msg': 'Value error, "A b" is no name', 'input': 'A b'}`:      `name 'A b': "A b" is no name`,
	} {
		a := &app{program: failing(errNotConfigured).Program}
		got := a.explain(&client.Error{Kind: client.BadRequest, Status: 422,
			Reason: "1 validation error: {'type': 'value_error', " + reason})
		if got.Code != ExitUsage || got.What != want || got.Do != "See: quarry search --help" {
			t.Errorf("%s: %+v", reason, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[2J\tb\u202ec\u0085d\ne"); strings.ContainsAny(got, "\x1b\u202e\u0085\n") {
		t.Errorf("printable lets control characters through: %q", got)
	}
}

// A reader that goes away is no error.
func TestClosedPipe(t *testing.T) {
	s := newOnyx(t)
	for _, arguments := range [][]string{{"search", "deploy"}, {"sources"}, {"search", "deploy", "--format", "ndjson"}, {"--help"}, {"completion", "bash"}} {
		reader, writer := io.Pipe()
		_ = reader.Close()
		var errs strings.Builder
		code := Run(t.Context(), IO{In: strings.NewReader(""), Out: writer, Err: &errs, Now: today}, arguments, testDoors(s.URL).Program)
		if code != ExitSuccess || errs.String() != "" {
			t.Errorf("%v: exit code %d, stderr %q", arguments, code, errs.String())
		}
	}
}

func TestBusyLineComesAndGoes(t *testing.T) {
	s := newOnyx(t)
	release := make(chan struct{})
	s.on("/search", func(w http.ResponseWriter, r *http.Request) {
		<-release
		body(200, fixture(t, "search-empty.json"))(w, r)
	})
	seen := make(chan struct{})
	errs := &watcher{want: "Searching…", seen: seen}
	go func() {
		<-seen
		close(release)
	}()
	code := Run(t.Context(), IO{In: strings.NewReader(""), Out: io.Discard, Err: errs, OutTTY: true, ErrTTY: true, InTTY: true,
		Env: []string{"TERM=xterm"}, Now: today}, []string{"search", "x"}, testDoors(s.URL).Program)
	if code != ExitSuccess || !strings.Contains(errs.text.String(), clearLine) {
		t.Errorf("exit code %d, stderr %q", code, errs.text.String())
	}
}

// watcher tells when a text was written to it.
type watcher struct {
	text strings.Builder
	want string
	seen chan struct{}
	told bool
}

// Write is called under the lock of the gate.
func (w *watcher) Write(data []byte) (int, error) {
	n, err := w.text.Write(data)
	if !w.told && strings.Contains(w.text.String(), w.want) {
		w.told = true
		close(w.seen)
	}
	return n, err
}

func TestFriendlyDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m0s", 1500 * time.Millisecond: "1.5s", 20 * time.Millisecond: "20ms",
	} {
		if got := friendlyDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// stuck is a reader of results that never reads.
type stuck struct{ begun, release chan struct{} }

// Write is called once.
func (s stuck) Write(data []byte) (int, error) {
	close(s.begun)
	<-s.release
	return len(data), nil
}

// A command is stopped also while what reads its results does not.
func TestAStuckReaderKeepsNoCommandFromEnding(t *testing.T) {
	s := newOnyx(t)
	out := stuck{make(chan struct{}), make(chan struct{})}
	defer close(out.release)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var errs strings.Builder
	go func() {
		<-out.begun
		stop()
	}()
	code := Run(ctx, IO{In: strings.NewReader(""), Out: out, Err: &errs, Now: today}, []string{"search", "deploy"}, testDoors(s.URL).Program)
	if code != ExitInterrupted || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}
