package reader

import (
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
)

// highlighted is the text on the screen that has the style of matches, and of the current one.
func highlighted(r *Reader, width, height int) (matches, current []string) {
	th := darkTheme()
	collect := func(style theme.Style, line string) []string {
		begin, _, _ := strings.Cut(style.Render("x"), "x")
		var found []string
		for _, part := range strings.Split(line, begin)[1:] {
			text, _, _ := strings.Cut(part, "\x1b[m")
			found = append(found, ansi.Strip(text))
		}
		return found
	}
	for _, line := range r.View(width, height, th)[len(r.header(height)):] {
		matches = append(matches, collect(th.Match, line)...)
		current = append(current, collect(th.MatchCurrent, line)...)
	}
	return matches, current
}

func TestHighlightsSurviveRendering(t *testing.T) {
	t.Parallel()
	const word = "rollback"
	tests := map[string]string{
		"plain text":       "a rollback b",
		"emphasis":         "a **b rollback c** d",
		"within emphasis":  "a *rollback* d",
		"across emphasis":  "a roll**back** d",
		"struck out":       "~~a rollback b~~",
		"heading":          "## A rollback b",
		"link":             "[a rollback b](https://example.com/rollback)",
		"code":             "a `b rollback c` d",
		"code block":       "```go\nfunc rollback() {}\n```",
		"unknown language": "```nonsense\nrollback now\n```",
		"indented code":    "text\n\n    rollback now",
		"table":            "| a | b |\n|---|---|\n| the rollback | c |",
		"table head":       "| rollback | b |\n|---|---|\n| a | c |",
		"list":             "- a\n  - b rollback c",
		"quote":            "> a rollback b",
		"task":             "- [ ] a rollback b",
		"beside marks":     "a **\"rollback\"**b \\*rollback\\*"[:25],
		"definition":       "Term\n: a rollback b",
		"HTML":             "<div>\n<p class=\"rollback\">a &amp; rollback <b>b</b></p>\n</div>",
		"inline HTML":      "a <b id=\"rollback\">rollback</b>",
		"comment":          "<!-- a\nrollback\n-->\n\na rollback b",
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := runbook()
			d.Content, d.CanExpand, d.ChunkCount = text, false, 0
			d.Highlights = spansOf(text, word)
			if len(d.Highlights) == 0 {
				d.Highlights = []wire.Span{{strings.Index(text, "roll"), strings.Index(text, "back") + 4}}
			}
			var r Reader
			r.Show(d)
			r.View(60, 20, darkTheme())
			if _, total := r.Match(); total != 1 {
				t.Errorf("%d matches before rendering", total)
			}
			render(&r)
			matches, _ := highlighted(&r, 60, 20)
			if got := strings.Join(matches, ""); got != word {
				t.Errorf("highlighted: %q\n%s", got, strings.Join(r.View(60, 20, darkTheme()), "\n"))
			}
			if _, total := r.Match(); total != 1 {
				t.Errorf("%d matches", total)
			}
		})
	}
}

func spansOf(text, word string) []wire.Span {
	var spans []wire.Span
	for at := 0; ; {
		found := strings.Index(text[at:], word)
		if found < 0 {
			return spans
		}
		spans = append(spans, wire.Span{at + found, at + found + len(word)})
		at += found + len(word)
		if strings.Contains(text, "](") { // the address of a link is not shown
			return spans
		}
	}
}

func TestColourGoesOnAfterAMatch(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content, d.Highlights = "**one two three**", []wire.Span{{6, 9}}
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	view := strings.Join(r.View(60, 20, darkTheme()), "\n")
	match := darkTheme().Match.Render("two")
	if want := "\x1b[1mone \x1b[m" + match + "\x1b[1m three\x1b[m"; !strings.Contains(view, want) {
		t.Errorf("want %q in\n%q", want, view)
	}
}

