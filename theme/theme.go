// Package theme has the styles of text, Markdown and code in a terminal. Styles are named by meaning (a title, a match,
// a warning), never by colour. Only the ui packages import it.
package theme

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Palette holds one style per meaning.
type Palette struct {
	Title   Style // the name of a document, a table's header
	Muted   Style // secondary text: links, ages, hints
	Match   Style // query words in a passage
	Source  Style // the system that a document comes from
	Number  Style // citation numbers and counts
	Success Style // a check that passed
	Warning Style // needs attention
	Error   Style // failed
}

// paletteOf returns a palette of one style.
func paletteOf(s Style) Palette { return Palette{s, s, s, s, s, s, s, s} }

// New returns the palette for a terminal's colours: no styles without a terminal, weight only without colours or with
// NO_COLOR, and otherwise the terminal's own 16 colours, which suit its background.
func New(profile colorprofile.Profile) Palette {
	if profile <= colorprofile.NoTTY {
		return paletteOf(styleOf(lipgloss.NewStyle()))
	}
	palette := ForScreen(Options{Mode: "ansi16", Dark: true, Profile: profile}).Palette
	if profile < colorprofile.ANSI {
		palette.Match = palette.Title
	}
	return palette
}

// Profile returns the colours that may be sent to a stream. Without a terminal there are none, whatever the environment
// ("KEY=value" entries) says: scripts must never see escape sequences. NO_COLOR counts with any value but an empty one.
func Profile(isTerminal, noColor bool, env []string) colorprofile.Profile {
	if !isTerminal {
		return colorprofile.NoTTY
	}
	asked := slices.ContainsFunc(env, func(entry string) bool {
		value, found := strings.CutPrefix(entry, "NO_COLOR=")
		return found && value != ""
	})
	profile := colorprofile.Env(env)
	if noColor || asked {
		return min(profile, colorprofile.ASCII)
	}
	return profile
}

// Modes returns the looks that a user can select; auto follows the terminal's background.
func Modes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }
