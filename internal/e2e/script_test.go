package e2e

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quarry/internal/testkit/llmtest"
	"quarry/ui"
)

// scriptFolder has the scripts: command lines, what they print, and their files. Each is named by its subject. Besides
// testscript's own commands they have
//
//	quarry ARGUMENT… [<FILE]   run a command line inside of the test, in the script's folder, with FILE as its input;
//	                           ! before it if it must fail
//	exit N                     the exit code of the last quarry
//	server onyx                serve what an Onyx answered once, and search it
//	server quarry              serve the library of the script, and search it with the token that was printed last
//	server down | silent       search a server that refuses connections | accepts them and never answers
//	model ANSWER               configure a model that answers this
//	keep NAME                  set the variable NAME to what was printed last
//
// go test ./internal/e2e -run Scripts -update writes what cmp compares anew.
const scriptFolder = "testdata/script"

func TestScripts(t *testing.T) {
	t.Parallel()
	update := flag.Lookup("update") // of the package golden
	testscript.Run(t, testscript.Params{
		Dir: scriptFolder, RequireUniqueNames: true, UpdateScripts: update != nil && update.Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			inherited := home{nil, env.WorkDir}.environ()
			env.Vars = append(env.Vars, inherited...)
			env.Values[scriptKey{}] = &script{ctx: context.WithoutCancel(t.Context())}
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, isNegated bool, args []string){
			"quarry": runQuarry, "exit": checkExit, "server": startServer, "model": startModel, "keep": keepOutput,
		},
	})
}

type scriptKey struct{}

// script is what a script remembers between its lines.
type script struct {
	ctx     context.Context // testscript has none
	code    int
	printed string
}

func scriptOf(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

// scriptVariables are the variables of the environment that a script may set.
var scriptVariables = []string{"HOME", "PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	"XDG_STATE_HOME", "XDG_CACHE_HOME", "QUARRY_HOME", "QUARRY_CONFIG", "QUARRY_SERVER_URL", "QUARRY_PAT", "ONYX_SERVER_URL",
	"ONYX_PAT", "QUARRY_READONLY", "QUARRY_SECRET_KEY"}

// process returns what ui.Run needs besides its streams. testscript has an empty variable where one is not set.
func (s *script) process(ts *testscript.TestScript, args ...string) ui.Process {
	process := home{nil, ts.Getenv("WORK")}.inside(args...)
	process.Dir, process.Env = ts.MkAbs("."), nil
	for _, name := range scriptVariables {
		if value := ts.Getenv(name); value != "" {
			process.Env = append(process.Env, name+"="+value)
		}
	}
	return process
}

func runQuarry(ts *testscript.TestScript, isNegated bool, args []string) {
	s := scriptOf(ts)
	input := ""
	if last := len(args) - 1; last >= 0 && strings.HasPrefix(args[last], "<") {
		input, args = ts.ReadFile(args[last][1:]), args[:last]
	}
	got := runInside(s.ctx, s.process(ts, args...), input)
	s.code, s.printed = got.code, got.stdout
	_, _ = ts.Stdout().Write([]byte(got.stdout))
	_, _ = ts.Stderr().Write([]byte(got.stderr))
	if (got.code != 0) != isNegated {
		ts.Fatalf("exit code %d", got.code)
	}
}

func checkExit(ts *testscript.TestScript, isNegated bool, args []string) {
	if len(args) != 1 || isNegated {
		ts.Fatalf("usage: exit N")
	}
	if want, err := strconv.Atoi(args[0]); err != nil || want != scriptOf(ts).code {
		ts.Fatalf("exit code %d, want %s", scriptOf(ts).code, args[0])
	}
}

func keepOutput(ts *testscript.TestScript, isNegated bool, args []string) {
	if len(args) != 1 || isNegated {
		ts.Fatalf("usage: keep NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(scriptOf(ts).printed))
}

func startServer(ts *testscript.TestScript, isNegated bool, args []string) {
	if len(args) != 1 || isNegated {
		ts.Fatalf("usage: server onyx|quarry|down|silent")
	}
	s, token := scriptOf(ts), "onyx_pat_test"
	var address string
	switch args[0] {
	case "onyx":
		onyx := newOnyx()
		ts.Defer(onyx.Close)
		address = onyx.URL
	case "down":
		address = refusing()
	case "silent":
		silent, stop := newSilent()
		ts.Defer(stop)
		address = silent
	case "quarry":
		served, stop := serve(s.ctx, s.process(ts, "serve", "--http", "127.0.0.1:0"))
		ts.Defer(stop)
		address, token = served, strings.TrimSpace(s.printed)
	}
	if address == "" {
		ts.Fatalf("server %s does not listen", args[0])
	}
	ts.Setenv("QUARRY_SERVER_URL", address)
	ts.Setenv("QUARRY_PAT", token)
}

func startModel(ts *testscript.TestScript, isNegated bool, args []string) {
	if len(args) != 1 || isNegated {
		ts.Fatalf("usage: model ANSWER")
	}
	model := llmtest.New().On(llmtest.Any(), llmtest.Text(args[0]))
	ts.Defer(model.Close)
	file := filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "quarry", "config.yaml")
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o700))
	ts.Check(os.WriteFile(file, []byte("llm:\n  default: test/one\n  providers:\n    test:\n      base_url: "+model.BaseURL()+
		"\n      models: [one]\n"), 0o600))
}

// newOnyx serves the answers of an Onyx that ui/cli keeps.
func newOnyx() *httptest.Server {
	const folder = "../../ui/cli/testdata/onyx"
	files := map[string]string{"/search": "search", "/persona": "persona", "/manage/document-set": "document-set",
		"/manage/connector-status": "connector-status", "/federated": "federated", "/manage/indexed-sources": "indexed-sources",
		"/query/valid-tags": "valid-tags", "/version": "version", "/me": "me"}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := os.ReadFile(filepath.Join(folder, files[strings.TrimPrefix(r.URL.Path, "/api")]+".json"))
		if strings.HasSuffix(r.URL.Path, "/chat/send-chat-message") {
			text, err = os.ReadFile(filepath.Join(folder, "chat-stream.ndjson"))
		}
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(text)
	}))
}
