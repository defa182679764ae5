package theme

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Theme is the look of the full screen: the palette of the command line and what a screen needs beyond it. It is a
// value; nothing of it is shared between sessions.
type Theme struct {
	// Name tells themes apart, for caches: "dark", "light", "ansi16", "mono".
	Name string
	Palette

	Text          lipgloss.Style // running text
	Selected      lipgloss.Style // the row that keys act on
	Stale         lipgloss.Style // rows of an earlier search, until the new ones are there
	MatchCurrent  lipgloss.Style // the match that n and N stand on
	Border        lipgloss.Style // lines between panes
	BorderFocused lipgloss.Style // the same beside the pane that keys go to
	Prompt        lipgloss.Style // the mark before what is typed
	Placeholder   lipgloss.Style // what could be typed
	Chip          lipgloss.Style // a filter that holds
	Key           lipgloss.Style // the name of a key
	Disabled      lipgloss.Style // what cannot be done or chosen now
	Bar           lipgloss.Style // bars and histograms
	Banner        lipgloss.Style // a line that must be noticed once
}

// Options say what a theme is made for.
type Options struct {
	Mode    string // auto, dark, light, ansi16, mono; unknown ones count as auto
	Dark    bool   // the terminal's background, for auto
	Profile colorprofile.Profile
}

// ForScreen makes the theme of one session.
func ForScreen(options Options) Theme {
	palette := New(options.Profile)
	plain := lipgloss.NewStyle()
	return Theme{
		Name: "ansi16", Palette: palette, Text: plain, Selected: plain.Bold(true), Stale: plain.Faint(true),
		MatchCurrent: plain.Reverse(true), Border: plain.Faint(true), BorderFocused: plain.Foreground(lipgloss.Cyan),
		Prompt: plain.Foreground(lipgloss.Cyan), Placeholder: plain.Faint(true), Chip: plain.Reverse(true),
		Key: plain.Bold(true), Disabled: plain.Faint(true), Bar: plain.Foreground(lipgloss.Cyan), Banner: plain.Reverse(true),
	}
}

// SourceStyle is the style of a source type's name and glyph ("slack"); every type has one.
func (t Theme) SourceStyle(source string) lipgloss.Style { return t.Source }

// SourceGlyph is a mark of one column for a source type, so that sources differ without colour.
func SourceGlyph(source string) string { return "▪" }
