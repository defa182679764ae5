package theme

import (
	"fmt"
	"image/color"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
)

// luminance and contrast are the definitions of WCAG 2.2 (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance and
// #dfn-contrast-ratio): 4.5 to 1 is what it asks of text, 3 to 1 of what is not read.
func luminance(c color.Color) float64 {
	channel := func(v uint32) float64 {
		s := float64(v) / 0xffff
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	r, g, b, _ := c.RGBA()
	return 0.2126*channel(r) + 0.7152*channel(g) + 0.0722*channel(b)
}

func contrast(a, b color.Color) float64 {
	lighter, darker := luminance(a), luminance(b)
	if lighter < darker {
		lighter, darker = darker, lighter
	}
	return (lighter + 0.05) / (darker + 0.05)
}

// screen is a theme of every look, on the background it is made for.
type screen struct {
	theme  Theme
	ground string
}

func screens() []screen {
	dark, light := "#1e1e1e", "#ffffff"
	return []screen{
		{ForScreen(Options{Mode: "dark", Profile: colorprofile.TrueColor}), dark},
		{ForScreen(Options{Mode: "light", Profile: colorprofile.TrueColor}), light},
		{ForScreen(Options{Mode: "high-contrast", Dark: true, Profile: colorprofile.TrueColor}), dark},
		{ForScreen(Options{Mode: "high-contrast", Profile: colorprofile.TrueColor}), light},
		{ForScreen(Options{Mode: "dark", Profile: colorprofile.ANSI256}), dark},
		{ForScreen(Options{Mode: "light", Profile: colorprofile.ANSI256}), light},
		{ForScreen(Options{Mode: "high-contrast", Dark: true, Profile: colorprofile.ANSI256}), dark},
		{ForScreen(Options{Mode: "high-contrast", Profile: colorprofile.ANSI256}), light},
		{ForScreen(Options{Mode: "ansi16", Profile: colorprofile.TrueColor}), ""},
		{ForScreen(Options{Profile: colorprofile.ASCII}), ""},
	}
}

func TestContrast(t *testing.T) {
	t.Parallel()
	for _, s := range screens() {
		if s.ground == "" {
			continue
		}
		text, thin := 4.5, 3.0
		if strings.HasPrefix(s.theme.Name, "contrast") && s.theme.profile == colorprofile.TrueColor {
			text, thin = 7, 4.5
		}
		shown := func(c color.Color) color.Color { return s.theme.profile.Convert(c) }
		check := func(what string, foreground, background color.Color, least float64) {
			if got := contrast(shown(foreground), shown(background)); got < least {
				t.Errorf("%s: %s has %.2f to 1, want %.1f", s.theme.Name, what, got, least)
			}
		}
		th, ground := s.theme, lipgloss.Color(s.ground)
		for what, style := range map[string]lipgloss.Style{
			"muted": th.Muted, "match": th.Match, "source": th.Source, "number": th.Number, "success": th.Success,
			"warning": th.Warning, "error": th.Error, "key": th.Key, "prompt": th.Prompt, "bar": th.Bar,
		} {
			check(what, style.GetForeground(), ground, text)
			check(what+" selected", style.GetForeground(), th.Selected.GetBackground(), text)
		}
		for what, style := range map[string]lipgloss.Style{
			"stale": th.Stale, "placeholder": th.Placeholder, "disabled": th.Disabled, "border": th.Border,
		} {
			check(what, style.GetForeground(), ground, thin)
		}
		for what, style := range map[string]lipgloss.Style{"current": th.MatchCurrent, "chip": th.Chip, "banner": th.Banner} {
			check(what, style.GetForeground(), style.GetBackground(), text)
		}
		for f := range families {
			check(fmt.Sprint("source family ", f), th.sources[f].GetForeground(), ground, text)
			check(fmt.Sprint("source family selected ", f), th.sources[f].GetForeground(), th.Selected.GetBackground(), text)
		}
		c := th.look.code
		for _, name := range []string{
			c.comment, c.keyword, c.name, c.kind, c.text, c.number, c.removed, c.added, th.look.heading, th.look.link,
		} {
			check("code "+name, lipgloss.Color(name), ground, text)
		}
	}
}

func TestLooks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		options Options
		want    string
	}{
		{Options{Mode: "auto", Dark: true, Profile: colorprofile.TrueColor}, "dark"},
		{Options{Mode: "auto", Profile: colorprofile.TrueColor}, "light"},
		{Options{Mode: "", Dark: true, Profile: colorprofile.ANSI256}, "dark-256"},
		{Options{Mode: "light", Dark: true, Profile: colorprofile.ANSI256}, "light-256"},
		{Options{Mode: "dark", Profile: colorprofile.TrueColor}, "dark"},
		{Options{Mode: "nonsense", Dark: true, Profile: colorprofile.TrueColor}, "dark"},
		{Options{Mode: "high-contrast", Dark: true, Profile: colorprofile.TrueColor}, "contrast-dark"},
		{Options{Mode: "high-contrast", Profile: colorprofile.TrueColor}, "contrast-light"},
		{Options{Mode: "dark", Profile: colorprofile.ANSI}, "ansi16"},
		{Options{Mode: "ansi16", Profile: colorprofile.TrueColor}, "ansi16"},
		{Options{Mode: "mono", Profile: colorprofile.TrueColor}, "mono"},
		{Options{Mode: "dark", Profile: colorprofile.ASCII}, "mono"},
		{Options{Mode: "dark", Profile: colorprofile.NoTTY}, "mono"},
	}
	for _, test := range tests {
		if got := ForScreen(test.options).Name; got != test.want {
			t.Errorf("%+v: %q, want %q", test.options, got, test.want)
		}
	}
	for _, mode := range Modes() {
		if ForScreen(Options{Mode: mode, Profile: colorprofile.TrueColor}).Name == "" {
			t.Errorf("%s has no name", mode)
		}
	}
}

