package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// stream answers with lines of NDJSON.
func stream(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		_, _ = w.Write([]byte(strings.Join(lines, "\n") + "\n"))
	}
}

const (
	progressLine = `{"type":"progress","done":3,"stored":2,"total":12,"bytes":4096,"path":"/notes/c.md"}`
	skippedLine  = `{"type":"skipped","path":"/notes/x.bin","reason":"it is not text"}`
	doneLine     = `{"type":"done","added":11,"updated":1,"removed":0,"unchanged":2,"skipped":1}`
)

// localDoors search the library that they add to.
func localDoors(address string) testMachine {
	doors := testDoors(address)
	decide := doors.decide
	doors.decide = func(where target.Request) (target.Choice, error) {
		choice, err := decide(where)
		choice.Kind, choice.Rule, choice.Reason, choice.ServerURL = target.KindLibrary, 5, "files were added", ""
		choice.LibraryDir, choice.Profile = "/home/jo/.local/share/quarry", "local"
		return choice, err
	}
	return doors
}

func TestAdd(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	if err := os.Mkdir(notes, 0o700); err != nil {
		t.Fatal(err)
	}
	var asked map[string]any
	s := newOnyx(t)
	s.on("/library/add", func(w http.ResponseWriter, r *http.Request) {
		asked = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		stream(progressLine, skippedLine, doneLine)(w, r)
	})
	t.Run("script", func(t *testing.T) {
		got := run(t, localDoors(s.URL), terminal{}, "add", notes, "--as", "Slack", "--set", "handbook").check(t, ExitSuccess)
		if got.out != "Documents: 11 added, 1 updated, 2 unchanged. 1 file skipped.\n" {
			t.Errorf("stdout %q", got.out)
		}
		for _, part := range []string{"skipped /notes/x.bin: it is not text", "Searches now go to this library"} {
			if !strings.Contains(got.err, part) {
				t.Errorf("stderr lacks %q:\n%s", part, got.err)
			}
		}
		if paths, _ := json.Marshal(asked["paths"]); string(paths) != `["`+notes+`"]` || asked["as"] != "slack" || asked["set"] != "handbook" {
			t.Errorf("asked for %v", asked)
		}
	})
	t.Run("json", func(t *testing.T) {
		got := run(t, localDoors(s.URL), terminal{}, "add", notes, "--json").check(t, ExitSuccess)
		golden.RequireEqual(t, got.out)
	})
	t.Run("terminal", func(t *testing.T) {
		got := run(t, localDoors(s.URL), terminal{tty: true, width: 60}, "add", notes).check(t, ExitSuccess)
		if strings.Contains(got.out, "\x1b") || !strings.HasSuffix(strings.Split(got.err, "skipped")[0], clearLine) {
			t.Errorf("stdout %q, stderr %q", got.out, got.err)
		}
	})
	t.Run("another target", func(t *testing.T) {
		got := run(t, testDoors(s.URL), terminal{}, "add", notes).check(t, ExitSuccess)
		for _, part := range []string{"searches go to https://onyx.example", "Searches go to https://onyx.example", "--library"} {
			if !strings.Contains(got.err, part) {
				t.Errorf("stderr lacks %q:\n%s", part, got.err)
			}
		}
	})
	t.Run("many skipped", func(t *testing.T) {
		lines := []string{}
		for range 25 {
			lines = append(lines, skippedLine)
		}
		s.on("/library/add", stream(append(lines, doneLine)...))
		got := run(t, localDoors(s.URL), terminal{}, "add", notes).check(t, ExitSuccess)
		if strings.Count(got.err, "/notes/x.bin") != skipsShown || !strings.Contains(got.err, "and 5 more skipped") {
			t.Errorf("stderr: %s", got.err)
		}
	})
	t.Run("error", func(t *testing.T) {
		s.on("/library/add", stream(progressLine, `{"type":"error","error_code":"INTERNAL_ERROR","detail":"disk full"}`))
		run(t, localDoors(s.URL), terminal{}, "add", notes).check(t, ExitServer).twoLines(t, "disk full", "2 files stored")
	})
}

