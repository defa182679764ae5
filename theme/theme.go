// Package theme has the styles of text, Markdown and code in a terminal. Styles are named by meaning (a title, a match,
// a warning), never by colour. Only the ui packages import it.
package theme

import (
	"strings"
	"sync"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
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
	profile := colorprofile.Env(env)
	if noColor || uv.Environ(env).Getenv("NO_COLOR") != "" {
		return min(profile, colorprofile.ASCII)
	}
	return profile
}

// Modes returns the looks that a user can select; auto follows the terminal's background.
func Modes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }

// Style styles text. It has colour and weight only, so that the sequences before and after a text are all there is to
// it: writing these is much faster than what lipgloss does, which measures each text. The zero value leaves text as it
// is.
type Style struct {
	*lipgloss.Style
	before, after string
}

func styleOf(style lipgloss.Style) Style {
	before, after, _ := strings.Cut(style.Render("x"), "x")
	return Style{&style, before, after}
}

// Render styles a text; "" stays empty.
func (s Style) Render(text string) string {
	switch {
	case text == "" || s.before == "":
		return text
	case strings.ContainsAny(text, "\n\t"):
		return s.Style.Render(text)
	}
	return s.before + text + s.after
}

// Under adds the style to a styled line, such as the background of a selected row: it is restored wherever the line
// resets its own styles.
func (s Style) Under(line string) string {
	for _, reset := range []string{"\x1b[m", "\x1b[0m"} {
		line = strings.ReplaceAll(line, reset, reset+s.before)
	}
	return s.Render(line)
}

// ASCII returns the text of a screen with its lines, bars and signs in ASCII, for terminals whose fonts lack them. All
// of them stay one column wide.
func ASCII(screen string) string { return symbols().Replace(screen) }

var symbols = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(strings.Fields("─ -  ━ -  │ |  ┃ #  ╭ +  ╮ +  ╰ +  ╯ +  ┌ +  ┐ +  └ +  ┘ +  ├ +  ┤ +  " +
		"┬ +  ┴ +  ┼ +  ▌ >  ▎ |  ▏ | ▕ |  ▄ =  █ #  ▇ #  ▆ #  ▅ =  ▃ =  ▂ -  ▁ _  › >  ‹ <  · -  • *  ● *  ✕ x  ✓ v " +
		" ⚠ !  … ~  — -  – - “ \"  ” \"  ↑ ^  ↓ v  ← <  → >  ↵ <  ▣ #  ↳ `  ✦ ^")...)
})
