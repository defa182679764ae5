package explorer

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"quarry/internal/testkit/screentest"
)

func TestFiltersAreChosenFromThePicker(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "roll back"})
	screen.WaitText("1 of ")
	screen.Press("ctrl+f")
	screen.WaitText("[Sources]")
	screen.Type("sla")
	screen.WaitGone("Zendesk   ")
	screen.Press("space")
	screen.WaitText("[x]")
	screen.Press("enter")
	screen.WaitText("source: slack ✕")
	screen.Wait("only Slack in the list", func(text string) bool {
		return strings.Contains(text, "Slack") && !strings.Contains(text, "◊ Confluence")
	})
	screen.Press("u")
	screen.WaitGone("source: slack")
	screen.Press("ctrl+f")
	screen.WaitText("[Sources]")
	screen.Press("space")
	screen.WaitText("[x]")
	screen.Press("esc")
	screen.WaitGone("[Sources]")
	if strings.Contains(screen.Text(), "✕") {
		t.Errorf("leaving the picker changed the filters:\n%s", screen.Frame())
	}
}

// What is typed in the box is a change like a filter from the picker.
func TestUndoGoesThroughQueriesAndFilters(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "alarm"})
	screen.WaitText("1 of ")
	search := func(keys, text string) {
		screen.Press("/")
		if keys != "" {
			screen.Press(keys)
		}
		screen.Type(text)
		screen.Press("enter")
		screen.WaitText("1 of ")
	}
	search("", " source:slack")
	screen.WaitText("source: slack ✕")
	search("ctrl+u", "leave")
	search("ctrl+u", "deploy")
	for _, query := range []string{"› leave ", "› alarm "} {
		screen.Press("u")
		screen.WaitText(query)
	}
	screen.WaitText("source: slack ✕")
	screen.Press("u")
	screen.WaitGone("source: slack ✕")
	screen.Press("u")
	screen.WaitText("nothing to undo")
}

func TestTimeIsChosenFromThePicker(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "roll back"})
	screen.WaitText("1 of ")
	screen.Press("ctrl+f")
	screen.Press("tab")
	screen.WaitText("by month")
	screen.Type("2026-01..2026-03")
	screen.Press("enter")
	screen.WaitText("since 2026-01-01 ✕")
	screen.WaitText("until 2026-03-31 ✕")
}

// Before anything is asked, the picker counts all documents.
func TestThePickerBeforeAnyWord(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Press("ctrl+f")
	screen.WaitText("Slack")
	screen.Wait("counts", func(text string) bool { return strings.Contains(text, "█ 12") || strings.Contains(text, " 12 ") })
}

func TestAllActions(t *testing.T) {
	t.Parallel()
	m := &machine{}
	screen := start(t, 140, 40, Options{Target: sampleTarget(t), Query: "roll back", Caps: m.capabilities()})
	screen.WaitText("1 of ")
	screen.Press("?")
	screen.WaitText("All actions")
	screen.Type("citation")
	screen.WaitText("Copy the citation")
	screen.WaitGone("Open the passage in the reader")
	screen.Press("down", "up", "esc")
	screen.WaitGone("All actions")
	screen.Press("f1")
	screen.WaitText("All actions")
	screen.Type("copy the citation")
	screen.Press("enter")
	screen.WaitText("citation [1] copied")
	screen.Press("?")
	screen.Type("undo the last change")
	screen.WaitText("unavailable: nothing to undo")
	screen.Press("enter")
	screen.WaitText("All actions") // it stays, and the reason is told
}

// The list of actions opens over panels and prompts, too: it begins with what can be done there, and what was typed there stays.
func TestAllActionsFromPanels(t *testing.T) {
	t.Parallel()
	m := &machine{}
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back", Caps: m.capabilities()})
	screen.WaitText("All 8") // the library is open
	screen.Press("enter", "ctrl+f")
	screen.WaitText("[Sources]")
	screen.Type("sla")
	screen.WaitText("› sla")
	screen.Press("f1")
	screen.WaitText("All actions")
	screen.WaitText("Exclude a value")
	screen.Press("f1")
	screen.WaitText("› sla")
	screen.Press("f1")
	screen.WaitText("All actions")
	screen.Type("next tab")
	screen.WaitGone("Exclude a value")
	screen.Press("enter")
	screen.WaitText("[Time]")
	screen.Press("esc")
	screen.WaitGone("[Time]")
	screen.Press("ctrl+s")
	screen.WaitText("Save search as")
	screen.Type("mine")
	screen.Press("f1")
	screen.WaitText("Save what is typed")
	screen.Press("esc")
	screen.WaitText("› mine")
	screen.Press("esc")
	screen.WaitGone("› mine")
}

