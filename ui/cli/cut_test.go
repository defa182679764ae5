package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"quarry/internal/testkit/longtest"
	"quarry/internal/text"
	"quarry/ui/state"
	"quarry/ui/target"
)

// hostileText returns a text of at most that many characters: of one to four bytes, quotes, markup, escapes of terminals,
// line ends of all kinds and directions of writing.
func hostileText(random *rand.Rand, most int) string {
	letters := []rune("abc ab <&>\"\\\n\r\t\x00\x1b[31m\u202e\u2028é本👩\ufffd# |`")
	runes := make([]rune, random.IntN(most+1))
	for i := range runes {
		runes[i] = letters[random.IntN(len(letters))]
	}
	return string(runes)
}

// hostileServer answers every route with random texts, some of them large.
func hostileServer(t *testing.T, random *rand.Rand) testMachine {
	t.Helper()
	s := newOnyx(t)
	short := func() string { return "x" + hostileText(random, 30) }
	long := func() string {
		if random.IntN(4) == 0 {
			return hostileText(random, 20_000)
		}
		return hostileText(random, 300)
	}
	list := func(most int, item func(i int) map[string]any) []map[string]any {
		items := []map[string]any{}
		for i := range random.IntN(most + 1) {
			items = append(items, item(i))
		}
		return items
	}
	encode := func(value any) []byte {
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	answers := map[string]any{
		"/search": map[string]any{"results": list(8, func(i int) map[string]any {
			id := "d" + strconv.Itoa(i)
			return map[string]any{"citation_id": i + 1, "title": short(), "content": long(), "link": short(), "source_type": "web", "updated_at": nil,
				"document_id": id, "ref": id + "#0", "authors": []string{short()}, "metadata": map[string]any{short(): []string{long()}},
				"heading_path": []string{short()}, "highlights": [][]int{{0, 3}}, "best_passage": []int{0, 2}, "blurb": short(), "chunk_count": 1}
		}), "stages": []any{map[string]any{"name": "cite", "outcome": "ok"}}, "notes": list(3, func(int) map[string]any {
			return map[string]any{"code": "no_model", "text": short()}
		}), "total_matches": 8},
		"/persona": list(8, func(i int) map[string]any {
			return map[string]any{"id": i, "name": short(), "description": long(), "is_listed": true}
		}),
		"/manage/document-set": list(8, func(i int) map[string]any {
			return map[string]any{"id": i, "name": short(), "description": long(), "cc_pair_summaries": []any{}}
		}),
		"/query/valid-tags": map[string]any{"tags": list(8, func(int) map[string]any {
			return map[string]any{"tag_key": short(), "tag_value": short(), "source": "web"}
		})},
		"/document/chunks": map[string]any{"document": map[string]any{"id": "d", "title": short(), "link": nil, "source_type": "web", "updated_at": nil,
			"authors": []string{short()}, "chunk_count": 5, "outline": list(30, func(i int) map[string]any {
				return map[string]any{"level": 1 + i%6, "text": short(), "chunk_ind": i % 5}
			})}, "chunks": []any{map[string]any{"chunk_ind": 0, "content": long()}, map[string]any{"chunk_ind": 1, "content": long()},
			map[string]any{"chunk_ind": 2, "content": long()}, map[string]any{"chunk_ind": 3, "content": long()}, map[string]any{"chunk_ind": 4, "content": long()}}},
		"/library/status": map[string]any{"documents": 3, "version": short(), "roots": list(8, func(int) map[string]any {
			return map[string]any{"path": short(), "source": "file", "documents": 1, "synced_at": "2026-08-01T00:00:00Z"}
		}), "skipped": list(50, func(int) map[string]any { return map[string]any{"path": short(), "reason": short()} })},
	}
	for route, answer := range answers {
		s.on(route, body(http.StatusOK, encode(answer)))
	}
	document := encode(answers["/document/chunks"])
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Query().Get("document_id"), "#") {
			http.NotFound(w, r)
			return
		}
		body(http.StatusOK, document)(w, r)
	})
	lines := []string{}
	for range random.IntN(20) {
		lines = append(lines, string(encode(map[string]any{"type": "skipped", "path": short(), "reason": short()})))
	}
	s.on("/library/add", stream(append(lines, doneLine)...))
	lines = nil
	for range random.IntN(20) {
		lines = append(lines, string(encode(map[string]any{"obj": map[string]any{"type": "message_delta", "content": long()}})))
	}
	s.on("/chat/send-chat-message", stream(append(lines, `{"obj":{"type":"stop","stop_reason":null}}`)...))
	machine := testDoors(s.URL)
	machine.State = collecting(t, random.IntN(8)).State
	if _, err := machine.State(target.Choice{}).Change(func(stored *state.State) error {
		for i := range stored.Collection {
			stored.Collection[i].Content, stored.Collection[i].Note = text.Clip(long(), 8000), short()
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return machine
}

// cutRuns are the commands whose output is cut, by what must be left of it: a JSON value, JSON lines, or text.
func cutRuns() map[string][]string {
	return map[string][]string{
		"value": {"search q", "search q --explain", "search q r", "search q --fields title,ref", "search q --indent", "sources", "agents", "document-sets", "tags",
			"read d --json", "read d#1 --json --around 1", "read d --outline --json", "read d e --json", "status", "collection", "schema", "admin user list"},
		"lines": {"search q --format ndjson", "search q r --format ndjson --explain", "ask q --json", "add . --json"},
		"text": {"search q --format md", "search q --format text", "search q --format tsv", "search q r --format agent", "read d", "read d#1 --around 1", "read d e",
			"read d --outline", "ask q", "collection --format md", "collection --format csv", "agents --jq .[].description", "search q --template {{.}}"},
	}
}

// TestEveryCutParses cuts the output of each command: at a limit where something begins to change, another one for each
// command, and at random ones.
func TestEveryCutParses(t *testing.T) {
	for seed := range uint64(longtest.Rounds(1, 4)) {
		random := rand.New(rand.NewPCG(seed, 14))
		machine := hostileServer(t, random)
		at := 0 // of all commands
		for kind, commands := range cutRuns() {
			for _, command := range commands {
				c := &cutRun{t: t, machine: machine, kind: kind, command: command}
				c.whole = run(t, machine, terminal{}, append(strings.Fields(command), "--max-output", "0")...).check(t, ExitSuccess).out
				limits := []int{1, 2, 3, len(c.whole) - 1, len(c.whole), len(c.whole) + 1}
				if at++; !longtest.Enabled() {
					limits = limits[at%len(limits):][:1]
				}
				for i := range longtest.Rounds(1, 4) {
					limits = append(limits, 1+random.IntN([]int{1200, len(c.whole) + 2}[(at+i)%2]))
				}
				for _, limit := range limits {
					c.atMost("--max-output", max(1, limit), func(output string) int { return len(output) })
				}
				c.atMost("--budget", 1+random.IntN(400), text.EstimateTokens)
			}
		}
	}
}

// cutRun is a command, and its output without a limit.
type cutRun struct {
	t                    *testing.T
	machine              testMachine
	kind, command, whole string
}

func (c *cutRun) atMost(flag string, limit int, measure func(string) int) {
	c.t.Helper()
	dir := c.t.TempDir()
	old := oldCopy(c.t, dir)
	output := run(c.t, c.machine, terminal{dir: dir}, append(strings.Fields(c.command), flag, strconv.Itoa(limit))...).check(c.t, ExitSuccess).out
	name := fmt.Sprintf("%s %s %d", c.command, flag, limit)
	values := c.parse(name, output)
	isCut, overlong := output != c.whole, measure(output) > limit
	switch {
	case isCut != (measure(c.whole) > limit) && c.whole != "[]\n":
		c.t.Errorf("%s: cut %t, of %d bytes", name, isCut, len(c.whole))
	case overlong && c.kind == "value" && output != "[]\n" && shownResults(values) != 0:
		c.t.Errorf("%s: %d bytes with %d results", name, len(output), shownResults(values))
	case overlong && c.kind == "lines" && len(values) > 1:
		c.t.Errorf("%s: %d bytes in %d lines", name, len(output), len(values))
	case overlong && c.kind == "text" && c.command != "ask q" && strings.Count(output, "\n") > 5: // the last line, and a heading for each query
		c.t.Errorf("%s: printed %d bytes: %q", name, len(output), output)
	}
	c.checkCopy(name, dir, old, output)
}

// oldCopy makes a copy that is removed with the next one.
func oldCopy(t *testing.T, dir string) (folder string) {
	t.Helper()
	path, err := writeCopy(dir, "old", "txt", "old")
	if err == nil {
		folder = filepath.Dir(path)
		err = os.Chtimes(folder, today(), today().Add(-copyAge))
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// parse returns the values of an output.
func (c *cutRun) parse(name, output string) (values []map[string]any) {
	if !utf8.ValidString(output) {
		c.t.Fatalf("%s: not UTF-8", name)
	}
	if c.kind == "text" {
		return nil
	}
	parts := []string{output}
	if c.kind == "lines" {
		parts = strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	}
	for _, part := range parts {
		var value any
		if err := json.Unmarshal([]byte(part), &value); err != nil {
			c.t.Fatalf("%s: %v\n%.2000s", name, err, output)
		}
		if one, isObject := value.(map[string]any); isObject {
			values = append(values, one)
		}
	}
	return values
}

// shownResults returns how many results the description of a cut counts; -1 without one.
func shownResults(values []map[string]any) int {
	if len(values) == 1 {
		if note, isCut := values[0]["truncation"].(map[string]any); isCut {
			return int(note["shown_results"].(float64))
		}
	}
	return -1
}

// checkCopy checks that a copy is complete, that nobody else can read it, and that it takes the place of an old one.
func (c *cutRun) checkCopy(name, dir, old, output string) {
	c.t.Helper()
	copies, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if len(copies) == 1 && filepath.Dir(copies[0]) == old {
		copies = nil
	}
	if err != nil || len(copies) > 1 {
		c.t.Fatalf("%s: copies %v, %v", name, copies, err)
	}
	if len(copies) == 0 {
		isPrivate := strings.HasPrefix(c.command, "admin") || c.command == "schema"
		isBudget := strings.Contains(name, " --budget ")
		if isEvents := c.kind == "lines" && !strings.HasPrefix(c.command, "search"); output != c.whole && !isEvents && !isPrivate && !isBudget && c.command != "ask q" {
			c.t.Errorf("%s: no copy", name)
		}
		return
	}
	if strings.Contains(name, " --budget ") {
		c.t.Errorf("%s: kept a copy", name)
	}
	kept, err := os.ReadFile(copies[0])
	if err != nil || string(kept) != c.whole {
		c.t.Errorf("%s: the copy has %d bytes of %d: %v", name, len(kept), len(c.whole), err)
	}
	for place, mode := range map[string]os.FileMode{copies[0]: 0o600, filepath.Dir(copies[0]): 0o700 | os.ModeDir} {
		if info, err := os.Lstat(place); err != nil || info.Mode() != mode {
			c.t.Errorf("%s: %s: %v %v", name, place, info.Mode(), err)
		}
	}
	if !slices.Contains([]string{"value", "lines"}, c.kind) {
		return
	}
	if path := `"full_response_path":`; strings.Contains(output, path) && !strings.Contains(output, filepath.Base(filepath.Dir(copies[0]))) {
		c.t.Errorf("%s names another copy: %.1000s", name, output)
	}
}
