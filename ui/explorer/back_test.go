package explorer

import (
	"strings"
	"testing"
)

// Esc closes what is open. With nothing open the list keeps the keys, so that none of them is typed into the query.
func TestEscNeverLeadsFromTheListToTheQuery(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{140, 40}, {80, 24}, {60, 20}, {40, 12}} {
		screen := start(t, size[0], size[1], Options{Target: sampleTarget(t), Query: "deploy"})
		screen.WaitText("deploy")
		screen.Wait("the results", func(text string) bool {
			return strings.Contains(text, "documents · ") && !strings.Contains(text, "searching")
		})
		screen.Press("enter", "esc", "esc", "esc", "j", "j", "k")
		screen.Press("m", "x", "y")
		if text := screen.Text(); strings.Contains(text, "deployj") || strings.Contains(text, "jjk") {
			t.Errorf("%v: the keys of the list were typed:\n%s", size, text)
		}
		screen.Press("i")
		screen.Type("s")
		screen.WaitText("deploys")
		screen.Press("enter", "/")
		screen.Type("x")
		screen.WaitText("deploysx")
	}
}

// From a listing that an entry of the home opened, esc leads back to the home, whose keys are not typed either.
func TestEscInTheHome(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t)})
	screen.WaitText("Try")
	screen.Press("down", "esc", "esc", "j", "k")
	screen.WaitText("edit query")
	if text := screen.Text(); strings.Contains(text, "› jk") {
		t.Error(text)
	}
}
