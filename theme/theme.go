// Package theme gives meanings their look in a terminal. Callers name what a text is (a title, a match, a warning) and
// get a style; they never name a colour. Only the ui packages import it.
package theme

import (
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
)

// Palette holds one style per meaning.
type Palette struct {
	Title   lipgloss.Style // the name of a document, a table's header
	Muted   lipgloss.Style // what may be overlooked: links, ages, hints
	Match   lipgloss.Style // words of the query inside a passage
	Source  lipgloss.Style // the system that a document comes from
	Number  lipgloss.Style // citation numbers and counts
	Success lipgloss.Style // a check that passed
	Warning lipgloss.Style // works, but look
	Error   lipgloss.Style // failed
}

// New returns the palette for what a terminal can show: nothing at all without one, weight without colour for a terminal
// that has none or whose owner asked for none, and else the terminal's own 16 colours, which suit light and dark
// backgrounds alike because the owner chose them.
func New(profile colorprofile.Profile) Palette {
	if profile <= colorprofile.NoTTY {
		return Palette{}
	}
	palette := ForScreen(Options{Mode: "ansi16", Profile: profile}).Palette
	if profile < colorprofile.ANSI {
		palette.Match = palette.Title
	}
	return palette
}

// Profile tells what may be sent to a stream. Without a terminal that is nothing, whatever the environment ("KEY=value"
// entries) asks for: a script must never meet an escape sequence. NO_COLOR counts with any value but an empty one.
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
