package reader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
)

func darkTheme() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

// plainView is what View shows without its styles.
func plainView(r *Reader, width, height int) []string {
	lines := r.View(width, height, darkTheme())
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i] = strings.TrimRight(ansi.Strip(line), " ")
	}
	return plain
}

// render answers every job that the reader has.
func render(r *Reader) {
	for {
		job, ok := r.RenderJob()
		if !ok {
			return
		}
		r.Apply(job.Render())
	}
}

func runbook() Document {
	updated, link := "2026-09-21T09:14:05+00:00", "https://wiki.example/1042"
	return Document{Words: []string{"roll"}, CanExpand: true, SearchResult: wire.SearchResult{
		Title: "Runbook: rolling back", SourceType: "confluence",
		UpdatedAt: &updated, Authors: []string{"Jo Ortiz"}, Link: &link,
		HeadingPath: []string{"Platform", "Runbooks"},
		Content:     "## When to roll back\n\n**Roll back** when the error budget is gone.\n\n- first\n- second\n",
		ChunkStart:  2, ChunkEnd: 2, ChunkCount: 11,
	}}
}

func chunks(from, to int) []wire.Chunk {
	var made []wire.Chunk
	for i := from; i <= to; i++ {
		text := fmt.Sprintf("## Part %d\n\nText of **part %d** that rolls along.\n\n- item %d", i, i, i)
		made = append(made, wire.Chunk{ChunkInd: i, Content: text})
	}
	return made
}

func TestView(t *testing.T) {
	t.Parallel()
	r := Reader{ExpandKey: "e"}
	r.Show(runbook())
	r.SetNow(time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC))
	view := strings.Join(plainView(&r, 70, 20), "\n")
	for _, want := range []string{darkTheme().SourceGlyph("confluence") + " Confluence › Platform",
		"Jo Ortiz · 21 Sep 2026 · 10 d · 2 matches · wiki.example/1042", "— more above · e more —", "— more below · e more —",
		"When to roll back"} {
		if !strings.Contains(view, want) {
			t.Errorf("the view lacks %q:\n%s", want, view)
		}
	}
	if r.Title() != "Runbook: rolling back" || r.Position() != "part 3 of 11" || r.More() != "e more" {
		t.Errorf("around it: %q, %q, %q", r.Title(), r.Position(), r.More())
	}
}

// A view that was drawn already follows the name of the key, and the hour but not the second.
func TestADrawnViewFollowsKeyAndTime(t *testing.T) {
	t.Parallel()
	var r Reader
	r.Show(runbook())
	plainView(&r, 60, 20)
	r.ExpandKey = "ctrl+e"
	if view := strings.Join(plainView(&r, 60, 20), "\n"); !strings.Contains(view, "ctrl+e more") {
		t.Errorf("the key has its old name:\n%s", view)
	}
	noon := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	r.SetNow(noon)
	drawn := r.View(60, 20, darkTheme())
	r.SetNow(noon.Add(time.Second))
	if again := r.View(60, 20, darkTheme()); &again[0] != &drawn[0] {
		t.Error("a second makes the view anew")
	}
	r.SetNow(noon.AddDate(0, 0, 3))
	if view := plainView(&r, 60, 20); !strings.Contains(view[1], "13 d") {
		t.Errorf("the age stays: %s", view[1])
	}
}

func TestWhyThereIsNoMoreIsSeenWhole(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.CanExpand, d.WhyNot, d.ChunkCount = false, "this server names no documents", 0
	var r Reader
	r.Show(d)
	for width, want := range map[int]string{
		80: "— more above · this server names no documents",
		40: "this server names no documents",
	} {
		if view := plainView(&r, width, 20); !slices.Contains(view, want) {
			t.Errorf("%d columns:\n%s", width, strings.Join(view, "\n"))
		}
	}
}

// Where the reason is longer than a line, what to do about it stays.
func TestWhatToDoWithoutMoreStays(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.CanExpand, d.WhyNot, d.ChunkStart, d.ChunkEnd, d.ChunkCount = false, "this server cannot show surrounding text; o opens the original", 0, 0, 0
	var r Reader
	r.Show(d)
	for width, want := range map[int]string{80: d.WhyNot, 40: "o opens the original"} {
		if view := plainView(&r, width, 20); !slices.Contains(view, want) {
			t.Errorf("%d columns:\n%s", width, strings.Join(view, "\n"))
		}
	}
}