// Actions of panels are found everywhere, by the words that people look for, and lead to their panel.
func TestActionsOfPanelsAreFound(t *testing.T) {
	t.Parallel()
	m := &machine{}
	screen := start(t, 140, 44, Options{Target: sampleTarget(t), Query: "roll back", Caps: m.capabilities()})
	screen.WaitText("All 8")
	screen.Press("enter", "f1")
	screen.WaitText("All actions")
	screen.Type("note about")
	screen.WaitText("unavailable: no passages are marked")
	screen.Press("esc")
	screen.WaitGone("All actions")
	screen.Press("tab")
	screen.WaitText("● 1 marked")
	screen.Press("f1")
	screen.WaitText("All actions")
	screen.Type("note about")
	screen.WaitGone("Quit")
	screen.Press("enter")
	screen.WaitText("╭ Collection")
	screen.Press("esc")
	screen.WaitGone("╭ Collection")
	for typed, want := range map[string]string{"export": "Export the collection as Markdown", "history": "Open the history"} {
		screen.Press("f1")
		screen.WaitText("All actions")
		screen.Type(typed)
		screen.WaitText("▌ ")
		screen.WaitText(want)
		screen.Press("f1")
		screen.WaitGone("All actions")
	}
	screen.Press("X")
	screen.WaitText("Export 1 passage")
}

func TestTheThemeFollowsTheTerminal(t *testing.T) {
	t.Parallel()
	for name, terminal := range map[string]screentest.Options{
		"dark":     {Width: 100, Height: 30, Profile: colorprofile.TrueColor, Dark: true},
		"light":    {Width: 100, Height: 30, Profile: colorprofile.TrueColor},
		"ansi16":   {Width: 100, Height: 30, Profile: colorprofile.ANSI, Dark: true},
		"no-color": {Width: 100, Height: 30, Profile: colorprofile.ASCII, Dark: true, Env: []string{"NO_COLOR=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			screen := startIn(t, Options{Target: longLibrary().library(t), Query: "rollback"}, terminal)
			screen.WaitText("1 document ")
			screen.WaitText("Part 20 says")
			styled := screen.Styled()
			if coloured := strings.Contains(styled, "38;") || strings.Contains(styled, "\x1b[3"); name == "no-color" && coloured {
				t.Errorf("colour without leave:\n%q", styled)
			}
		})
	}
}

func TestTheMouseIsOffUntilAskedFor(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 30, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("1 document ")
	if screen.Modes().Mouse {
		t.Error("the mouse is captured from the start")
	}
	screen.Press("ctrl+o")
	screen.WaitText("mouse on")
	screen.Wait("the mouse to be captured", func(string) bool { return screen.Modes().Mouse })
	screen.Press("ctrl+o")
	screen.WaitText("mouse off")
}

func TestQuittingRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"ctrl+c"}, {"q"}} {
		screen := start(t, 120, 30, Options{Target: longLibrary().library(t), Query: "rollback"})
		screen.WaitText("1 document ")
		screen.Press(keys...)
		screen.RequireRestored()
	}
}

func TestPanesAreResizedAndZoomed(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 30, Options{Target: longLibrary().library(t), Query: "rollback"})
	screen.WaitText("1 document ")
	column := func() int {
		for line := range strings.Lines(screen.Text()) {
			if before, _, found := strings.Cut(line, "╮╭"); found {
				return len([]rune(before))
			}
		}
		return -1
	}
	before := column()
	screen.Press("ctrl+right")
	screen.Wait("the divider to move", func(string) bool { return column() == before+dividerStep })
	screen.Press("ctrl+left")
	screen.Wait("the divider to come back", func(string) bool { return column() == before })
	screen.Press("z")
	screen.Wait("the divider to go", func(string) bool { return column() == -1 })
	screen.Press("z")
	screen.Wait("the divider to be there again", func(string) bool { return column() == before })
}

func TestPastingIntoTheQuery(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 30, Options{Target: sampleTarget(t)})
	screen.WaitText("documents in")
	screen.Paste("migration\nguard\tsource:confluence")
	screen.WaitText("migration guard")
	screen.WaitText("source: confluence ✕")
}

func TestTinyTerminals(t *testing.T) {
	t.Parallel()
	screen := start(t, 20, 4, Options{Target: sampleTarget(t), Query: "migration guard"})
	screen.WaitText(" 1  ")
	screen.Resize(19, 4)
	screen.WaitText("too small")
	screen.Resize(40, 12)
	screen.WaitText(" 1  ")
	screen.Resize(160, 45)
	screen.WaitText("Confluence")
}

func TestWhyTheseResults(t *testing.T) {
	t.Parallel()
	screen := start(t, 140, 45, Options{Target: sampleTarget(t), Query: "roll back source:confluence"})
	screen.WaitText("1 of ")
	screen.WaitText("· 1 ms")
	screen.Press("w")
	screen.WaitText("Why these results")
	screen.WaitText("original")
	screen.WaitText("set by you")
	screen.WaitText("retrieve")
	screen.WaitText("1. for “roll back”")
	screen.Press("esc")
	screen.WaitGone("Why these results")
}

// Before anything is found, what there is to search and to ask has the room that the reader would have.
func TestTheWelcomeHasTheRoomOfTheReader(t *testing.T) {
	t.Parallel()
	screen := start(t, 100, 34, Options{Target: sampleTarget(t)})
	screen.WaitText("how do we roll back a deploy")
	screen.Press("tab")
	screen.WaitText("Runbook: rolling back a release")
	screen.WaitText("In a hurry?")
}
