package explorer

import (
	"testing"
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
	for width := range 245 {
		for height := range 85 {
			for bits := range 128 {
				shape := Shape{Chips: bits&1 != 0, Banner: bits&2 != 0, Reading: bits&4 != 0, Zoomed: bits&8 != 0,
					Wide: []int{0, -1000}[bits>>4&1], Panel: bits>>5&1 != 0, Empty: bits>>6 != 0}
				checkRects(t, width, height, shape)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func checkRects(t *testing.T, width, height int, shape Shape) {
	t.Helper()
	r := Layout(width, height, shape)
	if r.Arrangement == TooSmall {
		return
	}
	next := 0
	for _, part := range []Rect{r.Query, r.Chips, r.Banner, r.TopRule, r.Body, r.BottomRule, r.Bar} {
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
	area := r.Summary.W*r.Summary.H + r.List.W*r.List.H + r.Divider.W*r.Divider.H + r.Reader.W*r.Reader.H
	if area != r.Body.W*r.Body.H {
		t.Fatalf("%d×%d %+v: panes cover %d of %d cells: %+v", width, height, shape, area, r.Body.W*r.Body.H, r)
	}
	for _, part := range []Rect{r.Body, r.Summary, r.List, r.Divider, r.Reader} {
		if part.W < 0 || part.H < 0 || part.X+part.W > width || part.Y+part.H > height {
			t.Fatalf("%d×%d %+v: %+v leaves the screen", width, height, shape, part)
		}
	}
}
