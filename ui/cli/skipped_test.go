package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestSkippedKindsAreOneLine(t *testing.T) {
	svg, png := wire.ReasonNotRead(".svg"), wire.ReasonNotRead(".png")
	var lines []string
	for range 30 {
		lines = append(lines, `{"type":"skipped","path":"/n/a.svg","reason":"`+svg+`"}`)
	}
	lines = append(lines, `{"type":"skipped","path":"/n/a.png","reason":"`+png+`"}`,
		`{"type":"skipped","path":"/n/x.md","reason":"it is empty"}`, `{"type":"done","added":1,"skipped":32}`)
	s := newOnyx(t)
	s.on("/library/add", stream(lines...))
	s.on("/library/sync", stream(lines...))
	folder := t.TempDir()
	got := run(t, localDoors(s.URL), terminal{}, "add", folder).check(t, ExitSuccess)
	if !strings.Contains(got.err, "31 skipped (unsupported types): 30 .svg, 1 .png\n") ||
		!strings.Contains(got.err, "skipped /n/x.md: it is empty") || strings.Contains(got.err, "/n/a.svg") {
		t.Errorf("stderr %s", got.err)
	}
	got = run(t, localDoors(s.URL), terminal{}, "sync").check(t, ExitSuccess)
	if !strings.Contains(got.err, "31 skipped (unsupported types): 30 .svg, 1 .png\n") || !strings.Contains(got.err, "/n/x.md") || !strings.Contains(got.out, "32 files skipped") {
		t.Errorf("stdout %s, stderr %s", got.out, got.err)
	}
	got = run(t, localDoors(s.URL), terminal{}, "add", folder, "--json").check(t, ExitSuccess)
	if strings.Count(got.out, "/n/a.svg") != 30 {
		t.Errorf("stdout %s", got.out)
	}
}

func TestNamedFileThatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "logo.svg")
	if err := os.WriteFile(file, []byte("<svg/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newOnyx(t)
	s.on("/library/add", stream(`{"type":"skipped","path":"`+file+`","reason":"quarry does not read .svg files"}`, `{"type":"done","skipped":1}`))
	got := run(t, localDoors(s.URL), terminal{}, "add", file).check(t, ExitGeneral)
	if !strings.Contains(got.err, "error: cannot add "+file+": quarry does not read .svg files") || strings.Contains(got.err, "Searches now go") {
		t.Errorf("stderr %s", got.err)
	}
	run(t, localDoors(s.URL), terminal{}, "add", filepath.Dir(file)).check(t, ExitSuccess)
}

func TestUnknownSourceOfAddNamesTheOthers(t *testing.T) {
	s := newOnyx(t)
	run(t, localDoors(s.URL), terminal{}, "add", ".", "--as", "nope").check(t, ExitUsage).twoLines(t, "confluence, ", "slack")
	run(t, localDoors(s.URL), terminal{}, "add", ".", "--as", "slak").check(t, ExitUsage).twoLines(t, `Did you mean "slack"?`)
}

func TestAssumedEncodingsAreListed(t *testing.T) {
	var lines []string
	for range skipsShown + 3 {
		lines = append(lines, `{"type":"assumed","path":"/n/caf.txt","encoding":"windows-1252"}`)
	}
	lines = append(lines, `{"type":"done","added":23}`)
	s := newOnyx(t)
	s.on("/library/add", stream(lines...))
	folder := t.TempDir()
	got := run(t, localDoors(s.URL), terminal{}, "add", folder).check(t, ExitSuccess)
	if strings.Count(got.err, "assumed windows-1252: /n/caf.txt\n") != skipsShown ||
		!strings.Contains(got.err, "and 3 more assumed encodings; --json lists all of them") {
		t.Errorf("stderr %s", got.err)
	}
	got = run(t, localDoors(s.URL), terminal{}, "add", folder, "--json").check(t, ExitSuccess)
	if strings.Count(got.out, lines[0]) != skipsShown+3 {
		t.Errorf("stdout %s", got.out)
	}
}

func TestStatusCountsUnsupportedTypes(t *testing.T) {
	got := fileLists(libraryReport{LibraryStatus: wire.LibraryStatus{SkippedFiles: 1, Skipped: []wire.SkippedFile{{Path: "/n/x.md", Reason: "it is empty"}},
		SkippedTypes: []wire.SkippedType{{Type: ".doc", Files: 5}, {Type: ".msg", Files: 4}}}})
	if want := "\nskipped /n/x.md: it is empty\n9 skipped (unsupported types): 5 .doc, 4 .msg\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWhatFoldersLeaveOutIsCounted(t *testing.T) {
	s := newOnyx(t)
	s.on("/library/add", stream(`{"type":"done","added":1,"left_out":{"ignored_files":1200,"ignored_folders":1,"hidden_files":2,"hidden_folders":1,"links":3}}`))
	const want = "not read: 1,200 ignored files, 1 ignored folder, 2 hidden files, 1 hidden folder, 3 links\n"
	if got := run(t, localDoors(s.URL), terminal{}, "add", t.TempDir()).check(t, ExitSuccess); !strings.Contains(got.err, want) {
		t.Errorf("stderr %s", got.err)
	}
	got := fileLists(libraryReport{LibraryStatus: wire.LibraryStatus{LeftOut: wire.LeftOut{Links: 1}}})
	if got != "\nnot read: 1 link\n" {
		t.Errorf("status: %q", got)
	}
}

func TestDryRunsAreTables(t *testing.T) {
	asked := wire.AddRequest{}
	s := newOnyx(t)
	s.on("/library/add", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		stream(progressLine, `{"type":"format","kind":"md","added":1,"updated":2,"removed":0,"unchanged":1200,"skipped":3}`,
			`{"type":"done","added":1,"updated":2,"unchanged":1200,"skipped":3}`)(w, r)
	})
	got := run(t, localDoors(s.URL), terminal{}, "add", t.TempDir(), "--dry-run").check(t, ExitSuccess)
	want := "FORMAT  ADD  UPDATE  REMOVE  UNCHANGED  SKIPPED FILES\nmd      1    2       0       1,200      3\n\n" +
		"Documents: 1 to add, 2 to update, 1,200 unchanged. 3 files skipped. Nothing was stored (dry run).\n"
	if got.out != want || !asked.DryRun || strings.Contains(got.err, "Searches now go") {
		t.Errorf("stdout %s\nstderr %s\nasked %+v", got.out, got.err, asked)
	}
	got = run(t, localDoors(s.URL), terminal{}, "add", t.TempDir(), "--dry-run", "--json").check(t, ExitSuccess)
	if !strings.Contains(got.out, `{"type":"format","kind":"md","added":1,"updated":2,"removed":0,"unchanged":1200,"skipped":3}`+"\n") ||
		!strings.Contains(got.out, `"dry_run":true`) || strings.Contains(got.out, "searches_go_to") {
		t.Errorf("stdout %s", got.out)
	}
}

