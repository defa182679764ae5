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

	Text          lipgloss.Style // running text
	Selected      lipgloss.Style // selected row
	Stale         lipgloss.Style // rows of the previous search while the next one runs
	MatchCurrent  lipgloss.Style // current match of n and N
	Border        lipgloss.Style // lines between panes
	BorderFocused lipgloss.Style // lines of the focused pane
	Prompt        lipgloss.Style // mark before the input
	Placeholder   lipgloss.Style // hint in an empty input
	Chip          lipgloss.Style // active filter
	Key           lipgloss.Style // the name of a key
	Disabled      lipgloss.Style // action or value that is not available
	Bar           lipgloss.Style // bars and histograms
	Banner        lipgloss.Style // important notice

	look    look
	profile colorprofile.Profile
	ascii   bool
	sources []lipgloss.Style // by family; read-only
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
	style := func(c string) lipgloss.Style { return lipgloss.NewStyle().Foreground(lipgloss.Color(c)) }
	plain := lipgloss.NewStyle()
	t := Theme{look: l, profile: options.Profile, Name: l.name, Text: plain, ascii: options.ASCII}
	if t.ascii {
		t.Name += "-ascii"
	}
	if l.truecolour && options.Profile < colorprofile.TrueColor {
		t.Name += "-256"
		l.selected.ground = l.selected256
	}
	if l.mono {
		return t.withoutColours()
	}
	t.Palette = Palette{
		Title: plain.Bold(true), Muted: style(l.muted), Match: style(l.match).Bold(true).Underline(l.underlined),
		Source: style(l.source),
		Number: style(l.number).Bold(true), Success: style(l.success), Warning: style(l.warning), Error: style(l.failure).Bold(true),
	}
	t.Stale, t.Disabled, t.Placeholder, t.Border = style(l.faded), style(l.faded), style(l.faded), style(l.border)
	t.BorderFocused, t.Prompt, t.Bar = style(l.accent), style(l.accent).Bold(true), style(l.accent)
	t.Key = style(l.accent).Bold(true)
	if !l.truecolour {
		t.Muted, t.Stale, t.Disabled, t.Placeholder, t.Border = faint(), faint(), faint(), faint(), faint()
		t.Key = plain.Bold(true)
	}
	t.Selected = l.selected.style()
	t.MatchCurrent, t.Chip, t.Banner = l.current.style().Bold(true), l.chip.style(), l.banner.style().Bold(true)
	t.sources = make([]lipgloss.Style, families)
	for f := range t.sources {
		t.sources[f] = style(l.sources[f])
	}
	return t
}

// withoutColours sets styles of weight, underline and reverse only.
func (t Theme) withoutColours() Theme {
	plain := lipgloss.NewStyle()
	bold, reverse := plain.Bold(true), plain.Reverse(true)
	t.Palette = Palette{
		Title: bold, Muted: faint(), Match: bold.Underline(true), Source: plain, Number: bold, Success: plain, Warning: bold,
		Error: bold,
	}
	t.Selected, t.MatchCurrent, t.Stale = reverse, reverse.Bold(true).Underline(true), faint()
	t.Border, t.BorderFocused = faint(), bold
	t.Prompt, t.Placeholder, t.Key, t.Disabled = bold, faint(), bold, faint()
	t.Chip, t.Bar, t.Banner = plain.Underline(true), plain, reverse.Bold(true)
	t.sources = make([]lipgloss.Style, families)
	for f := range t.sources {
		t.sources[f] = plain
	}
	return t
}

func faint() lipgloss.Style { return lipgloss.NewStyle().Faint(true) }
