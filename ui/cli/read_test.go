package cli

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/text"

	"quarry/client/wire"
)

// handbook answers for one document of four passages, which is the file /hr/leave.md.
func handbook(t *testing.T) (s *fakeServer, asked *[]string) {
	t.Helper()
	s, asked = newOnyx(t), new([]string)
	chunks := []string{
		`{"chunk_ind":0,"content":"# Leave\n\nPaid.","heading_path":["Leave"],"lines":[3,5],"bytes":[10,24]}`,
		`{"chunk_ind":1,"content":"## Parents\n\nSixteen weeks.\n\n## Study","heading_path":["Leave"],"lines":[7,11],"bytes":[26,60]}`,
		`{"chunk_ind":2,"content":"Five days.","heading_path":["Leave"],"lines":[13,13],"bytes":[62,72]}`,
		`{"chunk_ind":3,"content":"# End\n\nAsk.","heading_path":["End"],"lines":[15,17],"bytes":[74,90]}`,
	}
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		values := r.URL.Query()
		*asked = append(*asked, values.Get("document_id"))
		if id := values.Get("document_id"); id != "file:/hr/leave.md" && id != "https://wiki.example/leave" {
			body(http.StatusNotFound, fixture(t, "error-404-document.json"))(w, r)
			return
		}
		var from, to int
		if json.Unmarshal([]byte(values.Get("from")), &from) != nil || json.Unmarshal([]byte(values.Get("to")), &to) != nil {
			t.Errorf("asked for %s", r.URL)
		}
		body(http.StatusOK, []byte(`{"document":{"id":"file:/hr/leave.md","title":"Leave","link":"https://wiki.example/leave","source_type":"file","updated_at":null,"authors":[],"chunk_count":4,"outline":[{"level":1,"text":"Leave","chunk_ind":0},{"level":2,"text":"Parents","chunk_ind":1},{"level":2,"text":"Study","chunk_ind":1},{"level":1,"text":"End","chunk_ind":3}]},"chunks":[`+
			strings.Join(chunks[min(from, 4):min(to+1, 4)], ",")+`]}`))(w, r)
	})
	return s, asked
}

func TestReadTakesWhatWasPrinted(t *testing.T) {
	s, _ := handbook(t)
	for argument, want := range map[string]string{
		"file:/hr/leave.md#2":                "Five days.\n",
		"file:/hr/leave.md#2-3":              "Five days.\n\n# End\n\nAsk.\n",
		"/hr/leave.md#2":                     "Five days.\n",
		"/hr/../hr/leave.md#2":               "Five days.\n",
		"https://wiki.example/leave#study":   "## Study\n\nFive days.\n",
		"https://wiki.example/leave#nowhere": "# Leave\n\nPaid.\n\n## Parents",
		"file:///hr/leave.md":                "# Leave\n\nPaid.\n\n## Parents",
	} {
		if filepath.Separator != '/' && strings.HasPrefix(argument, "/") {
			continue
		}
		got := run(t, testDoors(s.URL), terminal{}, "read", argument).check(t, ExitSuccess)
		if !strings.Contains(got.out, want) {
			t.Errorf("%s printed %s", argument, got.out)
		}
	}
	run(t, testDoors(s.URL), terminal{}, "read", "leave.md").check(t, ExitNotAvailable).twoLines(t, "read leave.md", "Document not found")
	run(t, testDoors(s.URL), terminal{}, "read", "file:/hr/leave.md#9").check(t, ExitNotAvailable).twoLines(t, "the document has 4 passages")
}

// A guest's argument is never a path of this machine.
func TestGuestsReadNoPaths(t *testing.T) {
	s, asked := handbook(t)
	run(t, guestDoors(t, s.URL), terminal{}, "read", "/hr/leave.md").check(t, ExitNotAvailable)
	run(t, guestDoors(t, s.URL), terminal{}, "read", "file:///hr/leave.md").check(t, ExitNotAvailable)
	for _, id := range *asked {
		if id == "file:/hr/leave.md" {
			t.Errorf("asked for %q", *asked)
		}
	}
	run(t, guestDoors(t, s.URL), terminal{}, "read", "file:/hr/leave.md").check(t, ExitSuccess)
}

