package reader

import (
	"fmt"
	"strings"
	"testing"
)

// wideTable is a table of columns and rows with cells like "r3c4 and words".
func wideTable(columns, rows int) string {
	var text strings.Builder
	for row := -1; row <= rows; row++ {
		for column := range columns {
			switch row {
			case -1:
				fmt.Fprintf(&text, "| head %d ", column)
			case 0:
				text.WriteString("|---")
			default:
				fmt.Fprintf(&text, "| r%dc%d and some words ", row, column)
			}
		}
		text.WriteString("|\n")
	}
	return text.String()
}

func TestAWideTableScrollsSideways(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content, d.CanExpand, d.ChunkCount, d.ChunkStart, d.ChunkEnd = "before\n\n"+wideTable(6, 3)+"\nafter", true, 1, 0, 0
	var r Reader
	r.Show(d)
	r.View(50, 20, darkTheme())
	render(&r)
	lines := func() []string { return plainView(&r, 50, 20)[len(r.header(20)):] }
	want := []string{"before", "", "head 0              │ head 1              │ hea›", "────────────────────┼─────────────────────┼────›",
		"r1c0 and some words │ r1c1 and some words │ r1c›"}
	for i, line := range lines()[:5] {
		if i == 2 {
			line = strings.ReplaceAll(line, "  ", " ")
			want[i] = strings.ReplaceAll(want[i], "  ", " ")
		}
		if !strings.HasSuffix(line, "›") && i > 1 || i < 2 && line != want[i] {
			t.Errorf("line %d: %q, want %q", i, line, want[i])
		}
	}
	if r.Sideways(-1); r.left != 0 {
		t.Error("it scrolls to the left of its beginning")
	}
	seen := map[string]bool{}
	for steps := 0; ; steps++ {
		view := lines()
		for column := range 6 {
			if cell := fmt.Sprintf("r3c%d and some words", column); strings.Contains(strings.Join(view, "\n"), cell) &&
				strings.Contains(view[2], fmt.Sprintf("head %d", column)) {
				seen[cell] = true
			}
		}
		if view[0] != "before" || view[8] != "after" {
			t.Fatalf("other text moved: %q", view)
		}
		left := r.left
		if r.Sideways(1); r.left == left {
			if !strings.Contains(view[2], "‹") || !strings.HasPrefix(view[4], "r1c0 and some words ‹ ") || strings.HasSuffix(view[2], "›") {
				t.Errorf("at the end: %q", view[2])
			}
			if steps > 6 {
				t.Errorf("%d steps", steps)
			}
			break
		}
	}
	if len(seen) != 6 {
		t.Errorf("columns that were seen whole below their heads: %v", seen)
	}
	for range seen {
		r.Sideways(-1)
	}
	if view := lines(); !strings.HasPrefix(view[2], "head 0") {
		t.Errorf("back at the beginning: %q", view[2])
	}
}

// A step goes to the beginning of a column, also where one fills the pane beside the first.
func TestAStepIsAColumn(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long words of a cell ", 6)
	d := runbook()
	d.Content = "| head 0 | head 1 | head 2 | head 3 |\n|---|---|---|---|\n|" + strings.Repeat(long+"|", 4) + "\n"
	for _, width := range []int{62, 70} {
		var r Reader
		r.Show(d)
		r.View(width, 30, darkTheme())
		render(&r)
		require := func(steps int, want string) {
			t.Helper()
			if view := strings.Join(plainView(&r, width, 30), "\n"); !strings.Contains(view, want) {
				t.Errorf("%d columns, after %d steps the view lacks %q:\n%s", width, steps, want, view)
			}
		}
		require(0, "│ head 1")
		r.Sideways(1)
		require(1, "‹ head 2")
		r.Sideways(1)
		require(2, " head 3")
		r.Sideways(-1)
		require(3, "‹ head 2")
		r.Sideways(-1)
		require(4, "│ head 1")
	}
}

// A table whose text can be wrapped does not scroll; in a narrow pane a wide one becomes a list.
func TestTablesThatNeedNotScroll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text  string
		width int
		list  bool
	}{
		"wrapped": {"| a | b |\n|---|---|\n| x | " + strings.Repeat("words ", 40) + " |\n", 50, false},
		"narrow":  {wideTable(6, 2), 28, true},
	} {
		d := runbook()
		d.Content = test.text
		var r Reader
		r.Show(d)
		r.View(test.width, 30, darkTheme())
		render(&r)
		view := strings.Join(plainView(&r, test.width, 30), "\n")
		if r.HasWideTable() || strings.Contains(view, "›\n") || strings.Contains(view, "head 0: ") != test.list {
			t.Errorf("%s:\n%s", name, view)
		}
	}
}

// Rows of several lines are kept apart, without another line across.
func TestRoomBetweenRows(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content = "| a | b |\n|---|---|\n| 1 | one |\n| 2 | two |\n| 3 | " + strings.Repeat("three ", 20) + "|\n| 4 | four |\n"
	var r Reader
	r.Show(d)
	r.View(60, 30, darkTheme())
	render(&r)
	view := strings.Join(plainView(&r, 60, 30), "\n")
	const room = "  │\n"
	if want := "1 │ one\n2 │ two\n" + room + "3 │ three"; !strings.Contains(view, want) || !strings.Contains(view, room+"4 │ four") {
		t.Errorf("the view lacks %q:\n%s", want, view)
	}
}

// The head of a table stays at the top of the view while its rows scroll.
func TestTheHeadOfATableStays(t *testing.T) {
	t.Parallel()
	d := runbook()
	d.Content, d.Highlights = wideTable(2, 60)+"\n"+strings.Repeat("after\n\n", 30), nil
	d.Words = nil
	var r Reader
	r.Show(d)
	r.View(60, 20, darkTheme())
	render(&r)
	top := func() string { return plainView(&r, 60, 20)[len(r.header(20))] }
	r.Down(2) // the seam above
	for step := range 61 {
		if !strings.HasPrefix(top(), "head 0") {
			t.Fatalf("after %d lines: %q", step, top())
		}
		r.Down(1)
	}
	if got := top(); !strings.HasPrefix(got, "r60c0") {
		t.Errorf("the last row: %q", got)
	}
	r.Down(1)
	if got := top(); got != "" {
		t.Errorf("below the table: %q", got)
	}
}
