package strip

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

func screen() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

func sources() []Source {
	return []Source{{Value: "gmail", Name: "Gmail", Counted: true}, {Value: "google_drive", Name: "Google Drive", Count: 2, Counted: true},
		{Value: "slack", Name: "Slack", Count: 6, Counted: true, Active: true}, {Value: "confluence", Name: "Confluence", Count: 5, Counted: true}}
}

func TestView(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(sources())
	for width, want := range map[int]string{
		100: "  All 13   # Slack 6   ◆ Confluence 5   △ Drive 2   ✉ Gmail 0                        ctrl+f filters ",
		70:  " All 13  # Slack 6  ◆ Confluence 5  △ Drive 2  +1      ctrl+f filters ",
		40:  " All 13  # Slack 6  +3                  ",
		20:  " All 13  +4         ",
		6:   " +4   ",
		3:   "   ",
	} {
		if got := ansi.Strip(s.View(width, screen(), false, "ctrl+f filters")); got != want {
			t.Errorf("%d columns: %q, want %q", width, got, want)
		}
	}
	if line := s.View(100, screen(), false, ""); !strings.Contains(line, paint.PenOf(screen().Chip).Write("# Slack 6")) ||
		!strings.Contains(line, screen().Disabled.Render("✉ Gmail 0")) {
		t.Errorf("active and empty sources look like the others: %q", line)
	}
}

func TestSourcesAreChosen(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(sources())
	s.View(70, screen(), true, "ctrl+f filters")
	for _, test := range []struct {
		by   int
		want string
	}{{0, ""}, {1, ""}, {1, "slack confluence"}, {1, "slack google_drive"}} {
		s.Move(test.by)
		if got := strings.Join(s.Toggled(), " "); got != test.want || s.Rest() {
			t.Errorf("cell %d: %q, want %q", s.at, got, test.want)
		}
	}
	if s.Move(9); !s.Rest() || !strings.Contains(ansi.Strip(s.View(70, screen(), true, "ctrl+f filters")), "[+1]") {
		t.Errorf("the end of the line is %q", s.line)
	}
	if !s.MoveTo(10) || !slices.Equal(s.Toggled(), nil) || s.MoveTo(69) {
		t.Errorf("a click chose cell %d", s.at)
	}
	changed := sources()
	changed[2].Count, changed[3].Count = 1, 9 // the source under the cursor is another cell now
	s.Set(changed)
	if got := s.Toggled(); len(got) != 0 {
		t.Errorf("the cursor left its source: %q", got)
	}
	s.Set(nil)
	if s.View(70, screen(), true, ""); s.at != 0 || s.Rest() {
		t.Errorf("without sources the cursor is at %d", s.at)
	}
}

// An excluded source says so, stays in sight where nothing counts it, and keeps the cursor.
func TestAnExcludedSource(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(sources())
	s.View(40, screen(), true, "")
	s.Move(1)
	if source, ok := s.Chosen(); source != "slack" || !ok {
		t.Fatalf("the cursor is on %q", source)
	}
	excluded := sources()
	for i := range excluded {
		if excluded[i].Value == "slack" {
			excluded[i] = Source{Value: "slack", Name: "Slack", Counted: true, Excluded: true}
		}
	}
	s.Set(excluded)
	if got := ansi.Strip(s.View(40, screen(), true, "")); !strings.Contains(got, "[not # Slack]") {
		t.Errorf("%q", got)
	}
	if s.Move(9); s.Rest() {
		if source, ok := s.Chosen(); ok {
			t.Errorf("the cell for the rest is %q", source)
		}
	}
}
