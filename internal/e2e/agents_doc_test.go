//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v3"
)

// fence is a block of code of a page.
type fence struct{ language, code string }

func fencesOf(t *testing.T, page string) (found []fence) {
	t.Helper()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$").FindAllStringSubmatch(string(content), -1) {
		found = append(found, fence{match[1], match[2]})
	}
	if strings.Count(string(content), "\n```") != 2*len(found) || strings.Contains(string(content), "\n    $ ") {
		t.Errorf("%s has blocks that are not run", page)
	}
	return found
}

// reader is somebody who follows a page: in one folder, with one library, and a served one of the same documents.
type reader struct {
	home
	work, address, token string
}

// programs stand in for those of other people: they run what they are given to start, or note it.
const programs = `quarry() {
	if [ "$1" = serve ]; then echo "$@" > served; else command quarry "$@"; fi
}
claude() {
	[ "$1 $2" = "mcp add" ] || exit 64
	while [ $# -gt 0 ] && [ "$1" != -- ]; do [ "$1" = --transport ] && return 0; shift; done
	shift
	"$@" < /dev/null
}
`

func newReader(t *testing.T) reader {
	t.Helper()
	h := newHome(t)
	write(t, filepath.Join(h.dir, "notes.jsonl"), `{"document":{"id":"deploy","semantic_identifier":"Deploying","source":"notion","sections":[{`+
		`"text":"We roll back a deploy with deployctl rollback.","link":"https://notes.acme.example/deploy"}],"metadata":{}}}`+"\n")
	h.must("add", filepath.Join(h.dir, "notes.jsonl"))
	if err := os.Mkdir(filepath.Join(h.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary(t), filepath.Join(h.dir, "bin", "quarry")); err != nil {
		t.Fatal(err)
	}
	r := reader{home: h, work: filepath.Join(h.dir, "work")}
	if err := os.Mkdir(r.work, 0o700); err != nil {
		t.Fatal(err)
	}
	r.token = strings.TrimSpace(h.must("admin", "token", "add", "--name", "reader", "--user", "jo@acme.example", "--scope", "read:search", "--jq", ".token"))
	r.address = serveHTTP(t, h)
	return r
}

// real puts what there is in the place of what a page names.
func (r reader) real(text string) string {
	return strings.NewReplacer("https://search.acme.example", r.address, "onyx_pat_…", r.token, "${{ secrets.QUARRY_PAT }}", r.token,
		"${QUARRY_PAT}", r.token, "{env:QUARRY_PAT}", r.token, "${input:token}", r.token).Replace(text)
}

// shell runs a block of commands and returns what they print.
func (r reader) shell(code string, env ...string) string {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), "sh", "-euc", programs+r.real(code))
	c.Dir = r.work
	c.Env = append(r.environ(), "PATH="+filepath.Join(r.dir, "bin")+":"+os.Getenv("PATH"))
	c.Env = append(c.Env, env...)
	output, err := c.CombinedOutput()
	if err != nil {
		r.t.Errorf("%s%v\n%s", code, err, output)
	}
	return string(output)
}

// Every command of the page about agents works as it is written there, and every configuration starts a server of the
// Model Context Protocol.
func TestThePageAboutAgents(t *testing.T) {
	r := newReader(t)
	printed, started := "", 0
	for _, block := range fencesOf(t, "../../docs/agents.md") {
		switch block.language {
		case "sh":
			env := []string{}
			if strings.Contains(block.code, "$QUARRY_PAT") {
				env = append(env, "QUARRY_PAT="+r.token)
			}
			printed += r.shell(block.code, env...)
		case "yaml":
			printed += r.job(block.code)
		case "json":
			started += r.connect(block.code)
		default:
			t.Errorf("a block of %q is not run:\n%s", block.language, block.code)
		}
	}
	for _, want := range []string{"Installed .agents/skills/quarry/SKILL.md", "-> .agents/skills/quarry", "/.config/opencode/skills/quarry",
		"deployctl rollback", `"ok":true`, "Installed .opencode/skills/company-search/SKILL.md", "Deploying\thttps://notes.acme.example/deploy\n", "\nhttps://notes.acme.example/deploy\n", `"token":"onyx_pat_`} {
		if !strings.Contains(printed, want) {
			t.Errorf("nothing printed %q:\n%s", want, printed)
		}
	}
	if started < 6 {
		t.Errorf("%d servers of agents were started", started)
	}
	if served, err := os.ReadFile(filepath.Join(r.work, "served")); err != nil || string(served) != "serve --http 127.0.0.1:8080\n" {
		t.Errorf("served %q: %v", served, err) // as the address of this test is, with another port
	}
}

// job runs the steps of a CI job.
func (r reader) job(code string) (printed string) {
	r.t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal([]byte(code), &workflow); err != nil {
		r.t.Fatal(err)
	}
	for _, job := range workflow.Jobs {
		var env []string
		for name, value := range job.Env {
			env = append(env, name+"="+r.real(value))
		}
		for _, step := range job.Steps {
			printed += r.shell(step.Run, env...)
		}
	}
	return printed
}

// connect starts each server that a configuration names, as the agent does, and searches. It returns their number.
func (r reader) connect(code string) (started int) {
	r.t.Helper()
	var configuration map[string]any
	decode(r.t, r.real(code), &configuration)
	var visit func(value any)
	visit = func(value any) {
		entry, isObject := value.(map[string]any)
		if !isObject {
			return
		}
		if transport := r.transport(entry); transport != nil {
			session := agentOf(r.t, transport, nil)
			if read := searchAndRead(r.t, session, "roll back a deploy"); !strings.Contains(read, "deployctl rollback") {
				r.t.Errorf("%s reads %s", code, read)
			}
			_ = session.Close()
			started++
			return
		}
		for _, inner := range entry {
			visit(inner)
		}
	}
	visit(configuration)
	return started
}

// transport leads to the server of a configuration's entry; nil if it is none, or on another machine over SSH, which
// TestAgentOverSSH tries.
func (r reader) transport(entry map[string]any) mcp.Transport {
	if address, isRemote := entry["url"].(string); isRemote {
		headers, _ := entry["headers"].(map[string]any)
		authorization, _ := headers["Authorization"].(string)
		token, _ := strings.CutPrefix(authorization, "Bearer ")
		return &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: bearer(token)}}
	}
	var line []string
	switch command := entry["command"].(type) {
	case string:
		line = append(line, command)
	case []any:
		for _, word := range command {
			line = append(line, word.(string))
		}
	default:
		return nil
	}
	arguments, _ := entry["args"].([]any)
	for _, word := range arguments {
		line = append(line, word.(string))
	}
	if slices.Equal(line, []string{"ssh", "-T", "search.acme.example", "mcp"}) {
		return nil
	}
	if line[0] != "quarry" {
		text, _ := json.Marshal(entry)
		r.t.Errorf("starts something else: %s", text)
		return nil
	}
	return &mcp.CommandTransport{Command: r.command(context.WithoutCancel(r.t.Context()), line[1:]...)}
}