func TestDocumentsFromStandardInput(t *testing.T) {
	asked := wire.AddRequest{}
	s := newOnyx(t)
	s.on("/library/add", func(w http.ResponseWriter, r *http.Request) {
		asked = wire.AddRequest{}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		stream(`{"type":"done","added":1}`)(w, r)
	})
	run(t, localDoors(s.URL), terminal{in: "walrus\xff"}, "add", "-", "--title", " My  plan ", "--set", "x", "--as", "slack").check(t, ExitSuccess)
	if string(asked.Content) != "walrus\xff" || asked.Title != "My plan" || asked.Set != "x" || asked.As != "slack" || asked.Paths != nil {
		t.Errorf("asked %+v", asked)
	}
	for _, c := range []struct {
		arguments []string
		what      string
	}{
		{[]string{"-"}, "missing --title"}, {[]string{"-", "--title", " "}, "--title is empty"},
		{[]string{"-", "x", "--title", "y"}, "exclude each other"}, {[]string{"x", "--title", "y"}, "only for documents from standard input"},
	} {
		run(t, localDoors(s.URL), terminal{in: "x"}, append([]string{"add"}, c.arguments...)...).check(t, ExitUsage).twoLines(t, c.what)
	}
	large := strings.Repeat("x", wire.MaxContent+1)
	run(t, localDoors(s.URL), terminal{in: large}, "add", "-", "--title", "x").check(t, ExitUsage).twoLines(t, "larger than 32 MB", "add FILE")
	s.on("/library/add", stream(`{"type":"skipped","path":"stdin:x","reason":"it contains no text"}`, `{"type":"done","skipped":1}`))
	got := run(t, localDoors(s.URL), terminal{}, "add", "-", "--title", "x").check(t, ExitGeneral)
	if !strings.Contains(got.err, "error: cannot add stdin:x: it contains no text") {
		t.Errorf("stderr %s", got.err)
	}
}

func TestAddressesAreAddedAsTheyAre(t *testing.T) {
	const address = "https://docs.acme.example/sitemap.xml"
	asked := wire.AddRequest{}
	s := newOnyx(t)
	s.on("/library/add", func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		stream(`{"type":"skipped","path":"`+address+`","reason":"robots.txt does not allow it"}`, `{"type":"done","skipped":1}`)(w, r)
	})
	got := run(t, localDoors(s.URL), terminal{}, "add", address).check(t, ExitGeneral)
	if len(asked.Paths) != 1 || asked.Paths[0] != address || !strings.Contains(got.err, "error: cannot add "+address+": robots.txt does not allow it\nhint: Open the address") {
		t.Errorf("asked %+v, stderr %s", asked, got.err)
	}
	for address, what := range map[string]string{"https://jo:secret@acme.example/": "a user name or password", "http://": "not a valid address"} {
		got := run(t, localDoors(s.URL), terminal{}, "add", address).check(t, ExitUsage)
		got.twoLines(t, what)
		if strings.Contains(got.err, "secret") {
			t.Errorf("stderr %s", got.err)
		}
	}
}

// TestStatusOfAnEngine: what is wrong with an engine, and what it rejects.
func TestStatusOfAnEngine(t *testing.T) {
	a := &app{}
	got := a.statusText(statusReport{library: libraryReport{Exists: true, LibraryStatus: wire.LibraryStatus{Engine: "weaviate w1:8080,w2:8080",
		EngineProblem:      "w1:8080: connection refused; start Weaviate\nw2:8080: no answer in time; check the firewall",
		UnindexedDocuments: 2, Unindexed: []wire.UnindexedDocument{{ID: "FILE__9", Reason: "vector lengths differ"}}}}})
	for _, want := range []string{"weaviate w1:8080,w2:8080\n", "w1:8080: connection refused; start Weaviate\n", "w2:8080: no answer",
		"the engine rejected 2 documents", "FILE__9: vector lengths differ"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
}
