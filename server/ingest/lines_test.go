package ingest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"quarry/client/wire"
)

// lineReasons are the reasons told of one file, in their order.
func (e *events) lineReasons(path string) []string {
	var reasons []string
	for _, event := range e.all {
		if event.Type == wire.LibrarySkipped && event.Path == path {
			reasons = append(reasons, event.Reason)
		}
	}
	return reasons
}

func TestBadLinesAreToldAgain(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"d/few.jsonl": line("a", "1") + "nonsense\tand\ttabs\n" + line("b", "2") + "{}\n",
		"d/all.jsonl": "nonsense\n[1]\n",
	})
	l.add(Options{}, "d")
	first := map[string][]string{}
	for name, want := range map[string]int{"d/few.jsonl": 2, "d/all.jsonl": 3} {
		first[name] = l.events.lineReasons(l.path(name))
		if len(first[name]) != want {
			t.Fatalf("%s: %q", name, first[name])
		}
	}
	again := func(what string, done wire.LibraryEvent) {
		t.Helper()
		for name, want := range first {
			if got := l.events.lineReasons(l.path(name)); !slices.Equal(got, want) {
				t.Errorf("%s: %s: %q, first %q", what, name, got, want)
			}
		}
		if done.Skipped != 1 || done.Unchanged != 2 {
			t.Errorf("%s: %+v", what, done)
		}
	}
	again("sync", l.sync())
	again("add", l.add(Options{}, "d"))
	moment := time.Now().Add(-time.Minute)
	for name := range first {
		must(t, os.Chtimes(l.path(name), moment, moment))
	}
	l.sync()
	for name := range first { // the same content as before at the time that it has now
		must(t, os.Chmod(l.path(name), 0o600))
	}
	again("sync of changed inodes", l.sync())
	again("sync after that", l.sync())

	l.write("d/few.jsonl", line("a", "1")+line("b", "2"))
	l.sync()
	l.sync()
	if got := l.events.lineReasons(l.path("d/few.jsonl")); len(got) > 0 {
		t.Errorf("after the lines were mended: %q", got)
	}
}

// TestManyBadLines: of lines with the same problem the first is reported, and of others a few; the rest are counted, also
// when the file is not read again. A file without a document is one problem.
func TestManyBadLines(t *testing.T) {
	various := ""
	for i := range mostRemembered + 10 {
		various += fmt.Sprintf("{\"doc_updated_at\":\"on day %d%s\"}\n", i, strings.Repeat("x", 2*longestValue))
	}
	l := newLibrary(t, map[string]string{"d/same.jsonl": strings.Repeat("{\"id\":7}\n", 250) + line("a", "1"),
		"d/various.jsonl": various + line("b", "1"), "d/none.jsonl": strings.Repeat("{\"id\":7}\n", 250)})
	l.add(Options{}, "d")
	number := "line 1: not an ingestion document: unexpected number in id"
	for range 2 {
		same, others, none := l.events.lineReasons(l.path("d/same.jsonl")), l.events.lineReasons(l.path("d/various.jsonl")),
			l.events.lineReasons(l.path("d/none.jsonl"))
		if !slices.Equal(same, []string{number, "further ones: 249"}) {
			t.Errorf("the same problem: %q", same)
		}
		if len(others) != mostRemembered+1 || others[mostRemembered] != "further ones: 10" {
			t.Errorf("various problems: %q", others)
		}
		if !slices.Equal(none, []string{number + "; further ones: 249"}) {
			t.Errorf("no document: %q", none)
		}
		if size := len(l.idx.cursors[filePrefix+l.path("d/various.jsonl")]); size > mostRemembered*(longestValue+20) {
			t.Errorf("%d bytes are remembered", size)
		}
		l.sync()
	}
}
