package ingest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"quarry/internal/testkit/longtest"
	"quarry/server/index"
)

func TestReadersWaitWhileTheBacklogIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBacklog(ctx, func(err error) { t.Error(err) })
		b.add(fullBacklog)
		waiting, open := true, false
		wait := func() {
			waiting = true
			go func() { open = b.wait(); waiting = false }()
			synctest.Wait()
		}
		if wait(); !waiting {
			t.Fatal("a reader starts although the backlog is full")
		}
		b.add(-1)
		if synctest.Wait(); waiting || !open {
			t.Errorf("the backlog has room: waiting %v, open %v", waiting, open)
		}
		b.add(1)
		if wait(); !waiting {
			t.Error("a reader starts although the backlog is full again")
		}
		cancel()
		if synctest.Wait(); waiting || open {
			t.Errorf("the run ended: waiting %v, open %v", waiting, open)
		}
	})
}

// Large documents of tiny pieces have few blocks and lines, which still cover them.
func TestTinyPiecesOfLargeDocumentsAreJoined(t *testing.T) {
	size, most := longtest.Rounds(1<<20, 4<<20), 16*mostHeadings
	markdown := newMarkdownReader()
	plain := func(source string) []block { return paragraphs(source, 0, kindProse) }
	for _, test := range []struct {
		unit  string
		parse func(source string) []block
	}{
		{"a\n\n", markdown.parse}, {"# h\n", markdown.parse}, {"- a\n", markdown.parse}, {"> a\n\nb\n\n", markdown.parse}, {"a\n\n", plain},
	} {
		source := strings.Repeat(test.unit, size/len(test.unit)+1)
		blocks := test.parse(source)
		if n := countBlocks(blocks); n > most {
			t.Errorf("%q: %d blocks, want at most %d", test.unit, n, most)
		}
		at := 0
		for _, b := range blocks {
			if b.Start != at || b.End <= at {
				t.Fatalf("%q: a block from %d to %d after %d", test.unit, b.Start, b.End, at)
			}
			at = b.End
		}
		if at != len(source) {
			t.Errorf("%q: the blocks end at %d of %d", test.unit, at, len(source))
		}
	}
	lines := strings.Repeat("a\n", size/2)
	spans := lineSpans(lines, 0, len(lines))
	if last := spans[len(spans)-1]; len(spans) > size/shortestPiece || spans[0].start != 0 || last.end != len(lines) {
		t.Errorf("%d spans to %d", len(spans), last.end)
	}
}

// TestDefaultBoundsOfDumps: what is large, and a dump, is what docs/library.md says.
func TestDefaultBoundsOfDumps(t *testing.T) {
	docs, err := os.ReadFile("../../docs/library.md")
	must(t, err)
	reader := newFileReader(t.Context(), nil)
	said := fmt.Sprintf("text of %d MB or more one at a time, and skipped if it has more than a million different words", reader.largeText>>20)
	if !strings.Contains(strings.Join(strings.Fields(string(docs)), " "), said) || reader.mostWords != 1_000_000 {
		t.Errorf("docs/library.md does not say %q; the program counts %d words", said, reader.mostWords)
	}
}

func countBlocks(blocks []block) int {
	n := len(blocks)
	for _, b := range blocks {
		n += countBlocks(b.Children)
	}
	return n
}

func TestDistinctWords(t *testing.T) {
	of := func(words, repeated int) (text string) {
		var out strings.Builder
		for i := range words {
			fmt.Fprintf(&out, "w%d ", i%repeated)
		}
		return out.String()
	}
	for _, test := range []struct{ words, repeated int }{{100_000, 3}, {90_000, 90_000}, {900_000, 900_000}, {2_000_000, 2_000_000}} {
		if test.words > 500_000 && !longtest.Enabled() {
			continue
		}
		doc := index.Document{Chunks: []index.Chunk{{Text: of(test.words, test.repeated)}}}
		if got := distinctWords(&doc); got < test.repeated*98/100-1 || got > test.repeated*102/100+1 {
			t.Errorf("%d words of %d: %d", test.words, test.repeated, got)
		}
	}
	for words, dump := range map[string]bool{of(1_200, 1_200): true, of(1_200, 900): false} {
		l := newLibrary(t, map[string]string{"d/x.txt": words})
		info, err := os.Stat(l.path("d/x.txt"))
		must(t, err)
		reader := newFileReader(t.Context(), nil)
		reader.largeText, reader.mostWords = int64(len(words)), 1_000
		f, _ := formatOf("x.txt")
		read := reader.readWhole(newTask(foundFile{path: l.path("d/x.txt"), info: info, format: f}, &target{path: l.path("d")}, fileState{}), io.NopCloser(strings.NewReader(words)))
		if dump != strings.Contains(read.Reason, "more than 1,000 different words") || dump == (len(read.documents) == 1) {
			t.Errorf("dump %v: %q, %d documents", dump, read.Reason, len(read.documents))
		}
	}
}
