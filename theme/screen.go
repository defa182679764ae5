package theme

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Theme is the look of the full screen. It adds to the palette of the command line. It is a value; sessions share
// nothing of it.
type Theme struct {
	// Name identifies the theme, for caches: "dark", "light-256", "ansi16", "mono", "ember-5f3a01bc".
	Name string
	Palette

	Text          Style // running text
	Selected      Style // selected row
	Stale         Style // rows of the previous search while the next one runs
	MatchCurrent  Style // current match of n and N
	Border        Style // lines between panes
	BorderFocused Style // lines of the focused pane
	Prompt        Style // mark before the input
	Placeholder   Style // hint in an empty input
	Chip          Style // active filter
	Key           Style // the name of a key
	Disabled      Style // action or value that is not available
	Bar           Style // bars and histograms

	look    look
	profile colorprofile.Profile
	ascii   bool
	sources []Style // by family, read-only; none: as Source
}

type Options struct {
	Mode    string  // auto, dark, light, high-contrast, ansi16, mono; unknown ones count as auto
	Custom  *Custom // in place of Mode, where the terminal has enough colours
	Dark    bool    // the terminal's background, for auto and high-contrast
	Profile colorprofile.Profile
	ASCII   bool // the terminal's font has no glyphs of sources
}

// ForScreen returns the theme for one session.
func ForScreen(options Options) Theme {
	l := lookFor(options)
	plain := lipgloss.NewStyle()
	style := func(c Colour) Style { return styleOf(plain.Foreground(c.color())) }
	bold := func(s Style) Style { return styleOf(s.Bold(true)) }
	t := Theme{profile: options.Profile, Name: l.name, Text: styleOf(plain), ascii: options.ASCII}
	if t.ascii {
		t.Name += "-ascii"
	}
	if l.Ground != "" && options.Profile < colorprofile.TrueColor {
		t.Name += "-256"
		l.Selected.Background = l.Selected256
	}
	t.look = l
	if l.mono {
		return t.withoutColours()
	}
	t.Palette = Palette{
		Title: bold(t.Text), Muted: style(l.Muted), Match: styleOf(style(l.Match).Bold(true).Underline(l.underlined)),
		Source: style(l.Source), Number: bold(style(l.Number)), Success: style(l.Success), Warning: style(l.Warning),
		Error: bold(style(l.Error)),
	}
	t.Stale, t.Disabled, t.Placeholder, t.Border = style(l.Disabled), style(l.Disabled), style(l.Disabled),
		style(l.Border)
	t.BorderFocused, t.Prompt, t.Bar = style(l.Accent), bold(style(l.Accent)), style(l.Accent)
	t.Key = t.Prompt
	if l.Ground == "" {
		t.Muted, t.Stale, t.Disabled, t.Placeholder, t.Border = faint(), faint(), faint(), faint(), faint()
		t.Key = t.Title
	}
	t.Selected = l.Selected.style()
	t.MatchCurrent, t.Chip = bold(l.CurrentMatch.style()), l.Chip.style()
	for f := range familyNames() {
		t.sources = append(t.sources, style(l.Sources.of(family(f))))
	}
	return t
}

// Faded returns the theme for what is out of date: all text is Stale.
func (t Theme) Faded() Theme {
	t.Palette, t.Text, t.sources = paletteOf(t.Stale), t.Stale, nil
	return t
}

// OnReverse returns the theme for text under a reversed Selected, without colours and nothing faint: they would be
// patches of the ground.
func (t Theme) OnReverse() Theme {
	t = t.withoutColours()
	t.Muted = t.Text
	return t
}

// withoutColours sets styles of weight, underline and reverse only.
func (t Theme) withoutColours() Theme {
	plain, reverse := t.Text, styleOf(t.Text.Reverse(true))
	bold := styleOf(plain.Bold(true))
	t.Palette = Palette{
		Title: bold, Muted: faint(), Match: styleOf(bold.Underline(true)), Source: plain, Number: bold, Success: plain,
		Warning: bold, Error: bold,
	}
	t.Selected, t.MatchCurrent, t.Stale = reverse, styleOf(reverse.Bold(true).Underline(true)), faint()
	t.Border, t.BorderFocused = faint(), bold
	t.Prompt, t.Placeholder, t.Key, t.Disabled = bold, faint(), bold, faint()
	t.Chip, t.Bar, t.sources = styleOf(plain.Underline(true)), plain, nil
	return t
}

func faint() Style { return styleOf(lipgloss.NewStyle().Faint(true)) }
