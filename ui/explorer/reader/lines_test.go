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

// TestMarksOfNotes: links between notes, footnotes, callouts and highlights are shown without their marks, code with them.
func TestMarksOfNotes(t *testing.T) {
	t.Parallel()
	th := theme.ForScreen(theme.Options{Mode: "dark", Profile: colorprofile.TrueColor})
	for text, want := range map[string]string{
		"Oaks grow by [[River page|the label]], [[Ash]] and ![[map.png]].[^1]\n\n[^1]: So it is *said*.": "Oaks grow by the label, Ash and map.png.^1 ^1: So it is said.",
		"> [!note] Mind the bank\n> It is steep.":                                                        "▎ Mind the bank ▎ It is steep.",
		"> [!WARNING]\n> It is deep.":                                                                    "▎ WARNING ▎ It is deep.",
		"> Not the [!first] word":                                                                        "▎ Not the [!first] word",
		"Run `test [[ -f plan ]]`, [[1]](https://a.example/) and ==marked== a == b":                      "Run test [[ -f plan ]], [1] and marked a == b",
		"Oaks[^1]\n\n[^1]: https://a.example/oak":                                                        "Oaks^1",
		"| a | b |\n|---|---|\n| [[Oak\\|tree]] | [[Ash]] |":                                             "a │ b ─────┼──── tree │ Ash",
		"It %%not sure%% grows 100%% or 50%% of it.^[So *it* is said.]":                                  "It grows 100%% or 50%% of it.[So it is said.]",
		"It %%not\nsure%% grows.\n\n%%\n# a\n\n- b\n%%\n\n`%%` End":                                      "It grows. %% End",
		"- [ ] open [[Oak]]\n- [x] done":                                                                 "[ ] open Oak [x] done",
	} {
		if plain := strings.Join(strings.Fields(ansi.Strip(strings.Join(Lines(text, 80, th), " "))), " "); plain != want {
			t.Errorf("%q:\n%q, want\n%q", text, plain, want)
		}
	}
}
