package reader

import (
	"runtime"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/internal/testkit/longtest"
)

// checkView holds a view to its size, and to escape sequences that are styles or links.
func checkView(t *testing.T, lines []string, width, height int) {
	t.Helper()
	if len(lines) != height {
		t.Fatalf("%d lines at %dx%d", len(lines), width, height)
	}
	for i, line := range lines {
		if got := ansi.StringWidth(line); got != width {
			t.Fatalf("line %d is %d columns wide at %dx%d: %q", i, got, width, height, line)
		}
		checkBytes(t, line)
	}
}

// checkBytes looks for control bytes other than those of styles and of links that may be opened.
func checkBytes(t *testing.T, line string) {
	t.Helper()
	rest := line
	styled, linked := false, false
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "\x1b]8;"):
			body, after, found := strings.Cut(rest[2:], "\a")
			address := strings.ToLower(strings.SplitN(body, ";", 3)[2])
			if !found || strings.ContainsAny(body, "\x1b\n") {
				t.Fatalf("broken link in %q", line)
			}
			if address != "" && !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") &&
				!strings.HasPrefix(address, "mailto:") {
				t.Fatalf("link to %q", address)
			}
			linked, rest = address != "", after
		case strings.HasPrefix(rest, "\x1b["):
			end := strings.IndexByte(rest, 'm')
			if end < 0 || strings.Trim(rest[2:end], "0123456789;:") != "" {
				t.Fatalf("an escape sequence that is no style in %q", line)
			}
			styled, rest = end > 2 && rest[2:end] != "0", rest[end+1:]
		case rest[0] < ' ' || rest[0] == 0x7f:
			t.Fatalf("control byte %#x in %q", rest[0], line)
		default:
			rest = rest[1:]
		}
	}
	for _, r := range line {
		if r >= 0x80 && r < 0xa0 || isNote(r) {
			t.Fatalf("%U in %q", r, line)
		}
	}
	if styled || linked {
		t.Fatalf("a style or a link goes on after the end of %q", line)
	}
}

func TestHostileMarkdown(t *testing.T) {
	t.Parallel()
	part := longtest.Rounds(8, 1) // of the sizes
	tests := map[string]string{
		"one long line":       strings.Repeat("roll ", 200_000/part),
		"one long word":       strings.Repeat("x", 1<<20/part),
		"deep quotes":         strings.Repeat(">", 10_000/part) + " roll",
		"deep quotes, spaced": strings.Repeat("> ", 5_000/part) + "roll",
		"deep list":           deepList(400 / part),
		"deep emphasis":       strings.Repeat("*a **b ", 2_000/part),
		"brackets":            strings.Repeat("[", 8_000/part) + strings.Repeat("](x)", 500/part),
		"wide table":          "|" + strings.Repeat(" a |", 500) + "\n|" + strings.Repeat("---|", 500) + "\n|" + strings.Repeat(" roll |", 500) + "\n",
		"long table":          "| a | b |\n|---|---|\n" + strings.Repeat("| roll | back |\n", 5_000/part),
		"html":                "<script>alert(1)</script>\n\n<div onclick=x>roll <b>back</b></div>\n\ntext <img src=x onerror=y> &#27;]0;title&#7; &lt;b&gt;",
		"references":          "&#27;[31mred &#x9b;31m &#0; &InvisibleComma; &#x2063;&#x2061;&#x2064; &#10; &#9; `&#27;[31m` &amp;#27;[31m\n\n&#27;[2J\n",
		"script link":         "[click](javascript:alert(1)) <javascript:alert(1)> [x](JaVaScRiPt:x) [f](file:///etc/passwd) ![i](data:text/html;base64,xx) [v](vbscript:x)",
		"escapes in links":    "[a](https://example.com/\x1b[31m) [b](<https://example.com/a b\u0007>) https://example.com/&#27;x",
		"images":              "![](https://example.com/a.png) ![alt *roll*](x \"title\")",
		"unclosed fence":      "```go\nfunc roll() {}\n",
		"fence in list":       "- a\n\n  ```sh\n  roll --back\n  ```\n- b",
		"carriage returns":    "roll\rback\r\nx",
		"only markup":         "<!-- nothing -->",
		"definitions":         "[a]: https://example.com\n[b]: javascript:x\n\n[a] [b] roll",
		"definition list":     "Term\n: what roll means\n\n  more\n: again",
		"empty table cells":   "| a |  |\n|---|---|\n| | |\n",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := runbook()
			d.Content = text
			var r Reader
			r.Show(d)
			for _, width := range []int{60, 7, 120, 1} {
				checkView(t, r.View(width, 34, darkTheme()), width, 34)
				for range 3 {
					if job, ok := r.RenderJob(); ok {
						r.Apply(job.Render())
					}
					r.StepMatch(1)
					checkView(t, r.View(width, 34, darkTheme()), width, 34)
					r.Bottom()
					checkView(t, r.View(width, 34, darkTheme()), width, 34)
				}
			}
		})
	}
}

