//go:build unix

package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentOf connects the SDK's client.
func agentOf(t *testing.T, transport mcp.Transport, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// uses calls a tool, which must not fail, and returns its text.
func uses(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (string, map[string]any) {
	t.Helper()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	written := answer.Content[0].(*mcp.TextContent).Text
	if answer.IsError {
		t.Fatalf("%s %v: %s", tool, arguments, written)
	}
	return written, answer.StructuredContent.(map[string]any)
}

// searchAndRead does what an agent does, and returns the text of the first result.
func searchAndRead(t *testing.T, session *mcp.ClientSession, query string) string {
	t.Helper()
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 3 {
		t.Fatalf("%v: %v", tools, err)
	}
	_, found := uses(t, session, "search", map[string]any{"query": query})
	results := found["results"].([]any)
	if len(results) == 0 {
		t.Fatalf("%q finds nothing", query)
	}
	written, _ := uses(t, session, "read", map[string]any{"ref": results[0].(map[string]any)["ref"]})
	return written
}

func TestAgentOverStdio(t *testing.T) {
	h := newHome(t)
	command := h.command(context.WithoutCancel(t.Context()), "mcp", "--sample")
	var stderr lockedBuffer
	command.Stderr = &stderr
	session := agentOf(t, &mcp.CommandTransport{Command: command}, nil)
	if read := searchAndRead(t, session, "roll back a deploy"); !strings.HasPrefix(read, "# Runbook: rolling back a release\n") {
		t.Error(read)
	}
	_ = session.Close() // closes standard input
	if code := command.ProcessState.ExitCode(); code != 0 || stderr.String() != "" {
		t.Errorf("exit %d: %s", code, &stderr)
	}
}

// --debug goes to standard error, which agents keep as a log.
func TestDebugOfAnAgent(t *testing.T) {
	w := newWorld(t)
	h := newHome(t)
	command := h.external(w.command(h, "mcp", configured, "--debug"))
	var stderr lockedBuffer
	command.Stderr = &stderr
	session := agentOf(t, &mcp.CommandTransport{Command: command}, nil)
	uses(t, session, "search", map[string]any{"query": "roll back"})
	_ = session.Close()
	if said := stderr.String(); !request.MatchString(said) || !strings.Contains(said, "POST "+w.addresses[configured]+"/api/search: 200 in ") || strings.Contains(said, w.tokens[configured]) {
		t.Errorf("stderr:\n%s", said)
	}
}

func TestAgentsProcessEndsOnSIGTERM(t *testing.T) {
	h := newHome(t)
	command := h.command(context.WithoutCancel(t.Context()), "mcp", "--sample")
	session := agentOf(t, &mcp.CommandTransport{Command: command}, nil)
	uses(t, session, "sources", nil)
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = session.Wait()
	_ = session.Close()
	if code := command.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d", code)
	}
}

func TestAgentWithoutALibrary(t *testing.T) {
	got := newHome(t).run("", "mcp")
	if got.code != 3 || got.stdout != "" || !strings.Contains(got.stderr, "error: ") || !strings.Contains(got.stderr, "hint: ") {
		t.Errorf("%+v", got)
	}
}

func TestAgentOverSSH(t *testing.T) {
	s := serveSSH(t, newHome(t), "--ssh-open", "--sample")
	command := s.ssh(s.port, "127.0.0.1", "mcp")
	session := agentOf(t, &mcp.CommandTransport{Command: command}, nil)
	if read := searchAndRead(t, session, "roll back a deploy"); !strings.HasPrefix(read, "# Runbook: rolling back a release\n") {
		t.Error(read)
	}
	_ = session.Close()
	if code := command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got := s.visit(t, "", nil, "-tt", "127.0.0.1", "mcp"); got.code != 2 || !strings.Contains(got.stdout+got.stderr, "mcp requires a pipe") {
		t.Errorf("at a terminal: %+v", got)
	}
}

// bearer sends a token.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// privateNotes are documents of two people.
const privateNotes = `{"document":{"id":"plan-jo","semantic_identifier":"Plan of Jo","source":"notion","sections":[{"text":"The zeppelin plan of Jo is orange."}],"metadata":{},"external_access":{"external_user_emails":["jo@acme.example"],"external_user_group_ids":[],"is_public":false}}}
{"document":{"id":"plan-kim","semantic_identifier":"Plan of Kim","source":"notion","sections":[{"text":"The zeppelin plan of Kim is violet."}],"metadata":{},"external_access":{"external_user_emails":["kim@acme.example"],"external_user_group_ids":[],"is_public":false}}}
`

func TestTwoAgentsOverHTTP(t *testing.T) {
	h := newHome(t)
	notes := filepath.Join(h.dir, "notes.jsonl")
	if err := os.WriteFile(notes, []byte(privateNotes), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("add", notes)
	h.write("own-machine/zoo/quokka.md", "# Quokkas\n\nA quokka smiles.\n")
	h.must("add", filepath.Join(h.dir, "own-machine", "zoo"))
	agents := map[string]*mcp.ClientSession{}
	reported := make(chan float64, 100)
	tokens, ids := map[string]string{}, map[string]string{}
	for _, name := range []string{"jo", "kim"} {
		var made struct {
			ID    json.Number
			Token string
		}
		decode(t, h.must("admin", "token", "add", "--name", name, "--user", name+"@acme.example", "--scope", "read:search", "--json"), &made)
		tokens[name], ids[name] = made.Token, made.ID.String()
	}
	address := serveOn(t, h).address // a process of its own
	for name, path := range map[string]string{"jo": "/mcp", "kim": "/api/mcp"} {
		agents[name] = agentOf(t, &mcp.StreamableClientTransport{Endpoint: address + path, HTTPClient: &http.Client{Transport: bearer(tokens[name])}},
			&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { reported <- r.Params.Progress }})
		defer agents[name].Close()
	}
	for name, other := range map[string]string{"jo": "kim", "kim": "jo"} {
		read := searchAndRead(t, agents[name], "zeppelin plan")
		if colour := map[string]string{"jo": "orange", "kim": "violet"}[name]; !strings.Contains(read, colour) {
			t.Errorf("%s reads:\n%s", name, read)
		}
		_, found := uses(t, agents[name], "search", map[string]any{"query": "zeppelin plan"})
		if all, _ := json.Marshal(found); strings.Contains(strings.ToLower(string(all)), other) || len(found["results"].([]any)) != 1 {
			t.Errorf("%s finds: %s", name, all)
		}
		answer, err := agents[name].CallTool(t.Context(), &mcp.CallToolParams{Name: "read", Arguments: map[string]any{"ref": "plan-" + other}})
		if err != nil || !answer.IsError {
			t.Errorf("%s reads the plan of %s: %v %v", name, other, answer, err)
		}
		if _, err := agents[name].ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "quarry://document/plan-" + other}); err == nil {
			t.Errorf("%s reads the resource of %s", name, other)
		}
	}
	for _, call := range []*mcp.CallToolParams{{Name: "search", Arguments: map[string]any{"query": "quokka"}}, {Name: "sources"},
		{Name: "read", Arguments: map[string]any{"ref": "zoo/quokka.md"}}, {Name: "read", Arguments: map[string]any{"ref": "zoo/none.md"}}} {
		answer, err := agents["jo"].CallTool(t.Context(), call)
		if all, _ := json.Marshal(answer); err != nil || strings.Contains(string(all), "own-machine") {
			t.Errorf("%v sends the folder of this machine: %s, %v", call, all, err)
		}
	}
	read, err := agents["jo"].ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "quarry://document/zoo%2Fquokka.md"})
	if all, _ := json.Marshal(read); err != nil || !strings.Contains(string(all), "smiles") || strings.Contains(string(all), "own-machine") {
		t.Errorf("the resource is %s, %v", all, err)
	}
	params := &mcp.CallToolParams{Name: "search", Arguments: map[string]any{"query": "zeppelin"}}
	params.SetProgressToken(7)
	if _, err := agents["jo"].CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if first := <-reported; first != 1 {
		t.Errorf("the first report: %v", first)
	}
	h.must("admin", "token", "remove", ids["jo"])
	if _, err := agents["jo"].CallTool(t.Context(), params); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("with a removed token: %v", err)
	}
	uses(t, agents["kim"], "sources", nil)
}

