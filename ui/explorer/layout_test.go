package explorer

import (
	"slices"
	"testing"

	"quarry/internal/testkit/longtest"
)

func TestArrangementByBreakpoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width, height int
		want          Arrangement
	}{
		{0, 0, TooSmall}, {19, 50, TooSmall}, {200, 3, TooSmall},
		{20, 4, Bare}, {49, 60, Bare}, {200, 9, Bare},
		{50, 10, Single}, {79, 60, Single}, {80, 29, Single},
		{80, 30, Stacked}, {119, 60, Stacked},
		{120, 10, Side}, {240, 80, Side},
	} {
		if got := arrange(test.width, test.height); got != test.want {
			t.Errorf("%d×%d: arrangement %d, want %d", test.width, test.height, got, test.want)
		}
	}
}

// The rectangles of every size and shape fill the screen, one below the other, and never overlap.
func TestRectanglesFillTheScreen(t *testing.T) {
	t.Parallel()
	for _, width := range lengths(245, 20, 50, 80, 120) {
		for _, height := range lengths(85, 4, 10, 30) {
			for bits := range 192 {
				pinned := bits / 64 // not, while another one is read, or read itself
				shape := Shape{Chips: bits&1 != 0, Notes: []int{0, 3}[bits>>1&1], Reading: bits&4 != 0, Zoomed: bits&8 != 0,
					Wide: []int{0, -1000}[bits>>4&1], Panel: bits>>5&1 != 0, Empty: bits&3 == 3, Pinned: pinned > 0,
					OnPinned: pinned == 2 && bits&4 != 0}
				checkRects(t, width, height, shape)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// lengths returns those below a bound: all in the long form, else those beside breakpoints and some between.
func lengths(bound int, breakpoints ...int) (some []int) {
	for length := range bound {
		isBeside := slices.ContainsFunc(breakpoints, func(at int) bool { return length >= at-1 && length <= at+1 })
		if longtest.Enabled() || isBeside || length < 3 || length%9 == 0 {
			some = append(some, length)
		}
	}
	return some
}

func checkRects(t *testing.T, width, height int, shape Shape) {
	t.Helper()
	r := Layout(width, height, shape)
	if r.Arrangement == TooSmall {
		return
	}
	next := 0
	for _, part := range []Rect{r.QueryFrame, r.Chips, r.Strip, r.Body, r.Bar} {
		if part.H == 0 {
			continue
		}
		if part.Y != next || part.X != 0 || part.W != width {
			t.Fatalf("%d×%d %+v: %+v does not follow row %d", width, height, shape, part, next)
		}
		next += part.H
	}
	if next != height {
		t.Fatalf("%d×%d %+v: %d rows are laid out", width, height, shape, next)
	}
	area := 0
	for _, frame := range []Rect{r.ListFrame, r.ReaderFrame, r.PinnedFrame} {
		area += frame.W * frame.H
	}
	if area != r.Body.W*r.Body.H {
		t.Fatalf("%d×%d %+v: panes cover %d of %d cells: %+v", width, height, shape, area, r.Body.W*r.Body.H, r)
	}
	for part, whole := range map[Rect]Rect{r.Query: r.QueryFrame, r.Notes: r.ListFrame, r.List: r.ListFrame, r.Reader: r.ReaderFrame, r.Pinned: r.PinnedFrame} {
		if part.W < 0 || part.H < 0 || part.X < whole.X || part.Y < whole.Y || part.X+part.W > whole.X+whole.W ||
			part.Y+part.H > whole.Y+whole.H {
			t.Fatalf("%d×%d %+v: %+v leaves %+v", width, height, shape, part, whole)
		}
	}
}

// Borders go below 80 columns or 16 rows, and at the size of a classic terminal.
func TestBordersByBreakpoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		width, height int
		want          bool
	}{{120, 40, true}, {120, 16, true}, {120, 15, false}, {81, 24, true}, {80, 24, false}, {80, 30, true}, {79, 60, false}} {
		if got := Layout(test.width, test.height, Shape{}).Framed; got != test.want {
			t.Errorf("%d×%d: framed is %v", test.width, test.height, got)
		}
	}
}

// Terminals whose fonts lack round corners and signs get a screen in ASCII, in the same places.
func TestAScreenInASCII(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
		options := Options{Target: sampleTarget(t), Query: "rolling back a release", Caps: Capabilities{ASCII: NeedsASCII("linux")}}
		screen := start(t, size[0], size[1], options)
		screen.WaitText(" 1  Runbook: rolling back")
		for _, key := range []string{"", "f1", "esc", "w", "esc", "f2"} {
			if key != "" {
				screen.Press(key)
			}
			for _, sign := range []string{"─", "│", "╭", "╯", "▌", "›", "·", "…", "●", "↵", "◆", "▷"} {
				screen.WaitGone(sign)
			}
		}
	}
}
