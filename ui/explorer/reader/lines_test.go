package reader

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

func TestLinesOfAWholeText(t *testing.T) {
	t.Parallel()
	th := theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
	text := strings.Repeat("A **bold** word and `code`, as [[1]](https://wiki.acme.com/1) says.\n\n- one\n- two\n\n", 400)
	for _, width := range []int{0, 1, 7, 40, 100} {
		lines := Lines(text, width, th)
		for _, line := range lines {
			if paint.Width(line) != width {
				t.Fatalf("width %d: %q", width, line)
			}
		}
		if plain := ansi.Strip(strings.Join(lines, "\n")); width >= 40 && (strings.Contains(plain, "**") || strings.Count(plain, "[1]") != 400) {
			t.Errorf("width %d: not rendered whole: %.300s", width, plain)
		}
	}
	if lines := Lines("", 40, th); len(lines) > 1 {
		t.Errorf("nothing takes %d lines", len(lines))
	}
}

// A table with empty cells is a table like any other, and keeps nothing around it from being rendered.
func TestATableWithEmptyCells(t *testing.T) {
	t.Parallel()
	th := theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
	text := "- one\n\n| a |  |\n|---|---|\n| 1 | |\n|  | 2 |\n"
	for _, width := range []int{60, 12} {
		if plain := ansi.Strip(strings.Join(Lines(text, width, th), "\n")); !strings.Contains(plain, "│ 2") || strings.Contains(plain, "---|") || strings.Contains(plain, "- one") {
			t.Errorf("width %d: not rendered:\n%s", width, plain)
		}
	}
}
