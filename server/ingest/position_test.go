package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/internal/guard"
	"quarry/server/index"
)

// The bytes and the lines of every chunk hold its text, whatever stands before the body and however lines end.
func TestPositionsAreThoseInTheFile(t *testing.T) {
	long := strings.Repeat("A sentence about the brass lantern of the boathouse. ", 80)
	markdown := "\n\n---\ntitle: Lantern\nauthor: Jo\n---\n\n# Lantern\n\nAn introduction.\n\n## Use\n\n" + long + "\n\n" + long + "\n\n```sh\nls\n```\n"
	plain := "\n\n" + long + "\n\n" + long + "\n"
	for name, text := range map[string]string{
		"a.md": markdown, "crlf.md": strings.ReplaceAll(markdown, "\n", "\r\n"), "bom.md": "\uFEFF" + markdown,
		"a.txt": plain, "crlf.txt": strings.ReplaceAll(plain, "\n", "\r\n"), "a.log": "one\ntwo\n\nthree\n",
	} {
		d := readOne(t, name, text)
		if len(d.Positions) != len(d.Chunks) {
			t.Fatalf("%s: %d positions of %d chunks", name, len(d.Positions), len(d.Chunks))
		}
		for i, p := range d.Positions {
			got := strings.ReplaceAll(text[p.Start:p.End], "\r\n", "\n")
			if want := strings.TrimRight(d.Chunks[i].Text, " \n"); got != want {
				t.Errorf("%s, chunk %d: bytes %d to %d are %.60q, want %.60q", name, i, p.Start, p.End, got, want)
			}
			first := 1 + strings.Count(text[:p.Start], "\n")
			if last := first + strings.Count(text[p.Start:p.End], "\n"); p.FirstLine != first || p.LastLine != last {
				t.Errorf("%s, chunk %d: lines %d to %d, want %d to %d", name, i, p.FirstLine, p.LastLine, first, last)
			}
		}
	}
}

// What is not the file's own text has no position in it.
func TestConvertedTextHasNoPositions(t *testing.T) {
	for name, text := range map[string]string{
		"a.html": "<h1>Lantern</h1><p>Of brass.", "mixed.md": "# Lantern\r\n\nOf brass.\n", "latin.txt": "caf\xe9 of the boathouse\n",
		"escape.txt": "a \x1b[1mlantern\x1b[0m of brass\n",
	} {
		if d := readOne(t, name, text); d.Positions != nil || len(d.Chunks) == 0 {
			t.Errorf("%s: %+v", name, d.Positions)
		}
	}
	d, err := FromMarkdown([]byte("# Lantern\n\nOf brass.\n"), index.Document{ID: "x"}, false)
	if err != nil || d.Positions != nil {
		t.Errorf("%+v, %v", d.Positions, err)
	}
}

// readOne reads a file as adding it does.
func readOne(t *testing.T, name, text string) index.Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, reason := formatOf(name)
	if reason != "" {
		t.Fatal(reason)
	}
	d, err := resultOf(newFileReader(t.Context(), nil), f, []byte(text), index.Document{ID: file, Title: name, Origin: file, Type: f.name})
	if err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return d
}

// FuzzPositions checks that positions ascend within the file, whatever is in it.
func FuzzPositions(f *testing.F) {
	for _, text := range []string{"# A\n\nb\n", "\ufeffa\r\n\r\nb\r\n", "---\ntitle: x\n---\n\n\n# A\n", "a\r\nb\n", "\n\n\t\n-\n\n\n",
		"```\n" + strings.Repeat("x y\n", 900) + "```\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(text)
		decoded, err := guard.Result(func() string { return newFileReader(t.Context(), nil).decodeText(data, false) })
		if err != nil {
			return
		}
		r := newFileReader(t.Context(), nil)
		d, err := guard.Result(func() index.Document {
			return r.made(r.parseMarkdown(decoded, index.Document{ID: "x"}, false), index.Document{ID: "x"})
		})
		if err != nil {
			return
		}
		locate(&d, data, decoded)
		at, line := 0, 1
		for i, p := range d.Positions {
			if p.Start < at || p.End < p.Start || p.End > len(data) || p.FirstLine < line || p.LastLine < p.FirstLine || i >= len(d.Chunks) {
				t.Fatalf("%q: %+v", text, d.Positions)
			}
			at, line = p.End, p.LastLine
		}
	})
}