// documented is a way to start or reach quarry, in the keys of all agents.
type documented struct {
	Command any // a string with Args, or a list
	Args    []string
	URL     string
	Headers map[string]string
}

// documentedAgents finds them in the JSON of docs/agents.md.
func documentedAgents(t *testing.T) (found []documented) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents.md"))
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(page), "```") {
		text, isJSON := strings.CutPrefix(block, "json\n")
		if i%2 == 0 || !isJSON {
			continue
		}
		var config map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		servers := config["servers"]
		if servers == nil {
			servers = config["mcpServers"]
		}
		if servers == nil {
			var inner map[string]json.RawMessage
			decode(t, string(config["mcp"]), &inner)
			servers = inner["servers"]
		}
		var named map[string]documented
		decode(t, string(servers), &named)
		found = append(found, named["quarry"])
	}
	return found
}

// Whoever copies a configuration from docs/agents.md gets tools.
func TestDocumentedAgents(t *testing.T) {
	h := newHome(t)
	if err := os.WriteFile(filepath.Join(h.dir, "note.md"), []byte("# Rollback\n\nRoll back with deployctl.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must("add", filepath.Join(h.dir, "note.md"))
	var made struct{ Token string }
	decode(t, h.must("admin", "token", "add", "--name", "agent", "--user", "jo@acme.example", "--scope", "read:search", "--json"), &made)
	address := serveHTTP(t, h)
	started, reached := 0, 0
	for _, agent := range documentedAgents(t) {
		arguments := agent.Args
		if list, ok := agent.Command.([]any); ok {
			for _, one := range list {
				arguments = append(arguments, one.(string))
			}
		} else if name, ok := agent.Command.(string); ok {
			arguments = append([]string{name}, arguments...)
		}
		var transport mcp.Transport
		switch {
		case agent.URL != "":
			reached++
			path := strings.TrimPrefix(agent.URL, "https://search.acme.example")
			if !regexp.MustCompile(`^Bearer [${].*}$`).MatchString(agent.Headers["Authorization"]) || path == agent.URL {
				t.Errorf("%+v", agent)
			}
			transport = &mcp.StreamableClientTransport{Endpoint: address + path, HTTPClient: &http.Client{Transport: bearer(made.Token)}}
		case arguments[0] == "quarry":
			started++
			transport = &mcp.CommandTransport{Command: h.command(context.WithoutCancel(t.Context()), arguments[1:]...)}
		case arguments[0] == "ssh": // tried by TestAgentOverSSH
			continue
		}
		session := agentOf(t, transport, nil)
		if read := searchAndRead(t, session, "roll back"); !strings.Contains(read, "deployctl") {
			t.Errorf("%+v reads %s", agent, read)
		}
		_ = session.Close()
	}
	if started != 3 || reached != 3 {
		t.Errorf("%d commands and %d addresses were tried", started, reached)
	}
}