// colourSequence finds a colour in what is sent to a terminal.
func colourSequence() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[([0-9;:]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m]`)
}

// states are the styles that tell something apart from running text.
func states(th Theme) map[string]lipgloss.Style {
	return map[string]lipgloss.Style{
		"selected": th.Selected, "match": th.Match, "current match": th.MatchCurrent, "stale": th.Stale, "disabled": th.Disabled,
		"focused border": th.BorderFocused, "chip": th.Chip, "banner": th.Banner, "error": th.Error, "warning": th.Warning,
	}
}

func TestStatesDiffer(t *testing.T) {
	t.Parallel()
	for _, s := range screens() {
		th := s.theme
		for what, style := range states(th) {
			if style.Render("x") == th.Text.Render("x") {
				t.Errorf("%s: %s looks like running text", th.Name, what)
			}
		}
		for _, pair := range [][2]string{{"match", "current match"}, {"selected", "match"}, {"selected", "current match"}} {
			if a, b := states(th)[pair[0]], states(th)[pair[1]]; a.Render("x") == b.Render("x") {
				t.Errorf("%s: %s and %s look alike", th.Name, pair[0], pair[1])
			}
		}
		if th.Border.Render("x") == th.BorderFocused.Render("x") {
			t.Errorf("%s: the focus cannot be seen", th.Name)
		}
	}
	mono := ForScreen(Options{Profile: colorprofile.ASCII})
	all := states(mono)
	all["muted"], all["key"], all["bar"], all["source"] = mono.Muted, mono.Key, mono.Bar, mono.SourceStyle("slack")
	for what, style := range all {
		if got := style.Render("x"); colourSequence().MatchString(got) {
			t.Errorf("mono: %s has a colour: %q", what, got)
		}
	}
}

// No two sources have both glyph and colour in common, in any theme, and without colours no two have the same glyph.
func TestSources(t *testing.T) {
	t.Parallel()
	sources := []string{"unheard_of"}
	for _, source := range wire.Sources() {
		sources = append(sources, source.Value)
	}
	for _, ascii := range []bool{false, true} {
		for _, options := range []Options{{Mode: "dark", Profile: colorprofile.TrueColor}, {Mode: "ansi16", Profile: colorprofile.ANSI},
			{Mode: "mono", Profile: colorprofile.ASCII}} {
			options.ASCII = ascii
			th, seen := ForScreen(options), map[string]string{}
			for _, source := range sources {
				glyph, style := th.SourceGlyph(source), th.SourceStyle(source)
				if ansi.StringWidth(glyph) != 1 || ansi.StringWidthWc(glyph) != 1 || ascii && glyph[0] >= 0x7f {
					t.Errorf("%s: %q of %s is not one column", th.Name, glyph, source)
				}
				if style.GetBackground() != (lipgloss.NoColor{}) {
					t.Errorf("%s: %s has a background", th.Name, source)
				}
				drawn := style.Render(glyph)
				if before, taken := seen[drawn]; taken && !(ascii && options.Mode == "mono") {
					t.Errorf("%s: %s and %s look alike: %q", th.Name, before, source, drawn)
				}
				seen[drawn] = source
			}
		}
	}
	dark := ForScreen(Options{Mode: "dark", Profile: colorprofile.TrueColor})
	var colours []string
	for f := range families - 1 {
		if f == other {
			continue
		}
		colours = append(colours, fmt.Sprint(dark.sources[f].GetForeground()))
	}
	slices.Sort(colours)
	if len(slices.Compact(colours)) != len(colours) {
		t.Errorf("families share colours: %v", colours)
	}
	if got := (Theme{}).SourceStyle("slack").Render("x"); got != "x" {
		t.Errorf("a theme of no look: %q", got)
	}
}
