package line_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/internal/testkit/longtest"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

func screenTheme() theme.Theme {
	return theme.ForScreen(theme.Options{Mode: "dark", Dark: true, Profile: colorprofile.TrueColor})
}

// checkView holds what must be true of every drawing: its width, and a cursor behind exactly the text that precedes it.
func checkView(t *testing.T, e *line.Editor, width int, masked bool) {
	t.Helper()
	drawn, x := e.View(width, screenTheme(), "what are you looking for? 何を", masked)
	if got := paint.Width(drawn); got != width {
		t.Fatalf("%q is drawn %d columns wide, not %d: %q", show(e), got, width, drawn)
	}
	if width == 0 {
		return
	}
	if x < 0 || x >= width {
		t.Fatalf("%q: the cursor is in column %d of %d", show(e), x, width)
	}
	plain := ansi.Strip(drawn)
	if !utf8.ValidString(plain) || strings.ContainsRune(plain, 0) {
		t.Fatalf("%q is drawn as %q", show(e), plain)
	}
	if e.Text() != "" {
		checkCursor(t, e, plain, x, masked)
	}
}

// checkCursor looks for the cells before the cursor at the start of the drawing, as many as are not scrolled away, and
// for the cell of the cursor behind them.
func checkCursor(t *testing.T, e *line.Editor, plain string, x int, masked bool) {
	t.Helper()
	before, after := painted(e.Text()[:e.Cursor()], masked), painted(e.Text()[e.Cursor():], masked)
	for hidden := len(before); hidden >= 0; hidden-- {
		left := strings.Join(before[hidden:], "")
		if hidden > 0 && paint.Width(plain) >= 8 {
			left = "…" + left
		}
		if paint.Width(left) > x {
			break
		}
		right, ok := strings.CutPrefix(plain, left)
		if !ok || paint.Width(left) != x {
			continue
		}
		if len(after) == 0 && strings.TrimLeft(right, " ") == "" || len(after) > 0 && strings.HasPrefix(right, after[0]) {
			return
		}
		if paint.Width(plain) < 3 { // no room for the wide character at the cursor
			return
		}
	}
	t.Fatalf("%q: the cursor is in column %d of %q", show(e), x, plain)
}

// painted is what the clusters of a text look like.
func painted(text string, masked bool) []string {
	var cells []string
	for clusters := graphemes.FromString(text); clusters.Next(); {
		cell := paint.Line(clusters.Value())
		switch {
		case masked:
			cell = "•"
		case strings.TrimLeftFunc(clusters.Value(), unicode.IsSpace) != clusters.Value():
			cell = " " + cell
		case paint.Width(cell) == 0:
			cell = "□"
		}
		cells = append(cells, cell)
	}
	return cells
}

func TestViewIsAsWideAsItSaysWithTheCursorInPlace(t *testing.T) {
	t.Parallel()
	for seed := range uint64(longtest.Rounds(100, 800)) {
		random := rand.New(rand.NewPCG(seed, 2))
		var e line.Editor
		for range random.IntN(40) {
			e.Paste(pieces()[random.IntN(len(pieces()))])
		}
		for range 20 {
			switch random.IntN(6) {
			case 0:
				e.Left()
			case 1:
				e.Right()
			case 2:
				e.DeleteBack()
			case 3:
				moveTo(&e, random.IntN(len(e.Text())+1))
			case 4:
				e.Insert(pieces()[random.IntN(len(pieces()))])
			case 5:
				e.DeleteWordBack()
			}
			checkView(t, &e, random.IntN(30), random.IntN(5) == 0)
		}
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	plain := theme.ForScreen(theme.Options{Mode: "mono", Profile: colorprofile.ASCII})
	for _, test := range []struct {
		name   string
		text   string // | is the cursor
		width  int
		masked bool
		want   string
		x      int
	}{
		{"placeholder", "|", 12, false, "search 検索 ", 0},
		{"placeholder cut", "|", 9, false, "search … ", 0},
		{"text", "abc|", 6, false, "abc   ", 3},
		{"wide", "漢字|", 6, false, "漢字  ", 4},
		{"jamo", "한글|abc", 9, false, "한글abc  ", 4},
		{"masked", "tök|en", 8, true, "•••••   ", 3},
		{"end of a long text", "abcdefghijkl|", 10, false, "…efghijkl ", 9},
		{"start of a long text", "|abcdefghijkl", 10, false, "abcdefghi…", 0},
		{"too narrow for an ellipsis", "abcdefgh|", 4, false, "fgh ", 3},
		{"one column", "abc|", 1, false, " ", 0},
		{"a wide character in one column", "a|漢", 1, false, " ", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			drawn, x := at(test.text).View(test.width, plain, "search 検索", test.masked)
			if got := ansi.Strip(drawn); got != test.want || x != test.x {
				t.Errorf("%q with the cursor in column %d, not %q and %d", got, x, test.want, test.x)
			}
		})
	}
}

func TestViewScrollsBackWhenThereIsRoomAgain(t *testing.T) {
	t.Parallel()
	var e line.Editor
	e.SetText("one two three four five")
	e.View(12, screenTheme(), "", false)
	for range 13 {
		e.DeleteBack()
	}
	drawn, x := e.View(12, screenTheme(), "", false)
	if got := ansi.Strip(drawn); got != "one two th  " || x != 10 {
		t.Errorf("%q with the cursor in column %d", got, x)
	}
}

func TestViewThatDidNotChangeCostsNothing(t *testing.T) {
	var e line.Editor
	e.SetText("how do we roll back")
	th := screenTheme()
	if n := testing.AllocsPerRun(100, func() { e.View(40, th, "x", false) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEditor(f *testing.F) {
	f.Add("roll back", []byte{1, 2, 3, 20, 4}, uint8(10))
	f.Add("🇩🇪👩‍💻 e\u0301 漢字", []byte{0, 0, 14, 15, 9, 13, 16}, uint8(3))
	f.Fuzz(func(t *testing.T, text string, keys []byte, width uint8) {
		var e line.Editor
		e.Paste(text)
		edits := []func(){e.Left, e.Right, e.WordLeft, e.WordRight, e.Home, e.End, e.DeleteBack, e.DeleteForward,
			e.DeleteWordBack, e.DeleteWordBackAlt, e.DeleteWordForward, e.KillToEnd, e.KillToStart, e.Yank, e.Transpose,
			e.Clear, e.Undo, e.Redo}
		for _, key := range keys[:min(len(keys), 100)] {
			if int(key) < len(edits) {
				edits[key]()
			} else {
				from := min(int(key), len(text))
				e.Insert(text[from:min(len(text), from+4)])
			}
			if !utf8.ValidString(e.Text()) {
				t.Fatalf("%q is not UTF-8", e.Text())
			}
			if before, after := split(e.Text()[:e.Cursor()]), split(e.Text()[e.Cursor():]); len(before)+len(after) != len(split(e.Text())) {
				t.Fatalf("the cursor is inside of a cluster: %q", show(&e))
			}
			checkView(t, &e, int(width)%50, false)
		}
	})
}

func BenchmarkTypeAndView(b *testing.B) {
	for name, text := range map[string]string{
		"short":      "how do we roll back a deploy",
		"long":       strings.Repeat("word ", 400),
		"long kanji": strings.Repeat("漢字 ", 680),
	} {
		b.Run(name, func(b *testing.B) {
			var e line.Editor
			e.SetText(text)
			th := screenTheme()
			for b.Loop() {
				e.Insert("x")
				e.View(100, th, "", false)
				e.DeleteBack()
				e.View(100, th, "", false)
			}
		})
	}
}
