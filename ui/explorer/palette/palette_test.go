package palette

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
		{Action: "undo", Group: "Search", Text: "Bring back the query and the filters as they were", Keys: "u", Reason: "nothing was changed yet"},
		{Action: "cite", Group: "Take away", Text: "Copy the citation", Keys: "y"},
		{Action: "copy", Group: "Take away", Text: "Copy the passage", Keys: "Y"},
		{Action: "wide", Group: "字", Text: strings.Repeat("広い ", 80), Keys: "ctrl+shift+alt+f12 ctrl+shift+alt+f11"},
	}
}

func typing(p *Palette, text string) { p.Edit(func(e *line.Editor) bool { return e.Insert(text) }) }

func look() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
}

func TestTypingNarrows(t *testing.T) {
	t.Parallel()
	var p Palette
	p.Open(entries())
	typing(&p, "copy cit")
	chosen, ok := p.Chosen()
	if !ok || chosen.Action != "cite" {
		t.Errorf("chosen %+v", chosen)
	}
	typing(&p, "zzz")
	if _, ok := p.Chosen(); ok {
		t.Error("something is chosen though nothing matches")
	}
	lines, _, _ := p.View(60, 20, look(), "")
	if !strings.Contains(strings.Join(lines, "\n"), "no action matches") {
		t.Errorf("%q", lines)
	}
	p.Open(entries())
	if chosen, _ := p.Chosen(); chosen.Action != "search" {
		t.Errorf("after opening anew %+v is chosen", chosen)
	}
}

func TestTheChoiceStaysInSight(t *testing.T) {
	t.Parallel()
	var p Palette
	var many []Entry
	for i := range 60 {
		many = append(many, Entry{Action: fmt.Sprint(i), Group: fmt.Sprint("group ", i/7), Text: fmt.Sprintf("action number %d.", i)})
	}
	p.Open(many)
	random := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		switch random.IntN(3) {
		case 0:
			p.Move(random.IntN(9) - 4)
		case 1:
			p.Page(random.IntN(3) - 1)
		}
		chosen, _ := p.Chosen()
		lines, _, _ := p.View(60, 2+random.IntN(30), look(), "")
		if !strings.Contains(strings.Join(lines, "\n"), chosen.Text) {
			t.Fatalf("%q is not in sight of %q", chosen.Text, lines)
		}
	}
}

func TestAReasonIsTold(t *testing.T) {
	t.Parallel()
	var p Palette
	p.Open(entries())
	p.Move(1)
	for _, width := range []int{60, 40} {
		lines, _, _ := p.View(width, 20, look(), "")
		if !strings.Contains(strings.Join(lines, "\n"), "not now: nothing was changed yet") {
			t.Errorf("%q", lines)
		}
	}
}

func TestTheViewFillsItsRectangle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		var p Palette
		p.Open(entries())
		typing(&p, []string{"", "copy", "広", "q"}[random.IntN(4)])
		p.Move(random.IntN(6))
		width, height := random.IntN(120), random.IntN(40)
		lines, x, y := p.View(width, height, look(), []string{"", "esc leave"}[random.IntN(2)])
		if len(lines) != height || width > 0 && x >= width || height > 0 && y >= height {
			t.Fatalf("%d×%d: %d lines, cursor at %d,%d", width, height, len(lines), x, y)
		}
		for _, line := range lines {
			if paint.Width(line) != width {
				t.Fatalf("%d×%d: %q is %d wide", width, height, line, paint.Width(line))
			}
		}
	}
}

// The ground of the chosen row has no holes.
func TestTheChosenRowIsOneGround(t *testing.T) {
	t.Parallel()
	var p Palette
	p.Open(entries())
	th := theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
	for range entries() {
		lines, _, _ := p.View(60, 20, th, "")
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
	var p Palette
	p.Open([]Entry{
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
		p.Edit(func(e *line.Editor) bool { e.SetText(typed); return true })
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
	}{{60, 20, "│ › copy", 1}, {20, 4, "│› copy", 1}, {60, 3, "All actions  copy", 0}} {
		var p Palette
		p.Open(entries())
		typing(&p, "copy")
		lines, x, y := p.View(test.width, test.height, mono, "")
		text := ansi.Strip(lines[y])
		if y != test.y || !strings.HasPrefix(text, test.before) || x != paint.Width(test.before) {
			t.Errorf("%d×%d: the cursor is at %d,%d of %q", test.width, test.height, x, y, text)
		}
		if framed := strings.HasPrefix(ansi.Strip(lines[0]), "┌ All actions ─"); framed != (y > 0) {
			t.Errorf("%d×%d: %q", test.width, test.height, lines[0])
		}
	}
}
