package panel

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

func entries() []Entry {
	return []Entry{
		{Action: "search", Group: "Search", Text: "Run the whole search", Keys: "↵"},
		{Action: "undo", Group: "Search", Text: "Bring back the query and the filters as they were", Keys: "u", Reason: "nothing to undo"},
		{Action: "cite", Group: "Take away", Text: "Copy the citation", Keys: "y"},
		{Action: "copy", Group: "Take away", Text: "Copy the passage", Keys: "Y"},
		{Action: "wide", Group: "字", Text: strings.Repeat("広い ", 80), Keys: "ctrl+shift+alt+f12 ctrl+shift+alt+f11"},
	}
}

func typing(p *Actions, text string) { p.Edit(func(e *line.Editor) { e.Insert(text) }) }

func TestTypingNarrows(t *testing.T) {
	t.Parallel()
	var p Actions
	p.Open("All actions", "no action matches", entries())
	typing(&p, "copy cit")
	chosen, ok := p.Chosen()
	if !ok || chosen.Action != "cite" {
		t.Errorf("chosen %+v", chosen)
	}
	typing(&p, "zzz")
	if _, ok := p.Chosen(); ok {
		t.Error("something is chosen though nothing matches")
	}
	lines := Draw(&p, 60, 20, dark(), "").Lines
	if !strings.Contains(strings.Join(lines, "\n"), "no action matches") {
		t.Errorf("%q", lines)
	}
	p.Open("All actions", "no action matches", entries())
	if chosen, _ := p.Chosen(); chosen.Action != "search" {
		t.Errorf("after opening anew %+v is chosen", chosen)
	}
}

func TestTheChoiceStaysInSight(t *testing.T) {
	t.Parallel()
	var p Actions
	var many []Entry
	for i := range 60 {
		many = append(many, Entry{Action: fmt.Sprint(i), Group: fmt.Sprint("group ", i/7), Text: fmt.Sprintf("action number %d.", i)})
	}
	p.Open("All actions", "no action matches", many)
	random := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		switch random.IntN(3) {
		case 0:
			p.Move(random.IntN(9) - 4)
		case 1:
			p.Page(random.IntN(3) - 1)
		}
		chosen, _ := p.Chosen()
		lines := Draw(&p, 60, 2+random.IntN(30), dark(), "").Lines
		if !strings.Contains(strings.Join(lines, "\n"), chosen.Text) {
			t.Fatalf("%q is not in sight of %q", chosen.Text, lines)
		}
	}
}

func TestAReasonIsTold(t *testing.T) {
	t.Parallel()
	var p Actions
	p.Open("All actions", "no action matches", entries())
	p.Move(1)
	for _, width := range []int{60, 40} {
		if text := wordsOf(Draw(&p, width, 20, dark(), "").Lines); !strings.Contains(text, "unavailable: nothing to undo") {
			t.Error(text)
		}
	}
}

// No text is cut, however narrow the panel.
func TestTheTextsOfActionsAreWhole(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 60, 100} {
		var p Actions
		p.Open("All actions", "no action matches", []Entry{{Action: "back", Group: "Search", Keys: "esc", Text: "Go back: stop the search, close the reader, leave the list, clear the query"}})
		text := wordsOf(Draw(&p, width, 20, dark(), "").Lines)
		if !strings.Contains(text, "leave the list, clear the query") || strings.Contains(text, "…") {
			t.Errorf("%d columns: %s", width, text)
		}
	}
}

// wordsOf are the words of a panel, across its lines.
func wordsOf(lines []string) string {
	text := ansi.Strip(strings.Join(lines, " "))
	return strings.Join(strings.Fields(strings.NewReplacer("│", "", "┃", "", "▌", "").Replace(text)), " ")
}

func TestActionsFillTheirRectangle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	for range 300 {
		var p Actions
		p.Open("All actions", "no action matches", entries())
		typing(&p, []string{"", "copy", "広", "q"}[random.IntN(4)])
		p.Move(random.IntN(6))
		requireFilled(t, &p, random)
	}
}