func TestInterruptedAddSaysWhatIsStored(t *testing.T) {
	for _, arguments := range [][]string{{"add", "."}, {"add", ".", "--json"}} {
		s := newOnyx(t)
		ctx, cancel := context.WithCancel(t.Context())
		reported := make(chan struct{})
		s.on("/library/add", func(w http.ResponseWriter, r *http.Request) {
			stream(progressLine, skippedLine)(w, r)
			w.(http.Flusher).Flush()
			<-reported
			cancel()
			<-r.Context().Done()
		})
		out := &watcher{want: `"skipped"`, seen: make(chan struct{})}
		go func() {
			if len(arguments) > 2 {
				<-out.seen
			}
			close(reported)
		}()
		var errs strings.Builder
		code := Run(ctx, IO{In: strings.NewReader(""), Out: out, Err: &errs, Now: today}, arguments, localDoors(s.URL).Program)
		if code != ExitInterrupted || !strings.Contains(errs.String(), "Stopped") {
			t.Errorf("%v: exit code %d, stderr %s", arguments, code, errs.String())
		}
		if len(arguments) > 2 && !strings.HasSuffix(out.text.String(), `{"type":"stopped","done":2}`+"\n") {
			t.Errorf("stdout: %s", out.text.String())
		}
	}
}

func TestBarFitsTheTerminal(t *testing.T) {
	for _, width := range []int{0, 1, 20, 40, 80, 200} {
		a := &app{io: IO{Width: width, Now: today}, flags: globalFlags{}}
		p := a.newProgress("added")
		p.latest[wire.LibraryProgress] = wire.LibraryEvent{Done: 7, Total: 12, Bytes: 123_456_789,
			Path: "/home/jo/\x1b[2J/本/" + strings.Repeat("deep/", 30)}
		text := p.barText(today())
		if got := len([]rune(text)); got > max(79, width) || strings.Contains(text, "\x1b") {
			t.Errorf("width %d: %d characters: %q", width, got, text)
		}
	}
}

// TestIndexing: after adding, what the engine does not have yet is counted, and stays stored if that fails or is interrupted.
func TestIndexing(t *testing.T) {
	s := newOnyx(t)
	s.on("/library/add", stream(`{"type":"progress","done":3,"total":3,"stored":3}`, `{"type":"indexing","done":1,"total":3}`,
		`{"type":"indexing","done":1,"total":3,"reason":"read the schema of Weaviate: connection refused; start Weaviate"}`,
		`{"type":"done","added":3,"updated":0,"removed":0,"unchanged":0,"skipped":0}`))
	got := run(t, localDoors(s.URL), terminal{}, "add", t.TempDir()).check(t, ExitSuccess)
	for _, want := range []string{"Everything is stored, but 2 changes not indexed yet", "connection refused; start Weaviate.", "indexes the rest"} {
		if !strings.Contains(got.err, want) {
			t.Errorf("%q is missing: %s", want, got.err)
		}
	}
	got = run(t, localDoors(s.URL), terminal{}, "add", "--json", t.TempDir()).check(t, ExitSuccess)
	if !strings.Contains(got.out, `{"type":"indexing","done":1,"total":3}`) {
		t.Errorf("printed %s", got.out)
	}
	var out strings.Builder
	a := &app{io: IO{Width: 100, Now: today}, flags: globalFlags{}, err: &gate{to: &out}}
	p := a.newProgress("added")
	p.event(wire.LibraryEvent{Type: wire.LibraryProgress, Done: 3, Total: 3, Stored: 3})
	p.event(wire.LibraryEvent{Type: wire.LibraryIndexing, Done: 1, Total: 3})
	if text := ansi.Strip(p.barText(today())); !strings.HasPrefix(text, strings.Repeat("█", 8)+strings.Repeat("░", 16)+" indexing 1 of 3 changes") {
		t.Errorf("%q", text)
	}
	if p.stopped(); !strings.Contains(out.String(), "Stopped: everything is stored. A server, or the next command") {
		t.Errorf("printed %q", out.String())
	}
}

