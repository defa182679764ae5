package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/passage"
)

func TestLongPassageStartsAtTheMatch(t *testing.T) {
	content := strings.Repeat("filler text goes on and on\n", 100) + "here is the answer, at last" +
		strings.Repeat("\nand more", passageLines)
	a := &app{io: IO{Width: 80, Now: today}, style: theme.New(colorprofile.NoTTY)}
	start := strings.Index(content, "here")
	for name, result := range map[string]wire.SearchResult{
		"best passage": {Content: content, BestPassage: wire.Span{start, start + len("here is the answer, at last")}},
		"first match":  {Content: content},
	} {
		lines := a.passage(result, []string{"answer"}, 76)
		if len(lines) == 0 || lines[0] != "here is the answer, at last" {
			t.Errorf("%s: %q", name, lines)
		}
	}
}

// TestPassageAtTheEndShowsWhatPrecedesIt: the lines that there are for a passage are used.
func TestPassageAtTheEndShowsWhatPrecedesIt(t *testing.T) {
	content := strings.Repeat("filler text goes on and on\n", 100) + "here is the answer, at last"
	a := &app{io: IO{Width: 80, Now: today}, style: theme.New(colorprofile.NoTTY)}
	lines := a.passage(wire.SearchResult{Content: content}, []string{"answer"}, 76)
	if len(lines) != passageLines || lines[passageLines-1] != "here is the answer, at last" {
		t.Errorf("%q", lines)
	}
}

// The heading that stands above a passage is not repeated, whether it is one of Markdown or names who wrote a message.
func TestTheHeadingOfAPassageIsPrintedOnce(t *testing.T) {
	a := &app{io: IO{Width: 80, Now: today}, style: theme.New(colorprofile.NoTTY)}
	for heading, content := range map[string]string{
		"Roll back":                       "## Roll back\n\nUse the blue switch.",
		"Ada Lovelace · 2026-03-02 10:01": "**Ada Lovelace** · 2026-03-02 10:01\n\nUse the blue switch.",
	} {
		got := a.resultText(wire.SearchResult{HeadingPath: []string{heading}, Content: content}, []string{"blue"}, 80, false)
		if strings.Count(got, heading) != 1 || !strings.Contains(got, "Use the blue switch.") {
			t.Errorf("%s:\n%s", heading, got)
		}
	}
	page := wire.SearchResult{Title: "Deploying | Acme", HeadingPath: []string{"Deploying", "Roll back"}, Content: "# Deploying\n\n## Roll back\n\nUse the blue switch."}
	if got := a.resultText(page, []string{"blue"}, 80, false); strings.Count(got, "Deploying") != 2 || strings.Count(got, "Roll back") != 1 {
		t.Errorf("the title and headings of a page are printed twice:\n%s", got)
	}
}

// Whatever a server marks, the text keeps to its width and ends.
func FuzzPassage(f *testing.F) {
	f.Add("Roll back when the error budget is spent.\n\n本番へのロールバック 👩‍🚀\tx", "roll", 3, 9, 0, 20, 40)
	f.Add("", "x", -5, 1<<30, 7, -1, 1)
	f.Add(strings.Repeat("x", 5000), "", 0, 5000, 4000, 5000, 80)
	f.Fuzz(func(t *testing.T, content, word string, from, to, best, end, width int) {
		content = client.Sanitize(content)
		a := &app{io: IO{Width: width, Now: func() time.Time { return today() }}, style: theme.New(colorprofile.ANSI)}
		room := 6 + max(0, width)%200
		result := wire.SearchResult{Content: content, Highlights: []wire.Span{{from, to}}, BestPassage: wire.Span{best, end}}
		for _, highlights := range [][]wire.Span{result.Highlights, nil} {
			result.Highlights = highlights
			lines := a.passage(result, passage.Words(client.ParseQuery(word, today())), room)
			if len(lines) > passageLines {
				t.Fatalf("%d lines", len(lines))
			}
			for _, line := range lines {
				if got := ansi.StringWidth(line); got > room {
					t.Fatalf("a line of %d columns in %d: %q", got, room, line)
				}
			}
		}
	})
}
