package explorer

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"quarry/internal/testkit/screentest"
)

// looks are the terminals that the pictures are taken in.
func looks() map[string]screentest.Options {
	return map[string]screentest.Options{
		"dark":  {Profile: colorprofile.TrueColor, Dark: true},
		"light": {Profile: colorprofile.TrueColor},
		"mono":  {Profile: colorprofile.ASCII, Dark: true, Env: []string{"NO_COLOR=1"}},
	}
}

// The whole screen in three sizes and three looks: `go test ./ui/explorer -run Pictures -update` takes them fresh.
func TestPictures(t *testing.T) {
	t.Parallel()
	for look, terminal := range looks() {
		for _, size := range [][2]int{{120, 40}, {80, 24}, {40, 12}} {
			name := fmt.Sprintf("%s-%dx%d", look, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				terminal := terminal // not the one of the other sizes
				terminal.Width, terminal.Height = size[0], size[1]
				screen := startIn(t, Options{Target: sampleTarget(t), Query: "rolling back a release"}, terminal)
				screen.WaitText(" 1  ")
				if !terminal.Dark { // the terminal says so a moment after the first frame
					screen.Wait("the accent of the light theme", func(string) bool {
						return strings.Contains(screen.Styled(), "38;2;26;93;171")
					})
				}
				screen.WaitText("· 1 ms") // the time stands there when the search has ended
				if size[1] >= stripHeight {
					screen.Wait("the sources, also those without matches", regexp.MustCompile(`\+\d+ +ctrl`).MatchString)
				}
				if size[0] == 120 {
					screen.WaitText("66 documents ╮")
					screen.WaitText("In a hurry?")
					screen.WaitGone("**In a hurry")
				}
				screen.Golden("results")
				screen.Press("enter")
				screen.Wait("the reader", func(text string) bool {
					return !strings.Contains(text, "**") && (strings.Contains(text, "hurry") || strings.Contains(text, "When to use")) && !strings.Contains(text, "↵ open")
				})
				screen.Golden("reader")
				screen.Press("?")
				screen.WaitText("All actions")
				screen.Golden("actions")
				screen.Press("esc")
				screen.WaitGone("All actions")
				screen.Press("ctrl+f")
				screen.WaitText("Sources")
				if size[1] < stripHeight { // the list is longer with those without matches, and so its thumb shorter
					screen.Wait("all sources", func(text string) bool { return strings.Count(text, "┃") == 3 })
				}
				screen.Golden("filters")
			})
		}
	}
}