// TestVectorsThatAreMissing: a change that is stored says why passages have no vector, and what to do about it first.
func TestVectorsThatAreMissing(t *testing.T) {
	s := newOnyx(t)
	s.on("/library/sync", stream(`{"type":"embedding","done":1,"total":3,"reason":"/m/model.safetensors: it is too short"}`,
		`{"type":"done","added":0,"updated":0,"removed":0,"unchanged":2,"skipped":0}`))
	got := run(t, localDoors(s.URL), terminal{}, "sync", "--meaning").check(t, ExitSuccess)
	want := "1 of 3 passages have vectors; only lexical search finds the others: /m/model.safetensors: it is too short. " +
		"When that is fixed: quarry sync --meaning\n"
	if !strings.Contains(got.err, want) {
		t.Errorf("printed %s", got.err)
	}
}

// The bar of one large file moves with its bytes.
func TestBarWithinAFile(t *testing.T) {
	a := &app{io: IO{Width: 100, Now: today}, flags: globalFlags{}}
	p := a.newProgress("added")
	p.latest[wire.LibraryProgress] = wire.LibraryEvent{Total: 1, Bytes: 60_000_000, TotalBytes: 120_000_000, Path: "/big.jsonl"}
	text := ansi.Strip(p.barText(today().Add(2 * time.Second)))
	if !strings.HasPrefix(text, strings.Repeat("█", 12)+strings.Repeat("░", 12)+" 0 of 1 file, 60 MB of 120 MB") {
		t.Errorf("%q", text)
	}
}

func TestRemoveAndSync(t *testing.T) {
	var asked map[string]any
	s := newOnyx(t)
	record := func(w http.ResponseWriter, r *http.Request) {
		asked = nil
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		stream(`{"type":"done","added":0,"updated":0,"removed":4,"unchanged":0,"skipped":0}`)(w, r)
	}
	s.on("/library/remove", record)
	s.on("/library/sync", record)
	got := run(t, localDoors(s.URL), terminal{}, "remove", "notes", "file:/x/y.md").check(t, ExitSuccess)
	full, err := filepath.Abs("notes")
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(map[string]any{"refs": []string{full, "file:/x/y.md"}})
	if err != nil {
		t.Fatal(err)
	}
	if sent, _ := json.Marshal(asked); string(sent) != string(want) || got.out != "Documents: 4 removed.\n" {
		t.Errorf("asked for %s, printed %q", sent, got.out)
	}
	asked = nil
	for _, arguments := range [][]string{{"notes", "--set", "old"}, {"notes", "--source", "slack"}, {"--set", "old", "--source", "slack"}} {
		run(t, localDoors(s.URL), terminal{}, append([]string{"remove"}, arguments...)...).check(t, ExitUsage).twoLines(t, "exclude each other", "one at a time")
	}
	if asked != nil {
		t.Errorf("asked for %v", asked)
	}
	run(t, localDoors(s.URL), terminal{}, "sync").check(t, ExitSuccess)
	if asked["paths"] != nil {
		t.Errorf("asked for %v", asked)
	}
}

func TestWithoutALibrary(t *testing.T) {
	doors := localDoors("http://127.0.0.1:1")
	doors.openLibrary = func(context.Context, string, bool) (*client.Session, error) {
		return nil, &Failure{Code: ExitNotAvailable, What: "nothing was added to /x", Do: "add something with quarry add PATH", Err: target.ErrNoLibrary}
	}
	for _, arguments := range [][]string{{"sync"}, {"remove", "x"}} {
		run(t, doors, terminal{}, arguments...).check(t, ExitNotAvailable).twoLines(t, "quarry add PATH")
	}
	got := run(t, doors, terminal{}, "status").check(t, ExitSuccess)
	if !strings.Contains(got.out, `"exists":false`) {
		t.Errorf("stdout: %s", got.out)
	}
}

