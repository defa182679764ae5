//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"quarry/internal/testkit/llmtest"
	"quarry/internal/testkit/screentest"
	"quarry/ui/cli"
)

// schemaOf returns a schema of the program. It is stricter than what is printed: further keys of the server's events fail.
func (h home) schemaOf(name string) *jsonschema.Schema {
	h.t.Helper()
	var s jsonschema.Schema
	decode(h.t, h.must("schema", name), &s)
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" || s.Title == "" {
		h.t.Errorf("the schema of %s: %s %q", name, s.Schema, s.Title)
	}
	for _, line := range s.OneOf {
		if event := line.Properties["event"]; event != nil && event.AdditionalProperties == nil && len(event.AnyOf) == 0 {
			event.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
		}
	}
	return &s
}

// violation returns how a value breaks a schema; nil if it does not. Of the schema of a line that is the one of its type.
func violation(s *jsonschema.Schema, value any) error {
	line, _ := value.(map[string]any)
	kind, _ := line["type"].(string)
	for _, line := range s.OneOf {
		if one := line.Properties["type"]; kind != "" && one != nil && one.Const != nil && *one.Const == any(kind) {
			s = line
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}

// conforms checks each JSON value of an output.
func (h home) conforms(name, output string) {
	h.t.Helper()
	s := h.schemaOf(name)
	count := 0
	for decoder := json.NewDecoder(strings.NewReader(output)); decoder.More(); count++ {
		var value any
		if err := decoder.Decode(&value); err != nil {
			h.t.Errorf("%s: %v\n%s", name, err, output)
			return
		}
		if err := violation(s, value); err != nil {
			h.t.Errorf("%s: %v\n%.2000s", name, err, output)
			return
		}
	}
	if count == 0 {
		h.t.Errorf("%s: printed nothing", name)
	}
}

// printed is a run and the name of its schema.
type printed struct {
	schema    string // empty: nothing is printed
	arguments string // with spaces between them; _ is a space inside of one
	stdin     string
	code      int
}

// documents of a library that uses most fields.
const schemaNotes = `{"document":{"id":"runbook","semantic_identifier":"Rollback runbook","source":"confluence","sections":[{"text":"Roll back with deployctl.","link":"https://wiki.acme.example/runbook"}],"metadata":{"team":"infra","labels":["a","b"]},"primary_owners":[{"display_name":"Jo"}],"doc_updated_at":"2026-03-01T10:00:00Z"}}
`

// TestSchemas runs each command that prints JSON, and compares what it prints with its schema. A command that is not
// among the runs fails the test, as does a key that is not described.
func TestSchemas(t *testing.T) {
	h := newHome(t)
	model := llmtest.New().On(llmtest.Containing("You answer questions"), llmtest.Text("Use deployctl [1]."),
		llmtest.Status(http.StatusInternalServerError, "broken")).On(llmtest.Any(), llmtest.Text("roll back"))
	defer model.Close()
	h.write("config/quarry/config.yaml", "llm:\n  default: test/one\n  providers:\n    test:\n      base_url: "+model.BaseURL()+"\n      models: [one]\n")
	h.write("docs/guide.md", "# Guide\n\nDeploy on Tuesdays.\n\n## Rollback\n\nRoll back with deployctl.\n\n"+strings.Repeat("More words about deploys. ", 400))
	h.write("docs/latin.txt", "Stra\xdfe und Gr\xfc\xdfe\n")
	h.write("docs/picture.bin", "\x00\x01\x02")
	h.write("notes.jsonl", schemaNotes)
	guide := "file:" + filepath.Join(h.dir, "docs/guide.md")
	saved := h.checkAll([]printed{
		{schema: "status", arguments: "status"}, {schema: "validate-config", arguments: "validate-config", code: 3},
		{schema: "add", arguments: "add docs --set handbook"}, {schema: "add", arguments: "add notes.jsonl"},
		{schema: "sync", arguments: "sync --check"}, {schema: "search", arguments: "search deploy_roll_back"},
		{schema: "search", arguments: "search deploy --explain --limit 5"}, {schema: "search", arguments: "search nowheretobefound"},
		{schema: "search", arguments: "search deploy rollback -- -deploy", code: 2}, {schema: "search", arguments: "search deploy Tuesday"},
		{schema: "search", arguments: "search deploy Tuesday --max-output 700"}, {schema: "search", arguments: "search deploy --max-output 1"},
		{schema: "search-ndjson", arguments: "search deploy Tuesday --format ndjson"},
		{schema: "search-ndjson", arguments: "search deploy --format ndjson --explain --max-output 900"},
		{schema: "read", arguments: "read " + guide}, {schema: "read", arguments: "read " + guide + "#0"}, {schema: "read", arguments: "read runbook --outline"},
		{schema: "read", arguments: "read " + guide + " runbook nowhere#1"}, {schema: "read", arguments: "read " + guide + " runbook --outline"},
		{schema: "read", arguments: "read " + guide + " --max-output 500"}, {schema: "collection", arguments: "collection"},
		{schema: "sources", arguments: "sources"}, {schema: "agents", arguments: "agents"}, {schema: "document-sets", arguments: "document-sets"},
		{schema: "tags", arguments: "tags"}, {schema: "status", arguments: "status --check"}, {schema: "validate-config", arguments: "validate-config"},
		{schema: "version", arguments: "version"}, {schema: "schema", arguments: "schema"},
		{schema: "ask", arguments: "ask how_do_we_roll_back"}, {schema: "ask", arguments: "ask how_do_we_roll_back", code: 8},
		{schema: "config-path", arguments: "config path"}, {schema: "config-list", arguments: "config list"},
		{schema: "config-get", arguments: "config get llm.default"}, {arguments: "config set theme dark"},
		{schema: "admin-user-add", arguments: "admin user add jo@acme.example"}, {schema: "admin-user-list", arguments: "admin user list"},
		{schema: "admin-group-add", arguments: "admin group add Eng --user jo@acme.example"}, {schema: "admin-group-list", arguments: "admin group list"},
		{schema: "admin-connector-add", arguments: "admin connector add Wiki --source confluence --group Eng"},
		{schema: "admin-connector-list", arguments: "admin connector list"},
		{schema: "admin-document-set-add", arguments: "admin document-set add Manuals --connector Wiki"},
		{schema: "admin-document-set-list", arguments: "admin document-set list"},
		{schema: "admin-agent-add", arguments: "admin agent add Helper --document-set Manuals"},
		{schema: "admin-agent-list", arguments: "admin agent list"}, {schema: "agents", arguments: "agents"},
		{schema: "admin-tenant-add", arguments: "admin tenant add other"}, {schema: "admin-tenant-list", arguments: "admin tenant list"},
		{schema: "admin-tenant-remove", arguments: "admin tenant remove other"},
		{schema: "admin-token-add", arguments: "admin token add cli --user jo@acme.example --expires 9"},
		{schema: "admin-token-add", arguments: "admin token add limited --scope read:search"},
		{schema: "admin-token-list", arguments: "admin token list"}, {schema: "install-skill", arguments: "install-skill"},
		{schema: "admin-token-ensure", arguments: "admin token ensure --sandbox --user jo@acme.example --url https://search.acme.example"},
		{schema: "skill-render", arguments: "skill render --dir skills"},
		{schema: "admin-token-remove", arguments: "admin token remove 1"}, {schema: "admin-agent-remove", arguments: "admin agent remove Helper"},
		{schema: "admin-document-set-remove", arguments: "admin document-set remove Manuals"},
		{schema: "admin-connector-remove", arguments: "admin connector remove Wiki"},
		{schema: "admin-group-remove", arguments: "admin group remove Eng --user jo@acme.example"},
		{schema: "admin-group-remove", arguments: "admin group remove 1"},
		{schema: "admin-user-deactivate", arguments: "admin user deactivate jo@acme.example"},
		{schema: "admin-user-activate", arguments: "admin user activate jo@acme.example"},
		{schema: "admin-user-remove", arguments: "admin user remove jo@acme.example"}, {schema: "remove", arguments: "remove docs"},
		{schema: "migrate", arguments: "migrate --to postgres", code: 9}, // with a database: TestMigratedLibrary
	})
	for _, command := range cli.Commands() {
		ran := func(run printed) bool { return run.schema == command.Schema && run.schema != "" }
		if command.Schema != "" && !slices.ContainsFunc(saved, ran) { // those of newer commands are in the matrix
			row := rows()[command.Path][0]
			if row.code(configured) != 0 {
				t.Errorf("%s prints JSON in no run that succeeds", command.Path)
			}
			h.checkAll([]printed{{schema: command.Schema, arguments: command.Path + " " + strings.Join(row.args, " ")}})
		}
	}
	got := h.run("", "schema", "serach")
	if got.code != 2 || !strings.Contains(got.stderr, `Did you mean "search"?`) {
		t.Errorf("an unknown name: %+v", got)
	}
}

// checkAll runs commands with --json in the folder of the home, and returns them.
func (h home) checkAll(runs []printed) []printed {
	h.t.Helper()
	for _, run := range runs {
		arguments := strings.Fields(run.arguments)
		for i := range arguments {
			if !strings.Contains(arguments[i], "/") {
				arguments[i] = strings.ReplaceAll(arguments[i], "_", " ")
			}
		}
		if !slices.Contains(arguments, "--format") {
			arguments = append([]string{"--json"}, arguments...)
		}
		process := h.inside(arguments...)
		process.Env = append(process.Env, sandboxKey)
		got := runInside(h.t.Context(), process, run.stdin)
		if got.code != run.code {
			h.t.Fatalf("%s: exit %d, want %d\n%s\n%.2000s", run.arguments, got.code, run.code, got.stderr, got.stdout)
		}
		switch {
		case run.schema != "" && (run.code == 0 || got.stdout != ""):
			h.conforms(run.schema, got.stdout)
		case run.schema == "" && got.stdout != "":
			h.t.Errorf("%s: printed %s", run.arguments, got.stdout)
		}
	}
	return runs
}

// TestSchemasOfServers compares what is printed of an Onyx, and of a quarry that is served elsewhere, with the schemas.
func TestSchemasOfServers(t *testing.T) {
	onyx := newOnyx()
	defer onyx.Close()
	h := newHome(t)
	h.write("note.md", "# Rollback\n\nRoll back with deployctl.\n")
	h.must("add", filepath.Join(h.dir, "note.md"))
	var made struct{ Token string }
	decode(t, h.must("admin", "token", "add", "--name", "x", "--json"), &made)
	profiles := "profiles:\n  onyx:\n    server_url: %s\n    token: onyx_pat_test\n  far:\n    server_url: %s\n    token: %s\n"
	h.write("config/quarry/config.yaml", fmt.Sprintf(profiles, onyx.URL, serveHTTP(t, h), made.Token))
	for _, profile := range []string{"onyx", "far"} {
		runs := []printed{{schema: "search", arguments: "search deploy"}, {schema: "search", arguments: "search deploy rollback --explain"},
			{schema: "search-ndjson", arguments: "search deploy rollback --format ndjson"},
			{schema: "search", arguments: "search deploy --also " + map[string]string{"onyx": "far", "far": "onyx"}[profile]},
			{schema: "sources", arguments: "sources"}, {schema: "agents", arguments: "agents"}, {schema: "document-sets", arguments: "document-sets"},
			{schema: "tags", arguments: "tags"}, {schema: "status", arguments: "status"}, {schema: "version", arguments: "version"},
			{schema: "validate-config", arguments: "validate-config"}}
		switch profile {
		case "onyx":
			runs = append(runs, printed{schema: "ask", arguments: "ask how_do_we_roll_back?"})
		case "far":
			runs = append(runs, printed{schema: "read", arguments: "read file:" + filepath.Join(h.dir, "note.md")},
				printed{schema: "admin-token-list", arguments: "admin token list"})
		}
		for i := range runs {
			runs[i].arguments += " --profile " + profile
		}
		h.checkAll(runs)
	}
}

// TestSchemasDescribeKeys shows that the comparison fails for a key that no schema has, and without one that is required.
func TestSchemasDescribeKeys(t *testing.T) {
	h := newHome(t)
	for name, output := range map[string]string{"version": h.must("version", "--json"), "search": h.must("search", "expense", "--sample"),
		"sources": h.must("sources", "--sample")} {
		for _, change := range []string{`{"further":1,"`, `{"renamed_`} {
			var value any
			decode(t, strings.Replace(output, `{"`, change, 1), &value)
			if violation(h.schemaOf(name), value) == nil {
				t.Errorf("%s allows %s", name, change)
			}
		}
		h.conforms(name, output)
	}
}

// TestSchemaOfPick compares what --pick prints with its schema.
func TestSchemaOfPick(t *testing.T) {
	h := newHome(t)
	command := h.detached("sh", "-c", `"$0" --sample --pick -o json "roll back" >picked 2>&1; echo "exit $?"`, binary(h.t))
	command.Dir = h.dir
	screen := screentest.StartCommand(t, command, usual())
	screen.WaitText("↵ choose")
	screen.Press("enter")
	if got := leaves(t, screen); got != "exit 0" {
		t.Fatal(got)
	}
	output, err := os.ReadFile(filepath.Join(h.dir, "picked"))
	if err != nil {
		t.Fatal(err)
	}
	h.conforms("pick", string(output))
}
