package strip

import (
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
)

func screen() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

func sources() []Value {
	return []Value{{Value: "gmail", Counted: true}, {Value: "google_drive", Count: 2, Counted: true},
		{Value: "slack", Count: 6, Counted: true, Active: true}, {Value: "confluence", Count: 5, Counted: true}}
}

func TestView(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(dimension.Dimension{}, sources(), 0)
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
	if line := s.View(100, screen(), false, ""); !strings.Contains(line, screen().Chip.Render("# Slack 6")) ||
		!strings.Contains(line, screen().Disabled.Render("✉ Gmail 0")) {
		t.Errorf("active and empty sources look like the others: %q", line)
	}
}

func TestSourcesAreChosen(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(dimension.Dimension{}, sources(), 0)
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
		t.Errorf("the end of the line is %q", s.row.String())
	}
	if !s.MoveTo(10) || !slices.Equal(s.Toggled(), nil) || s.MoveTo(69) {
		t.Errorf("a click chose cell %d", s.at)
	}
	changed := sources()
	changed[2].Count, changed[3].Count = 1, 9 // the source under the cursor is another cell now
	s.Set(dimension.Dimension{}, changed, 0)
	if got := s.Toggled(); len(got) != 0 {
		t.Errorf("the cursor left its source: %q", got)
	}
	s.Set(dimension.Dimension{}, nil, 0)
	if s.View(70, screen(), true, ""); s.at != 0 || s.Rest() {
		t.Errorf("without sources the cursor is at %d", s.at)
	}
}

// An excluded source says so, stays in sight where nothing counts it, and keeps the cursor.
func TestAnExcludedSource(t *testing.T) {
	t.Parallel()
	var s Strip
	s.Set(dimension.Dimension{}, sources(), 0)
	s.View(40, screen(), true, "")
	s.Move(1)
	if source, ok := s.Chosen(); source != "slack" || !ok {
		t.Fatalf("the cursor is on %q", source)
	}
	excluded := sources()
	for i := range excluded {
		if excluded[i].Value == "slack" {
			excluded[i] = Value{Value: "slack", Counted: true, Excluded: true}
		}
	}
	s.Set(dimension.Dimension{}, excluded, 0)
	if got := ansi.Strip(s.View(40, screen(), true, "")); !strings.Contains(got, "[not # Slack]") {
		t.Errorf("%q", got)
	}
	if s.Move(9); s.Rest() {
		if source, ok := s.Chosen(); ok {
			t.Errorf("the cell for the rest is %q", source)
		}
	}
}

// Places have their last names without marks, each in a colour of its own, and documents outside of them are counted.
func TestPlaces(t *testing.T) {
	t.Parallel()
	var s Strip
	by := dimension.ByPlace([]wire.FacetValue{{Value: "handbook/people"}, {Value: "/handbook/teams"}})
	s.Set(by, []Value{{Value: "handbook/people", Count: 6, Counted: true}, {Value: "/handbook/teams", Count: 2, Counted: true},
		{Value: "handbook/people/leave"}}, 9)
	line := s.View(70, screen(), false, "")
	if got, want := strings.TrimRight(ansi.Strip(line), " "), " All 9  people 6  teams 2  leave"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	people, teams := screen().PlaceStyle(0).Render("people"), screen().PlaceStyle(1).Render("teams")
	if !strings.Contains(line, people) || !strings.Contains(line, teams) || people == teams {
		t.Errorf("the places look alike: %q", line)
	}
}
