package theme

import (
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

func TestColour(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"#7fb4f0": "#7fb4f0", " #7FB4F0 ": "#7fb4f0", "#fa0": "#ffaa00", "": "", "7fb4f0": "", "#7fb4f": "", "#7fb4fg": "", "red": "",
		"##ffaa0": "", "#7fb4f0a": "", "12": "",
	} {
		var c Colour
		err := c.UnmarshalText([]byte(text))
		if string(c) != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, c, err, want)
		}
	}
}

func TestBase(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dark", "light", "contrast-dark", "contrast-light"} {
		var b Base
		if err := b.UnmarshalText([]byte(name)); err != nil || string(b) != name {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"", "mono", "ansi16", "auto", "Dark"} {
		var b Base
		if err := b.UnmarshalText([]byte(name)); err == nil || !strings.Contains(err.Error(), "dark, light, contrast-dark, contrast-light") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCustom(t *testing.T) {
	t.Parallel()
	ember := &Custom{Name: "ember", BasedOn: "light", Colours: Colours{Accent: "#8a2be2",
		Selected: Pair{Background: "#ffeedd"}, Sources: SourceColours{Chat: "#111111"}}}
	th := ForScreen(Options{Mode: "mono", Custom: ember, Profile: colorprofile.TrueColor})
	light := ForScreen(Options{Mode: "light", Profile: colorprofile.TrueColor})
	for what, is := range map[string]bool{
		"accent":     th.Key.GetForeground() == lipgloss.Color("#8a2be2"),
		"selected":   th.Selected.GetBackground() == lipgloss.Color("#ffeedd"),
		"chat":       th.SourceStyle("slack").GetForeground() == lipgloss.Color("#111111"),
		"not wiki":   th.SourceStyle("confluence").GetForeground() == light.SourceStyle("confluence").GetForeground(),
		"not muted":  th.Muted.GetForeground() == light.Muted.GetForeground(),
		"name":       strings.HasPrefix(th.Name, "ember-"),
		"code":       th.Glamour().CodeBlock.Theme == light.Glamour().CodeBlock.Theme,
		"256":        ForScreen(Options{Custom: ember, Profile: colorprofile.ANSI256}).Selected.GetBackground() == lipgloss.Color("#ffeedd"),
		"16 colours": ForScreen(Options{Custom: ember, Profile: colorprofile.ANSI}).Name == "ansi16-light",
		"mono":       ForScreen(Options{Custom: ember, Profile: colorprofile.ASCII}).Name == "mono",
	} {
		if !is {
			t.Errorf("%s is wrong", what)
		}
	}
	changed := *ember
	changed.Accent = "#8a2be3"
	if other := ForScreen(Options{Custom: &changed, Profile: colorprofile.TrueColor}); other.Name == th.Name {
		t.Errorf("two versions have the name %s", th.Name)
	}
}

func TestLowContrast(t *testing.T) {
	t.Parallel()
	for _, base := range []Base{"", "dark", "light", "contrast-dark", "contrast-light"} {
		if low := (Custom{Name: "same", BasedOn: base}).LowContrast(); len(low) > 0 {
			t.Errorf("%s: %v", base, low)
		}
	}
	low := Custom{Name: "pale", BasedOn: "light",
		Colours: Colours{Muted: "#cccccc", Border: "#eeeeee", Chip: Pair{Text: "#ffffff"}}}.LowContrast()
	if !slices.ContainsFunc(low, func(l string) bool { return l == "muted 1.6:1" }) {
		t.Errorf("muted is not among %v", low)
	}
	for _, name := range []string{"muted on selected.background ", "border ", "chip "} {
		if !slices.ContainsFunc(low, func(l string) bool { return strings.HasPrefix(l, name) }) {
			t.Errorf("%s is not among %v", name, low)
		}
	}
}