func TestReadParts(t *testing.T) {
	s, _ := handbook(t)
	const ref = "file:/hr/leave.md"
	for arguments, want := range map[string]string{
		"--section parents":       "## Parents\n\nSixteen weeks.\n",
		"--section Study":         "## Study\n\nFive days.\n",
		"--section leave":         "# Leave\n\nPaid.\n\n## Parents\n\nSixteen weeks.\n\n## Study\n\nFive days.\n",
		"--lines 9:13":            "lines 9-13 · passages #1 to #2 of 4 · previous #0, next #3\n<https://wiki.example/leave>\n\nSixteen weeks.\n\n## Study\n\nFive days.\n",
		"--lines 15-":             "# End\n\nAsk.\n",
		"--outline":               "- Leave #0\n  - Parents #1\n  - Study #1\n- End #3\n",
		"--around 1 --lines 1:2":  "",
		"--section none":          "",
		"--lines 0:3":             "",
		"--lines 5:3":             "",
		"--lines x":               "",
		"--lines 99:":             "",
		"--section x --lines 1:2": "",
	} {
		got := run(t, testDoors(s.URL), terminal{}, append([]string{"read", ref}, strings.Fields(arguments)...)...)
		if want == "" {
			got.check(t, ExitUsage).twoLines(t)
		} else if got.check(t, ExitSuccess); !strings.HasSuffix(got.out, want) {
			t.Errorf("%s printed %s", arguments, got.out)
		}
	}
	got := run(t, testDoors(s.URL), terminal{}, "read", ref+"#1", "--json").check(t, ExitSuccess)
	for _, part := range []string{`"lines":[7,11],"bytes":[26,60]`, `"previous":"file:/hr/leave.md#0"`, `"next":"file:/hr/leave.md#2"`} {
		if !strings.Contains(got.out, part) || strings.Contains(got.out, "outline") {
			t.Errorf("stdout %s", got.out)
		}
	}
	got = run(t, testDoors(s.URL), terminal{}, "read", ref, "--outline", "--json").check(t, ExitSuccess)
	if !strings.Contains(got.out, `{"level":2,"text":"Study","chunk_ind":1,"ref":"file:/hr/leave.md#1"}`) {
		t.Errorf("stdout %s", got.out)
	}
}

// The line that a citation names is said, and marked for a person.
func TestReadMarksTheCitedLine(t *testing.T) {
	s := newOnyx(t)
	s.on("/document/chunks", body(http.StatusOK, []byte(`{"document":{"id":"file:/hb/leave.md","title":"Leave","chunk_count":3,`+
		`"outline":[]},"passage":1,"chunks":[{"chunk_ind":1,"content":"\n## Who\n\nAsk early,\nor ask twice.\n\nIt is paid.\n",`+
		`"heading_path":[],"lines":[8,14]}]}`)))
	got := run(t, testDoors(s.URL), terminal{}, "read", "hb/leave.md:12").check(t, ExitSuccess)
	if !strings.Contains(got.out, "cited: line 12 · passage #1") || !strings.HasSuffix(got.out, "or ask twice.\n\nIt is paid.\n") {
		t.Errorf("stdout %s", got.out)
	}
	got = run(t, testDoors(s.URL), terminal{tty: true, width: 40}, "read", "hb/leave.md:11-12").check(t, ExitSuccess)
	if !strings.Contains(got.out, "cited: lines 11-12") || !strings.Contains(got.out, "\x1b[1;") {
		t.Errorf("stdout %q", got.out)
	}
}

// A hint leads to the same library.
func TestHintsOfReadKeepTheTarget(t *testing.T) {
	s, _ := handbook(t)
	for reason, arguments := range map[string][]string{
		"no number 9":       {"read", "file:/hr/leave.md#9"},
		`no section "none"`: {"read", "file:/hr/leave.md", "--section", "none"},
	} {
		got := run(t, testDoors(s.URL), terminal{}, append(arguments, "--library", "/my books")...)
		if got.code == ExitSuccess || !strings.Contains(got.err, reason) || !strings.Contains(got.err, " --library '/my books'\n") {
			t.Errorf("exit %d, stderr %s", got.code, got.err)
		}
	}
}

