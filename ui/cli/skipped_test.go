package cli

import (
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
