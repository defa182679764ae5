package paint

import (
	"slices"
	"strings"
	"testing"
)

func TestFramesAreDrawn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		frame  Frame
		inside []string
		want   []string
	}{
		{Frame{Width: 14, Height: 4, Title: "Title", Hints: "esc"}, []string{"one         ", "two         "},
			[]string{"┌ Title ─────┐", "│one         │", "│two         ┃", "└ esc ───────┘"}},
		{Frame{Width: 12, Height: 4, Title: "A long title"}, []string{"          ", "          "},
			[]string{"┌ A long … ┐", "│          │", "│          ┃", "└──────────┘"}},
		{Frame{Width: 30, Height: 4, Title: "Title", Beside: "3 of 4"}, []string{Blank(26), Blank(26)},
			[]string{"┌ Title ───────────── 3 of 4 ┐", "│ " + Blank(26) + " │", "│ " + Blank(26) + " ┃", "└" + strings.Repeat("─", 28) + "┘"}},
	} {
		if got := test.frame.Around(test.inside, 1, 2); !slices.Equal(got, test.want) {
			t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

func TestFramesFillTheirPanel(t *testing.T) {
	t.Parallel()
	for width := range 60 {
		for height := range 12 {
			f := Frame{Width: width, Height: height, Title: "所有操作 all that can be done", Hints: "esc leave · 日本語"}
			if !f.Fits() {
				continue
			}
			w, h := f.Inside()
			if x, y := f.Inset(); w <= 0 || h <= 0 || w+2*x != width || h+2*y != height {
				t.Fatalf("%d×%d: the inside is %d×%d at %d,%d", width, height, w, h, x, y)
			}
			inside := make([]string, h)
			for i := range inside {
				inside[i] = Blank(w)
			}
			lines := f.Around(inside, 0, 0)
			if len(lines) != height {
				t.Fatalf("%d×%d: %d lines", width, height, len(lines))
			}
			for _, line := range lines {
				if Width(line) != width {
					t.Fatalf("%d×%d: %q", width, height, line)
				}
			}
		}
	}
}