func TestReadSeveral(t *testing.T) {
	s, _ := handbook(t)
	got := run(t, testDoors(s.URL), terminal{}, "read", "file:/hr/leave.md#2", "nope", "file:/hr/leave.md#0").check(t, ExitSuccess)
	if !strings.Contains(got.out, "Five days.") || !strings.Contains(got.out, "Paid.") || !strings.Contains(got.out, "# nope\n\nFailed: ") ||
		!strings.Contains(got.err, "read nope") {
		t.Errorf("stdout %s\nstderr %s", got.out, got.err)
	}
	got = run(t, testDoors(s.URL), terminal{}, "read", "file:/hr/leave.md#2", "nope", "--json").check(t, ExitSuccess)
	var answer struct {
		Documents []struct {
			Ref, Error string
			Chunks     []struct{ Content string }
		}
		Schema int
	}
	if err := json.Unmarshal([]byte(got.out), &answer); err != nil || len(answer.Documents) != 2 || answer.Schema != schemaVersion ||
		answer.Documents[0].Chunks[0].Content != "Five days." || answer.Documents[1].Ref != "nope" || answer.Documents[1].Error == "" {
		t.Errorf("%v: %s", err, got.out)
	}
	run(t, testDoors(s.URL), terminal{}, "read", "nope", "neither").check(t, ExitNotAvailable).twoLines(t, "Document not found")
	saved := `{"type":"summary","event":{"sources":[{"citation_id":3,"document_id":"file:/hr/leave.md"}]}}`
	got = run(t, testDoors(s.URL), terminal{in: saved}, "read", "--from", "-", "[3]").check(t, ExitSuccess)
	if !strings.Contains(got.out, "Sixteen weeks.") {
		t.Errorf("stdout %s", got.out)
	}
}

// What does not fit is cut at the outer ends, and evenly where there are several documents.
func TestReadKeepsWhatWasNamed(t *testing.T) {
	s := newOnyx(t)
	s.on("/document/chunks", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("document_id") != "d" {
			body(http.StatusNotFound, fixture(t, "error-404-document.json"))(w, r)
			return
		}
		body(http.StatusOK, []byte(`{"document":{"id":"d","title":"T","link":null,"source_type":"file","updated_at":null,"authors":[],"chunk_count":3,"outline":[]},"chunks":[
{"chunk_ind":0,"content":"`+strings.Repeat("before ", 300)+`","heading_path":[]},{"chunk_ind":1,"content":"THE PASSAGE","heading_path":[]},{"chunk_ind":2,"content":"`+strings.Repeat("after ", 300)+`","heading_path":[]}]}`))(w, r)
	})
	got := run(t, testDoors(s.URL), terminal{}, "read", "d#1", "--around", "1", "--budget", "90").check(t, ExitSuccess)
	if !strings.Contains(got.out, "before \n\nTHE PASSAGE\n\nafter") && !strings.Contains(got.out, "before\n\nTHE PASSAGE\n\nafter") ||
		text.EstimateTokens(got.out) > 90 || !strings.Contains(got.out, "[cut") {
		t.Errorf("stdout %s", got.out)
	}
	got = run(t, testDoors(s.URL), terminal{}, "read", "d", "d", "--budget", "200").check(t, ExitSuccess)
	if parts := strings.Split(got.out, "# T"); len(parts) != 3 || len(parts[1]) < len(parts[2])/2 || text.EstimateTokens(got.out) > 200 {
		t.Errorf("stdout %s", got.out)
	}
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{"10:24", "3", ":5", "7-", "0:1", "99999999999999999999:1", "-1:2", ":"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, written string) {
		lines, err := parseLines(written)
		if err == nil && lines != nil && (lines.first < 1 || lines.last < lines.first) {
			t.Fatalf("%q is %+v", written, lines)
		}
	})
}

func FuzzRange(f *testing.F) {
	for _, seed := range []string{"d#1", "d#1-3", "d#3-1", "file:/a-b.md#2-", "#1-2", "-", "d#1-99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if id, first, last, ok := wire.SplitRange(ref); ok && (first < 0 || last < first || !strings.HasPrefix(ref, id+"#")) {
			t.Fatalf("%q is %q %d %d", ref, id, first, last)
		}
	})
}

// TestLongReferences: an unknown reference is not repeated at full length.
func TestLongReferences(t *testing.T) {
	s, _ := handbook(t)
	got := run(t, testDoors(s.URL), terminal{}, "read", strings.Repeat("x", 3_000))
	if got.code == ExitSuccess || len(got.err) > 1_000 || !strings.Contains(got.err, "read xxx") {
		t.Errorf("exit code %d, %d bytes: %.200s", got.code, len(got.err), got.err)
	}
}
