package explorer

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
)

// The sources of what matched are on a line under the query: f goes there, space limits the search to one at once.
func TestSourcesAreChosenOnTheirLine(t *testing.T) {
	t.Parallel()
	start(t, 120, 40, Options{Target: sampleTarget(t)}).WaitText("All 66") // what there is
	for _, size := range [][2]int{{120, 40}, {80, 24}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t), Query: "rolling back a release"})
		screen.Wait("the end of the search", regexp.MustCompile(`4 documents · \d+ ms`).MatchString)
		screen.WaitText("All 4")
		screen.Press("f")
		screen.WaitText("[All 4]")
		screen.Press("right", "right")
		screen.WaitText("[▷ Linear 1]")
		screen.Press("space")
		screen.WaitText("source: linear ✕")
		screen.WaitText("[▷ Linear 1]") // what removing the filter gives
		screen.WaitText("All 4")
		screen.Wait("results of Linear alone", regexp.MustCompile(`[^\d]1 document · \d+ ms`).MatchString)
		screen.Press("space")
		screen.WaitGone("source: linear")
		screen.WaitText("4 documents · ")
		screen.Press("end", "down")
		screen.WaitText("[Sources]")
		screen.Press("esc", "esc")
		screen.WaitGone("[▷ Linear")
		screen.WaitText("↵ open")
		screen.Press("ctrl+o")
		screen.WaitText("mouse on")
		screen.WaitText("All 4")
		y := slices.IndexFunc([]int{1, 3}, func(y int) bool { return strings.Contains(screen.Line(y), "All 4") })*2 + 1
		screen.Message(tea.MouseClickMsg{Button: tea.MouseLeft, X: strings.Index(screen.Line(y), "All 4") + 12, Y: y})
		screen.WaitText("source: ")
	}
}

// A source that the query excludes is no longer excluded once it is chosen.
func TestAnExcludedSourceIsChosenOnTheLine(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Target: Target{Kind: Library}, Now: today, Width: 120, Height: 40, Query: "release -source:slack,linear"})
	m.conn.welcome = welcome{sources: []wire.FacetValue{{Value: "web", Count: 3}, {Value: "slack"}}, exact: true}
	m.Update(nil)
	m.View()
	m.strip.Move(2)
	m.toggleValue()
	if got := m.box.Query(); got != "release source:slack -source:linear" {
		t.Errorf("%q", got)
	}
	m.Update(nil)
	m.toggleValue()
	if got := m.box.Query(); got != "release -source:linear" {
		t.Errorf("%q", got)
	}
}

// ! excludes the source under the cursor, which the line shows, and excludes it no longer; on the cell for all it says why not.
func TestASourceIsExcludedOnItsLine(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "rolling back a release"})
	screen.Wait("the end of the search", regexp.MustCompile(`4 documents · \d+ ms`).MatchString)
	screen.WaitText("All 4")
	screen.Press("f")
	screen.WaitText("[All 4]")
	screen.Press("!")
	screen.WaitText("move to a source to exclude it")
	screen.Press("right")
	screen.WaitText("[◆ Confluence 2]")
	screen.WaitText("◆ Confluence ›")
	screen.Press("!")
	screen.WaitText("not source: confluence ✕")
	screen.WaitText("[not ◆ Confluence]")
	screen.Wait("results without Confluence", func(text string) bool {
		return !strings.Contains(text, "◆ Confluence ›") && strings.Contains(text, "▷ Linear ›")
	})
	screen.Press("!")
	screen.WaitGone("not source")
	screen.WaitText("◆ Confluence ›")
}

// On a low screen there is no such line: f opens the filters.
func TestALowScreenHasNoLineOfSources(t *testing.T) {
	t.Parallel()
	screen := start(t, 80, 15, Options{Target: sampleTarget(t), Query: "rolling back a release"})
	screen.WaitText(" 4 documents")
	screen.WaitGone("All 4")
	screen.Press("f")
	screen.WaitText("[Sources]")
}

// A panel is as high as its content and lies over the reader, or over the middle of a narrow screen; the rest is dimmed.
func TestAPanelLeavesTheRestInSight(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 40}, {100, 36}} {
		m := New(t.Context(), Options{Target: Target{Kind: Library, Where: "the library"}, Now: today, Theme: "dark", Query: "roll back", Width: size[0], Height: size[1]})
		m.show(benchAnswer(m, 1))
		m.focus = InList
		m.Update(nil)
		m.openPicker()
		m.Update(nil)
		requireGeometry(t, m, "filters")
		content := m.View().Content
		if !strings.Contains(content, "best 50 ") || !strings.Contains(content, "close") {
			t.Errorf("%v: panel or results are missing:\n%s", size, content)
		}
		if dimmed := strings.TrimSuffix(m.theme.Stale.Render("│ › roll back"), "\x1b[m"); !strings.Contains(content, dimmed) {
			t.Errorf("%v: the rest is not dimmed:\n%s", size, content)
		}
		if lines := len(m.top().View(60, m.height, m.theme).Lines); lines > 8 {
			t.Errorf("%v: the panel has %d lines", size, lines)
		}
	}
}