func TestTheBreadcrumbKeepsItsEnd(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Place = "content/benefits\x1b[31m/pay-expenses"
	var r Reader
	r.Show(d)
	glyph := darkTheme().SourceGlyph("confluence")
	for width, want := range map[int]string{
		80: glyph + " Confluence › content › benefits › pay-expenses › Platform › When to roll back",
		50: glyph + " Confluence › … › Platform › When to roll back",
		20: glyph + " Confluence › … › …",
	} {
		if got := plainView(&r, width, 12)[0]; got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
}

// The breadcrumb follows what is read: the passage as it was found, then the section that is scrolled to, and that of the match.
func TestTheBreadcrumbFollowsTheText(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("A line of text.\n\n", 20)
	d := runbook()
	d.Title, d.HeadingPath = "Runbook", []string{"Platform", "Runbooks"}
	d.Content = "# Runbook\n\nIntro.\n\n## Before\n\n" + lines + "### How\n\n" + lines + "## Runbooks\n\n" + lines + "### Then\n\n" + lines
	at := strings.Index(d.Content, "### Then")
	d.Highlights = []wire.Span{{at + 4, at + 8}}
	d.ChunkStart, d.ChunkEnd, d.ChunkCount = 1, 1, 3
	var r Reader
	r.Show(d)
	crumbs := func() string {
		line := plainView(&r, 80, 12)[0]
		_, path, _ := strings.Cut(line, "Confluence › ")
		return path
	}
	check := func(when, want string) {
		t.Helper()
		if got := crumbs(); got != want {
			t.Errorf("%s: %q, want %q\n%s", when, got, want, strings.Join(plainView(&r, 80, 12), "\n"))
		}
	}
	check("as found", "Platform › Runbooks")
	for _, rendered := range []bool{false, true} {
		if rendered {
			render(&r)
		}
		r.Top()
		check("at the top", "Platform")
		for heading, want := range map[string]string{"Before": "Platform › Before", "How": "Platform › Before › How",
			"Runbooks": "Platform › Runbooks", "Then": "Platform › Runbooks › Then"} {
			headings, _ := r.Headings(nil)
			r.GoTo(headings[slices.IndexFunc(headings, func(h Heading) bool { return h.Text == heading })])
			check(heading, want)
			r.Down(3)
			check("below "+heading, want)
		}
		r.Top()
		r.StepMatch(1)
		check("above the match", "Platform › Runbooks") // the first line in sight is
	}
	r.Add(0, 2, []wire.Chunk{{ChunkInd: 0, Content: "## First\n\n" + lines, HeadingPath: []string{"Platform", "First"}},
		{ChunkInd: 2, Content: "More.\n\n" + lines + "## Last\n\n" + lines, HeadingPath: []string{"Platform", "Runbooks", "Then"}}})
	r.Top()
	r.Down(3)
	check("a chunk above", "Platform › First")
	r.Bottom()
	check("a chunk below", "Platform › Runbooks › Last")
}

func TestOwnersAreCounted(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Authors = []string{"Jo Ortiz", "Bao Tran", "Rafael Moura", "Inês Prates", "Farid Haddad"}
	var r Reader
	r.Show(d)
	for width, want := range map[int]string{
		80: "Jo Ortiz, Bao Tran +3 · 21 Sep 2026 · 2 matches · wiki.example/1042",
		48: "Jo Ortiz, Bao Tran +3 · 21 Sep 2026 · 2 matches",
		28: "Jo Ortiz +4 · 21 Sep 2026 ·…",
	} {
		if view := plainView(&r, width, 12); view[1] != want {
			t.Errorf("%d columns:\n%s\n%s", width, view[0], view[1])
		}
	}
}

func TestBlankLinesOfCodeStay(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "text\n\n```go\n\na\n\n\n  b\n\n```\n\nmore"
	var r Reader
	r.Show(d)
	r.View(60, 30, darkTheme())
	render(&r)
	if view := strings.Join(plainView(&r, 60, 30), "\n"); !strings.Contains(view, "text\n\n  go ────────────────────────────────────────\n  a\n\n\n    b\n\nmore") {
		t.Errorf("the view:\n%s", view)
	}
}

func TestLongCodeGoesOnWithAMark(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "```\nkwctl rollback tempwatch --to v4.11.6 --reason incident\n" + strings.Repeat("x", 70) + "\n```"
	d.Highlights = []wire.Span{{20, 35}}
	var r Reader
	r.Show(d)
	r.View(40, 30, darkTheme())
	render(&r)
	view := strings.Join(plainView(&r, 40, 30), "\n")
	want := "  kwctl rollback tempwatch --to\n  › v4.11.6 --reason incident\n  " + strings.Repeat("x", 36) + "\n  › " + strings.Repeat("x", 34) + "\n"
	if !strings.Contains(view, want) {
		t.Errorf("the view:\n%s", view)
	}
}
