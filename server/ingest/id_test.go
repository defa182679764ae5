package ingest

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

func TestFileIDs(t *testing.T) {
	for file, want := range map[string]string{
		"/a b/ä#1.md":     "file:/a b/ä#1.md",
		"/100%.md":        "file:/100%.md",
		"/a%20b.md":       "file:/a%20b.md",
		"/a\nb.md":        "file:/a%0Ab.md",
		"/a\tb.md":        "file:/a%09b.md",
		"/a%0Ab.md":       "file:/a%250Ab.md",
		"/a%0ab.md":       "file:/a%0ab.md",
		"/a%250Ab.md":     "file:/a%25250Ab.md",
		"/\x1b[31mred.md": "file:/%1B[31mred.md",
		"/lat\xff.md":     "file:/lat%FF.md",
		"/a\u202eb.md":    "file:/a%E2%80%AEb.md",
		"/a\u2028b.md":    "file:/a%E2%80%A8b.md",
		"/👩\u200d🔧.md":    "file:/👩\u200d🔧.md",
	} {
		if got := fileID(file); got != want {
			t.Errorf("%q is %q, want %q", file, got, want)
		}
	}
}

// FuzzFileIDs: an id can be shown, and no two files share one.
func FuzzFileIDs(f *testing.F) {
	f.Add("/a\nb", "/a%0Ab")
	f.Add("/a%0Ab", "/a%250Ab")
	f.Add("/a\xff", "/a%FF")
	f.Add("/a%", "/a%25")
	f.Fuzz(func(t *testing.T, a, b string) {
		id := fileID(a)
		if !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) {
			t.Errorf("%q is %q", a, id)
		}
		if a != b && id == fileID(b) {
			t.Errorf("%q and %q are both %q", a, b, id)
		}
		if sent := escapeID(a); escapeID(sent) != sent {
			t.Errorf("%q becomes %q and then %q", a, sent, escapeID(sent))
		}
	})
}

// TestFilesWithOddNames holds that files whose names cannot be shown are kept apart, followed and removed.
func TestFilesWithOddNames(t *testing.T) {
	l := newLibrary(t, map[string]string{
		"docs/a\nb.md": "one", "docs/a%0Ab.md": "two", "docs/x\xfe.jsonl": line("s1", "one") + line("s2", "two"),
		"docs/x\xff.jsonl": line("s3", "three"),
	})
	l.counts(l.add(Options{}, "docs"), 5, 0, 0, 0)
	l.write("docs/x\xfe.jsonl", line("s1", "one"))
	l.counts(l.sync(), 0, 0, 1, 4)
	l.counts(l.remove(wire.RemoveRequest{Refs: []string{"s3", fileID(l.path("docs/a\nb.md"))}}), 0, 0, 2, 0)
	l.counts(l.sync(), 0, 0, 0, 2)
	l.want("docs/a%250Ab.md", "s1")
}