const libraryBody = `{"roots":[{"name":"notes","path":"/home/jo/notes","source":"file","set":"handbook","documents":12,"files":12,"bytes":81234,"skipped":22,"reasons":[{"reason":"it contains no text","files":21},{"reason":"quarry does not read .svg files","files":1}],"problem":"no permission to read it","synced_at":"2026-08-21T10:00:00Z"}],"documents":12,"chunks":40,"bytes":123456,"version":"v7","path":"/home/jo/.local/share/quarry"}`

func TestStatus(t *testing.T) {
	s := newOnyx(t)
	s.on("/library/status", body(http.StatusOK, []byte(libraryBody)))
	t.Run("json", func(t *testing.T) {
		golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{}, "status").check(t, ExitSuccess).out)
	})
	t.Run("terminal", func(t *testing.T) {
		golden.RequireEqual(t, run(t, localDoors(s.URL), terminal{tty: true, width: 80}, "status").check(t, ExitSuccess).out)
	})
	t.Run("not configured", func(t *testing.T) {
		doors := testDoors(s.URL)
		doors.decide = failing(errNotConfigured).decide
		golden.RequireEqual(t, run(t, doors, terminal{}, "status").check(t, ExitSuccess).out)
		run(t, doors, terminal{}, "status", "--profile", "nope").check(t, ExitNotConfigured)
	})
}

func TestRead(t *testing.T) {
	const answer = `{"document":{"id":"wiki:1","title":"Rolling back","link":"https://wiki.example/1","source_type":"confluence","updated_at":"2026-03-12T09:14:05Z","authors":["Kim Lee"],"chunk_count":4,"outline":[{"level":1,"text":"Rolling back","chunk_ind":0}]},"chunks":[{"chunk_ind":1,"content":"Second piece.","heading_path":["Rolling back"]},{"chunk_ind":2,"content":"Third piece, <b>.","heading_path":[]}]}`
	s := newOnyx(t)
	var asked []string
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		if id := r.URL.Query().Get("document_id"); id != "wiki:1" {
			body(http.StatusNotFound, fixture(t, "error-404-document.json"))(w, r)
			return
		}
		body(http.StatusOK, []byte(answer))(w, r)
	})
	t.Run("passage", func(t *testing.T) {
		golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{}, "read", "wiki:1#2", "--around", "1").check(t, ExitSuccess).out)
		if last := asked[len(asked)-1]; !strings.Contains(last, "from=1&to=3") {
			t.Errorf("asked for %s", last)
		}
	})
	t.Run("json", func(t *testing.T) {
		golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{}, "read", "wiki:1#1", "--json").check(t, ExitSuccess).out)
	})
	t.Run("terminal", func(t *testing.T) {
		golden.RequireEqual(t, run(t, testDoors(s.URL), terminal{tty: true, width: 40}, "read", "wiki:1#1").check(t, ExitSuccess).out)
	})
	t.Run("unknown", func(t *testing.T) {
		run(t, testDoors(s.URL), terminal{}, "read", "nope").check(t, ExitNotAvailable).twoLines(t, "Document not found")
		run(t, testDoors(s.URL), terminal{}, "read", "nope#1").check(t, ExitNotAvailable).twoLines(t, "Document not found")
	})
	t.Run("from a saved search", func(t *testing.T) {
		for _, saved := range []string{
			`{"results":[{"citation_id":9,"ref":"x"},{"citation_id":2,"ref":"wiki:1#1"}]}`,
			`{"searches":[{"query":"a","results":null,"error":"x"},{"query":"b","results":[{"citation_id":2,"ref":"wiki:1#1"}]}]}`,
			`{"type":"result","citation_id":2,"ref":"wiki:1#1"}` + "\n" + `{"type":"summary"}`,
			`{"searches":[{"query":"a","response":{"results":[{"citation_id":2,"document_id":"x","ref":"wiki:1#1"}]}}]}`,
		} {
			got := run(t, testDoors(s.URL), terminal{in: saved}, "read", "--from", "-", "2").check(t, ExitSuccess)
			if !strings.Contains(got.out, "Second piece.") {
				t.Errorf("%s: %s", saved, got.out)
			}
		}
		run(t, testDoors(s.URL), terminal{in: `{"results":[]}`}, "read", "--from", "-", "2").check(t, ExitUsage).twoLines(t, "no citation 2")
		run(t, testDoors(s.URL), terminal{in: `{"results":[`}, "read", "--from", "-", "2").check(t, ExitUsage).twoLines(t)
		run(t, testDoors(s.URL), terminal{in: ``}, "read", "--from", "-", "2").check(t, ExitUsage).twoLines(t, "empty")
		run(t, testDoors(s.URL), terminal{}, "read", "--from", "/does/not/exist", "2").check(t, ExitUsage).twoLines(t, "--from")
	})
	t.Run("from a server without ids", func(t *testing.T) {
		saved := string(fixture(t, "search.json"))
		run(t, testDoors(s.URL), terminal{in: saved}, "read", "--from", "-", "2").check(t, ExitNotAvailable).
			twoLines(t, "https://acme.slack.example/archives/C024/p1771234567000100")
	})
}

