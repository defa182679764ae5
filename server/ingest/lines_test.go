package ingest

import (
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

func TestManyBadLinesAreRememberedInPart(t *testing.T) {
	l := newLibrary(t, map[string]string{"d/many.jsonl": strings.Repeat("nonsense\n", 250) + line("a", "1")})
	l.add(Options{}, "d")
	first := l.events.lineReasons(l.path("d/many.jsonl"))
	if len(first) != mostBadLines || !strings.HasSuffix(first[mostBadLines-1], "not listed") {
		t.Errorf("first %q", first)
	}
	l.sync()
	again := l.events.lineReasons(l.path("d/many.jsonl"))
	if len(again) != mostRemembered+1 || !slices.Equal(again[:mostRemembered], first[:mostRemembered]) ||
		!strings.HasSuffix(again[mostRemembered], ": 230") {
		t.Errorf("again %q", again)
	}
	if size := len(l.idx.cursors[filePrefix+l.path("d/many.jsonl")]); size > mostRemembered*(longestValue+20) {
		t.Errorf("%d bytes are remembered", size)
	}
}