func deepList(depth int) string {
	var text strings.Builder
	for i := range depth {
		text.WriteString(strings.Repeat("  ", i) + "- roll\n")
	}
	return text.String()
}

// FuzzRender holds renderings with highlights to those without: the same characters, and every highlight within its text.
func FuzzRender(f *testing.F) {
	seeds := []string{
		runbook().Content, longText(100), "| a | b |\n|:--|--:|\n| c `d` | **e** [f](https://g.h) |", "a*\"foo\"*b __x__ &amp; \\* <b>c</b>",
		"```go\nfunc main() { \"x\" }\n```\n\n1. a\n\n       code\n2. b\n   - c", "> [!note] [[a|b]]\n> - [x] ==t==[^1]\n\n[^1]: ![[c]]\n\nT\n: d\n\n---\n![i](u) <https://x.y> z@w.v",
	}
	seeds = append(seeds, wideTable(7, 3)+"\n[a](b) ![c](d) [![e](f)](g)")
	for i, seed := range seeds {
		f.Add(seed, uint16(3*i), uint16(3*i+5), uint16(20), uint16(31), uint8(50))
	}
	f.Fuzz(func(t *testing.T, text string, a, b, c, d uint16, width uint8) {
		spans := []wire.Span{{int(a), int(b)}, {int(c), int(d)}}
		from := unit{base: "https://x.example/a", interactive: true}
		with, without := unitsOf(text, spans, nil, from), unitsOf(text, nil, nil, from)
		for i := range with {
			marked, _ := renderUnit(with[i], int(width), darkTheme(), 1)
			bare, _ := renderUnit(without[i], int(width), darkTheme(), 1)
			if got, want := stripped(marked), stripped(bare); got != want {
				t.Fatalf("highlights change the text:\n%q\n%q", got, want)
			}
			for _, l := range marked.lines {
				checkBytes(t, l.text)
				if ansi.StringWidth(l.text) != l.width || l.from >= len(with[i].text) {
					t.Fatalf("line %+v", l)
				}
				at := 0
				for _, m := range l.marks {
					if m.from < at || m.to <= m.from || m.to > len(l.text) || m.span >= len(with[i].spans) {
						t.Fatalf("mark %+v in %q", m, l.text)
					}
					at = m.to
				}
			}
		}
	})
}

func stripped(l *layout) string {
	var text strings.Builder
	for i := range l.lines {
		text.WriteString(ansi.Strip(l.lines[i].text) + "\n")
	}
	return text.String()
}

// What is no note is not read as one, nor to the end of the text at each of its signs.
func TestReadingNotes(t *testing.T) {
	for _, value := range []int{0, 1, 1<<31 - 1} {
		written := note(linkNumber, value)
		if kind, got, size := readNote(written + "text"); kind != linkNumber || got != value || size != len(written) {
			t.Errorf("%d is read as %d of the kind %d in %d bytes", value, got, kind, size)
		}
		if _, _, size := readNote(noteBegin + "x" + strings.TrimPrefix(written, noteBegin)); size != 0 {
			t.Errorf("a text of %d bytes is read as a note", size)
		}
	}
	text := strings.Repeat(noteBegin+"x", 4000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	(&typesetter{}).read(text)
	runtime.ReadMemStats(&after)
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 1000*uint64(len(text)) {
		t.Errorf("%d bytes are written to read %d", bytes, len(text))
	}
}
