package explorer

import (
	"errors"
	"fmt"
	"image/color"
	"testing"

	"quarry/internal/testkit/screentest"
	"quarry/theme"
	"quarry/ui/state"
)

// ownThemes are a look of the person's own, one that is hard to read, and one that is broken.
func ownThemes() []OwnTheme {
	return []OwnTheme{
		{Custom: theme.Custom{Name: "broken"}, Err: errors.New("broken.yaml:2: acent: unknown key; did you mean accent?")},
		{Custom: theme.Custom{Name: "ember", BasedOn: "dark", Colours: theme.Colours{Accent: "#ff9d5c"}}},
		{Custom: theme.Custom{Name: "pale", BasedOn: "light", Colours: theme.Colours{Muted: "#cccccc"}}},
	}
}

// hex is a colour as a theme names it.
func hex(c color.Color) string {
	if c == nil {
		return ""
	}
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// hasColour reports whether anything on the screen has a colour.
func hasColour(screen *screentest.Screen, want string) bool {
	for _, row := range screen.Cells() {
		for _, cell := range row {
			if hex(cell.Style.Foreground) == want {
				return true
			}
		}
	}
	return false
}

// Moving over a theme shows it at once, esc takes it back, and enter keeps it for the next time.
func TestThemesAreShownAsTheyAreChosen(t *testing.T) {
	t.Parallel()
	store := state.InMemory(0)
	target := sampleTarget(t)
	target.State = store
	options := Options{Target: target, Query: "rolling back a release", Themes: ownThemes}
	screen := start(t, 120, 40, options)
	screen.WaitText(" 1  ")
	screen.WaitText("66 documents ╮")
	shows := func(what, colour string) {
		t.Helper()
		screen.Wait(what, func(string) bool { return hasColour(screen, colour) })
	}
	const darkBorder, lightBorder, emberAccent = "#74787f", "#868a91", "#ff9d5c"
	shows("the dark theme", darkBorder)
	screen.Press("T")
	screen.WaitText("ember")
	screen.WaitText("pale · low contrast: muted 1.6:1")
	screen.Press("down", "down")
	shows("the light theme", lightBorder)
	screen.Press("esc")
	shows("the theme from before", darkBorder)
	screen.WaitGone("pale")

	screen.Press("T")
	screen.WaitText("ember")
	screen.Type("broken")
	screen.WaitText("unavailable: broken.yaml:2: acent: unknown")
	screen.Press("enter")
	screen.WaitText("▌") // it stays open
	screen.Press("ctrl+u")
	screen.Type("ember")
	screen.WaitGone("pale")
	screen.Press("enter")
	screen.WaitText("theme: ember")
	shows("the theme of the file", emberAccent)
	screen.Press("q")
	if err := screen.WaitEnd(); err != nil {
		t.Error(err)
	}

	target = sampleTarget(t)
	target.State = store
	options.Target = target
	next := start(t, 120, 40, options)
	next.Wait("the remembered theme", func(string) bool { return hasColour(next, emberAccent) })
}

// The theme of the configuration is there from the first frame, and wins over a remembered one; what is wrong with it is
// said.
func TestThemeOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"broken": "theme broken: broken.yaml:2: acent: unknown key; did you mean accent?", "pale": "theme pale: low contrast: muted 1.6:1",
	} {
		own := ownThemes()
		options := Options{Target: sampleTarget(t), Theme: name, Own: own, Themes: ownThemes}
		screen := start(t, 120, 40, options)
		screen.WaitText(want)
	}
	store := state.InMemory(0)
	if _, err := store.Change(func(s *state.State) error { s.Screen.Theme = "light"; return nil }); err != nil {
		t.Fatal(err)
	}
	target := sampleTarget(t)
	target.State = store
	screen := start(t, 120, 40, Options{Target: target, Theme: "ember", Own: ownThemes(), Themes: ownThemes})
	screen.WaitText("66 documents ╮")
	if !hasColour(screen, "#ff9d5c") {
		t.Error("the configured theme is not shown")
	}
	screen.Press("down")
	screen.Press("T")
	screen.WaitText("Your own")
	screen.Type("mono")
	screen.WaitGone("Your own")
	screen.Press("enter")
	screen.WaitText("theme: mono until you quit; the configuration sets ember")
}

// Without files of their own, as over SSH, people choose among the built-in themes.
func TestOnlyBuiltInThemes(t *testing.T) {
	t.Parallel()
	screen := start(t, 120, 40, Options{Target: sampleTarget(t), Query: "rolling back a release"})
	screen.WaitText("66 documents ╮")
	screen.WaitText(" 1  ")
	screen.Press("T")
	for _, name := range []string{"automatic: dark or light", "dark", "light", "high contrast", "16 colours", "mono: no colours"} {
		screen.WaitText(name)
	}
	screen.Press("up", "enter")
	screen.WaitText("theme: auto")
}