// Code has a background, which must not have a hole where a word of it matches.
func TestAMatchInCodeKeepsTheBackground(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content, d.Highlights = "run `one two three` now", []wire.Span{{9, 12}}
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	emulator := uv.NewScreenBuffer(60, 20)
	uv.NewStyledString(strings.Join(r.View(60, 20, darkTheme()), "\n")).Draw(emulator, emulator.Bounds())
	for y := range 20 {
		var line strings.Builder
		for x := range 60 {
			line.WriteString(emulator.CellAt(x, y).Content)
		}
		if at := strings.Index(line.String(), "one two"); at >= 0 {
			before, match := emulator.CellAt(at, y).Style, emulator.CellAt(at+4, y).Style
			if before.Bg == nil || match.Bg != before.Bg || match.Fg == before.Fg {
				t.Errorf("code is %v, a match in it %v", before, match)
			}
			return
		}
	}
	t.Error("the code is not shown")
}

func TestMatchOverTwoLines(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "some words that come before it and then *the longest highlight of all* ends"
	at := strings.Index(d.Content, "the longest")
	d.Highlights = []wire.Span{{at, at + len("the longest highlight of all")}}
	for _, rendered := range []bool{false, true} {
		var r Reader
		r.Show(d)
		r.View(50, 20, darkTheme())
		if rendered {
			render(&r)
		}
		matches, _ := highlighted(&r, 50, 20)
		if len(matches) != 2 || strings.Join(matches, " ") != "the longest highlight of all" {
			t.Errorf("rendered %t: highlighted %q", rendered, matches)
		}
		r.StepMatch(1)
		if current, _ := r.Match(); current == 0 {
			t.Fatal("there is a match")
		}
		if _, current := highlighted(&r, 50, 20); len(current) != 2 {
			t.Errorf("rendered %t: the current match is styled on %d lines", rendered, len(current))
		}
	}
}

func TestSteppingThroughMatches(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = strings.Repeat("some text\n\n", 30) + "roll one\n\n" + strings.Repeat("more text\n\n", 30) + "roll two\n"
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	step := func(by, want int) {
		t.Helper()
		r.StepMatch(by)
		if current, total := r.Match(); current != want || total != 2 {
			t.Errorf("at %d of %d, want %d of 2", current, total, want)
		}
		if _, current := highlighted(&r, 60, 20); len(current) != 1 {
			t.Errorf("the current match is not on the screen")
		}
	}
	step(1, 1)
	step(1, 2)
	step(1, 1)
	step(-1, 2)
	r.SetRaw(true)
	if current, _ := r.Match(); current != 2 {
		t.Errorf("raw, the current match is %d", current)
	}
	d.Highlights, d.Words = nil, nil
	r.Show(d)
	r.StepMatch(1)
	if current, _ := r.Match(); current != 0 {
		t.Error("nothing matches")
	}
}

// The reader opens at the best passage, which the list shows, although other words match before it.
func TestTheBestPassageIsInView(t *testing.T) {
	t.Parallel()
	d := runbook()
	filler := strings.Repeat("Filler.\n\n", 40)
	d.Content = "\x1b[1mA deploy.\n\n" + filler + "## The best\n\nHow to deploy.\n\n" + filler + "Another deploy.\n\n" + filler
	best := strings.Index(d.Content, "## The best")
	d.BestPassage = wire.Span{best, best + 30}
	d.Highlights = spansOf(d.Content, "deploy")
	for name, change := range map[string]func(*Document){
		"as marked": func(*Document) {},
		"by words":  func(d *Document) { d.Highlights, d.Words = nil, []string{"deploy"} },
	} {
		change(&d)
		var r Reader
		r.Show(d)
		if view := strings.Join(plainView(&r, 60, 20), "\n"); !strings.Contains(view, "How to deploy.") {
			t.Errorf("%s:\n%s", name, view)
		}
		d.BestPassage = wire.Span{}
		r.Show(d)
		if view := strings.Join(plainView(&r, 60, 20), "\n"); !strings.Contains(view, "A deploy.") {
			t.Errorf("%s, without a best passage:\n%s", name, view)
		}
		d.BestPassage = wire.Span{best, best + 30}
	}
}
