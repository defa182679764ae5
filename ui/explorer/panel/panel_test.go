package panel

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
	"quarry/ui/state"
)

func dark() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
}

// textOf is a drawn panel as text.
func textOf(p Panel, width, height int) string {
	return ansi.Strip(strings.Join(Draw(p, width, height, dark(), "").Lines, "\n"))
}

// requireFilled fails unless a panel of a random size fills it exactly and keeps the cursor inside.
func requireFilled(t *testing.T, p Panel, random *rand.Rand) {
	t.Helper()
	width, height := random.IntN(130), random.IntN(50)
	body := Draw(p, width, height, dark(), []string{"", "esc close · 日本語 \x1b[1menter\x1b[m"}[random.IntN(2)])
	if len(body.Lines) > height || !Framed(width, height) && len(body.Lines) != height {
		t.Fatalf("%d×%d: %d lines", width, height, len(body.Lines))
	}
	if width > 0 && height > 0 && body.Cursor && (body.X < 0 || body.X >= width || body.Y < 0 || body.Y >= height) {
		t.Fatalf("%d×%d: the cursor is at %d,%d", width, height, body.X, body.Y)
	}
	for _, line := range body.Lines {
		if paint.Width(line) != width {
			t.Fatalf("%d×%d: %q is %d wide", width, height, line, paint.Width(line))
		}
	}
}

// fixed is a panel with a body that a test chooses.
type fixed struct {
	Static
	Text
	title, beside string
	body          Body
}

func (f *fixed) Title(int, theme.Theme) (title, beside string) { return f.title, f.beside }
func (f *fixed) View(int, int, theme.Theme) Body               { return f.body }

func TestFramesAreDrawn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		panel         fixed
		width, height int
		keys          string
		want          []string
	}{
		{fixed{title: "Title", body: Body{Lines: []string{"one", "two"}, ThumbFrom: 1, ThumbTo: 2}}, 14, 4, "esc",
			[]string{"╭ Title ─────╮", "│one         │", "│two         ┃", "╰ esc ───────╯"}},
		{fixed{title: "A long title", beside: "more"}, 12, 4, "",
			[]string{"╭ A long … ╮", "│          │", "╰──────────╯"}},
		{fixed{title: "Title", beside: "3 of 4"}, 30, 4, "",
			[]string{"╭ Title ───────────── 3 of 4 ╮", "│" + paint.Blank(28) + "│", "╰" + strings.Repeat("─", 28) + "╯"}},
		{fixed{title: "Title", beside: "\x1b[2m\x1b[m"}, 14, 4, "\x1b[2m\x1b[m", // nothing, in a style
			[]string{"╭ Title ─────╮", "│            │", "╰────────────╯"}},
		{fixed{title: "Title", body: Body{Lines: []string{"one", "two", "three"}}}, 14, 3, "esc",
			[]string{"Title         ", "one           ", "two           "}},
		{fixed{title: "Title", body: Body{Lines: []string{"one"}}}, 14, 1, "esc", []string{"one           "}},
	} {
		mono := theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
		got := Draw(&test.panel, test.width, test.height, mono, test.keys).Lines
		for i := range got {
			got[i] = ansi.Strip(got[i])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

func TestFramesFillTheirPanel(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 3))
	for range 500 {
		f := fixed{title: "所有操作 all that can be done", beside: "日本語", body: Body{X: 200, Cursor: true}}
		for range random.IntN(60) {
			f.body.Lines = append(f.body.Lines, strings.Repeat("字", random.IntN(90)))
		}
		requireFilled(t, &f, random)
	}
}

// The choice is always among the rows that are drawn, and no row is wasted.
func TestTheChoiceIsInTheWindow(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(4, 4))
	var c Choice
	for range 5000 {
		count, rows := random.IntN(40), random.IntN(20)
		c.Of(count)
		if random.IntN(2) == 0 {
			c.Page(random.IntN(5) - 2)
		} else {
			c.Move(random.IntN(9) - 4)
		}
		from, to := c.Window(rows)
		if from < 0 || to-from != min(count, rows) || rows > 0 && count > 0 && (c.At < from || c.At >= to) {
			t.Fatalf("%d of %d chosen, %d rows: drawn %d to %d", c.At, count, rows, from, to)
		}
		thumbFrom, thumbTo := Thumb(3, rows, from, count)
		if seen := thumbTo > thumbFrom; seen != (rows > 0 && count > rows) || seen && (thumbFrom < 3 || thumbTo > 3+rows) {
			t.Fatalf("%d of %d: thumb %d to %d", rows, count, thumbFrom, thumbTo)
		}
	}
}

// Bubbles' viewport works on what is seen alone: a text a hundred times as long costs no more to draw.
func TestDrawingATextTakesOnlyWhatIsSeen(t *testing.T) {
	allocations := func(lines int) float64 {
		var text Text
		text.Set(60, 20, 1, func() []string { return slices.Repeat([]string{"some words of a text"}, lines) })
		return testing.AllocsPerRun(20, func() { text.Body() })
	}
	if short, long := allocations(100), allocations(10_000); long > short+5 {
		t.Errorf("%v allocations for a long text, %v for a short one", long, short)
	}
}

// The beginning of a collected passage keeps its lines: a row of a table is one.
func TestTheCollectionKeepsTheRowsOfTables(t *testing.T) {
	t.Parallel()
	var p Collection
	p.Set([]state.Passage{{SearchResult: wire.SearchResult{Title: "Leave", Content: "Days of leave:\n\n| Country | Days |\n|---|---|\n| Norway | 25 |\n| Japan | 20 |"}}},
		dimension.Dimension{}, time.Time{})
	got := textOf(&p, 60, 30)
	for _, line := range []string{"│ Days of leave:  ", "│ Country · Days  ", "│ Norway · 25  ", "│ Japan · 20  "} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing:\n%s", line, got)
		}
	}
}

// Passages of one document show their headings, by which they differ.
func TestTheCollectionNamesHeadings(t *testing.T) {
	t.Parallel()
	var p Collection
	in := func(heading string) state.Passage {
		return state.Passage{SearchResult: wire.SearchResult{Title: "Leave", HeadingPath: []string{heading}, SourceType: "notion"}}
	}
	p.Set([]state.Passage{in("Sick days"), in("Parents"), in("Leave")}, dimension.Dimension{}, time.Time{})
	got := textOf(&p, 60, 30)
	for _, line := range []string{"Notion › Sick days  ", "Notion › Parents  ", "Notion  "} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing:\n%s", line, got)
		}
	}
}
