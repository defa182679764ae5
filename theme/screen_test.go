package theme

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"charm.land/lipgloss/v2"
	"github.com/alecthomas/chroma/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"quarry/client/wire"
)

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
		{ForScreen(Options{Mode: "ansi16", Dark: true, Profile: colorprofile.TrueColor}), ""},
		{ForScreen(Options{Mode: "ansi16", Profile: colorprofile.TrueColor}), ""},
		{ForScreen(Options{Profile: colorprofile.ASCII}), ""},
	}
}

// WCAG asks for 4.5 to 1 of text and 3 to 1 of lines; looks with high contrast have 7 and 4.5.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, s := range screens() {
		if s.ground == "" {
			continue
		}
		pairings := s.theme.pairings(lipgloss.Color(s.ground))
		if len(pairings) < 50 {
			t.Errorf("%s: only %d pairs of colours", s.theme.Name, len(pairings))
		}
		for _, p := range pairings {
			least := p.least()
			if strings.HasPrefix(s.theme.Name, "contrast") && s.theme.profile == colorprofile.TrueColor {
				least = map[bool]float64{false: 7, true: 4.5}[p.thin]
			}
			shown := s.theme.profile.Convert
			if got := contrast(shown(p.front), shown(p.ground)); got < least {
				t.Errorf("%s: %s has %.2f to 1, want %.1f", s.theme.Name, p.name, got, least)
			}
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
		{Options{Mode: "light", Dark: true, Profile: colorprofile.ANSI}, "ansi16-light"},
		{Options{Mode: "auto", Dark: true, Profile: colorprofile.ANSI}, "ansi16"},
		{Options{Mode: "ansi16", Profile: colorprofile.TrueColor}, "ansi16-light"},
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
// written returns the styles that text is written in with the terminal's own colours.
func written(th Theme) map[string]Style {
	styles := states(th)
	for i, source := range th.sources {
		styles[fmt.Sprint("source ", i)] = source
	}
	p := th.Palette
	for i, style := range []Style{p.Title, p.Muted, p.Match, p.Source, p.Number, p.Success, p.Warning, p.Error, th.Prompt,
		th.Bar, th.Key, th.BorderFocused} {
		styles[fmt.Sprint("style ", i)] = style
	}
	c := th.look.Code
	for i, of := range []Colour{th.look.Heading, th.look.Link, c.Comment, c.Keyword, c.Name, c.Kind, c.Number, c.Removed} {
		styles[fmt.Sprint("heading or code ", i)] = styleOf(lipgloss.NewStyle().Bold(true).Foreground(of.color()))
	}
	return styles
}

// The terminal's own colours.
const red, green, yellow, blue, cyan = "1", "2", "3", "4", "6"

// On a dark background of the terminal's own colours nothing is blue, which xterm and others show too dark to be read.
func TestSixteenColoursOnDark(t *testing.T) {
	t.Parallel()
	th := ForScreen(Options{Mode: "dark", Profile: colorprofile.ANSI})
	for name, style := range written(th) {
		if style.GetForeground() == lipgloss.Color(blue) {
			t.Errorf("%s is blue", name)
		}
	}
	if code := codeStyle(th.look).Get(chroma.NameFunction).Colour.String(); code != "#0000ff" {
		t.Errorf("functions in code are %s", code)
	}
}

// On a light background of the terminal's own colours nothing is yellow, or bold and green or cyan, which many terminals
// show bright.
func TestSixteenColoursOnLight(t *testing.T) {
	t.Parallel()
	th := ForScreen(Options{Mode: "light", Profile: colorprofile.ANSI})
	p, styles := th.Palette, written(th)
	for name, style := range styles {
		switch colour := style.GetForeground(); {
		case colour == lipgloss.Color(yellow),
			style.GetBold() && (colour == lipgloss.Color(green) || colour == lipgloss.Color(cyan)):
			t.Errorf("%s: %v, bold %v", name, colour, style.GetBold())
		}
	}
	if !p.Match.GetBold() || !p.Match.GetUnderline() || p.Match.GetForeground() != lipgloss.Color(red) {
		t.Error("matches are not bold, underlined and red")
	}
}

func colourSequence() *regexp.Regexp {
	return regexp.MustCompile(`\x1b\[([0-9;:]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m]`)
}

// states are the styles that tell something apart from running text.
func states(th Theme) map[string]Style {
	return map[string]Style{
		"selected": th.Selected, "match": th.Match, "current match": th.MatchCurrent, "stale": th.Stale, "disabled": th.Disabled,
		"focused border": th.BorderFocused, "chip": th.Chip, "error": th.Error, "warning": th.Warning,
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
	for f := range family(len(dark.sources) - 1) {
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

// The rows of the table of looks are named and ordered as the fields that they set.
func TestTableOfLooks(t *testing.T) {
	t.Parallel()
	var want []string
	var name func(group reflect.Type, path string)
	name = func(group reflect.Type, path string) {
		for _, field := range reflect.VisibleFields(group) {
			switch at := path + cmp.Or(field.Tag.Get("mapstructure"), strings.ToLower(field.Name)); {
			case field.Anonymous || len(field.Index) > 1 && path != "":
			case field.Type.Kind() == reflect.Struct:
				name(field.Type, at+".")
			default:
				want = append(want, at)
			}
		}
	}
	name(reflect.TypeFor[lookColours](), "")
	for i, line := range strings.Split(strings.TrimSpace(looksText), "\n") {
		cells := strings.Fields(line)
		if len(cells) != len(looks()) || i > 0 && (i > len(want) || cells[0] != want[i-1]) {
			t.Errorf("row %d is %q", i, cells)
		}
	}
	if rows := strings.Count(looksText, "\n"); rows != len(want)+1 {
		t.Errorf("%d rows for %d colours", rows, len(want))
	}
}