func TestWholeDocumentInPages(t *testing.T) {
	s := newOnyx(t)
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		chunks := `[{"chunk_ind":0,"content":"first","heading_path":[]}]`
		if r.URL.Query().Get("from") == "1" {
			chunks = `[{"chunk_ind":1,"content":"second","heading_path":[]},{"chunk_ind":2,"content":"third","heading_path":[]}]`
		}
		body(http.StatusOK, []byte(`{"document":{"id":"d","title":"T","link":null,"source_type":"file","updated_at":null,"authors":[],"chunk_count":3,"outline":[]},"chunks":`+chunks+`}`))(w, r)
	})
	got := run(t, testDoors(s.URL), terminal{}, "read", "d").check(t, ExitSuccess)
	if got.out != "# T\n\nFile\n\nfirst\n\nsecond\n\nthird\n" {
		t.Errorf("stdout %q", got.out)
	}
	cut := run(t, testDoors(s.URL), terminal{dir: t.TempDir()}, "read", "d", "--json", "--max-output", "900").check(t, ExitSuccess)
	if !json.Valid([]byte(cut.out)) {
		t.Errorf("stdout %s", cut.out)
	}
}

func TestReadOnlyRefusesEveryChange(t *testing.T) {
	doors := testDoors("http://127.0.0.1:1")
	doors.ReadOnly = true
	for _, arguments := range [][]string{{"add", "."}, {"remove", "x"}, {"sync"}, {"admin", "token", "add", "--name", "x"},
		{"admin", "token", "remove", "1"}} {
		run(t, doors, terminal{}, arguments...).check(t, ExitNotAvailable).twoLines(t, "QUARRY_READONLY")
	}
}

// TestStatusNamesTheEngine: one that does not search the files says what to do while it has no documents.
func TestStatusNamesTheEngine(t *testing.T) {
	for documents, wantsHint := range map[string]bool{"0": true, "7": false} {
		s := newOnyx(t)
		s.on("/library/status", body(http.StatusOK, []byte(`{"documents":`+documents+`,"chunks":9,"engine":"documents in PostgreSQL, indexed by each server"}`)))
		got := run(t, localDoors(s.URL), terminal{tty: true, width: 120}, "status").check(t, ExitSuccess).out
		if !strings.Contains(got, "documents in PostgreSQL, indexed by each server\n") || strings.Contains(got, "quarry migrate") != wantsHint {
			t.Errorf("with %s documents:\n%s", documents, got)
		}
	}
}