// The ground of the chosen row has no holes.
func TestTheChosenRowIsOneGround(t *testing.T) {
	t.Parallel()
	var p Actions
	p.Open("All actions", "no action matches", entries())
	th := theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
	for range entries() {
		lines := Draw(&p, 60, 20, th, "").Lines
		for _, line := range lines {
			from, to := strings.Index(line, "▌"), strings.LastIndex(line, "\x1b[m ") // between the borders
			if from < 0 {
				continue
			}
			ground := line[from:to]
			if hole := regexp.MustCompile("\x1b\\[m[^\x1b]"); hole.MatchString(ground) || paint.Width(ground) != 60-4 {
				t.Errorf("%q", line)
			}
		}
		p.Move(1)
	}
}

func TestWhatIsTypedNarrowsTheList(t *testing.T) {
	t.Parallel()
	var p Actions
	p.Open("All actions", "no action matches", []Entry{
		{Action: "search", Group: "Search", Text: "Run the whole search", Keys: "↵"},
		{Action: "whole", Group: "Reader", Text: "Bring in the whole document", Keys: "E"},
		{Action: "expand", Group: "Reader", Text: "Bring in the passages around", Keys: "e"},
		{Action: "research", Group: "Search", Text: "Ask anew", Keys: "r ctrl+r"},
		{Action: "theme", Group: "Screen", Text: "Next theme", Keys: "T"},
	})
	for typed, want := range map[string][]string{
		"":         {"search", "whole", "expand", "research", "theme"},
		"E":        {"whole", "expand", "search", "research", "theme"},
		"e":        {"expand", "whole", "search", "research", "theme"},
		"ctrl+r":   {"research"},
		"the":      {"search", "whole", "expand", "theme"},
		"new ask":  {"research"},
		"reader":   {"whole", "expand"},
		"SEARCH":   {"search", "research"},
		"nonsense": nil,
	} {
		p.Edit(func(e *line.Editor) { e.SetText(typed) })
		var got []string
		for _, i := range p.shown {
			got = append(got, p.entries[i].Action)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", typed, got, want)
		}
	}
}

// The cursor stands behind what is typed, in a frame and without one.
func TestTheCursorFollowsWhatIsTyped(t *testing.T) {
	t.Parallel()
	mono := theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
	for _, test := range []struct {
		width, height int
		before        string
		y             int
	}{{60, 20, "│ › copy", 1}, {20, 4, "│› copy", 1}, {60, 3, "› copy", 1}} {
		var p Actions
		p.Open("All actions", "no action matches", entries())
		typing(&p, "copy")
		body := Draw(&p, test.width, test.height, mono, "")
		x, y := body.X, body.Y
		text := ansi.Strip(body.Lines[y])
		if y != test.y || !strings.HasPrefix(text, test.before) || x != paint.Width(test.before) {
			t.Errorf("%d×%d: the cursor is at %d,%d of %q", test.width, test.height, x, y, text)
		}
		if framed := strings.HasPrefix(ansi.Strip(body.Lines[0]), "╭ All actions ─"); framed != (test.height > 3) {
			t.Errorf("%d×%d: %q", test.width, test.height, body.Lines[0])
		}
	}
}

// Why an action cannot run is found, too.
func TestReasonsAreFound(t *testing.T) {
	var p Actions
	p.Open("All actions", "no action matches", []Entry{
		{Action: "answer", Text: "Ask a model", Reason: "no language model is configured"}, {Action: "open", Text: "Open"}})
	p.Edit(func(e *line.Editor) { e.Insert("configured") })
	if chosen, ok := p.Chosen(); !ok || chosen.Action != "answer" || len(p.shown) != 1 {
		t.Errorf("%+v of %d", chosen, len(p.shown))
	}
}
