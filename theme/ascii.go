package theme

import (
	"strings"
	"sync"
)

// ASCII returns the text of a screen with its lines, bars and signs in ASCII, for terminals whose fonts lack them. All
// of them stay one column wide.
func ASCII(screen string) string { return symbols().Replace(screen) }

var symbols = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"─", "-", "━", "-", "│", "|", "┃", "#", "╭", "+", "╮", "+", "╰", "+", "╯", "+", "┌", "+", "┐", "+", "└", "+", "┘", "+",
		"├", "+", "┤", "+", "┬", "+", "┴", "+", "┼", "+", "▌", ">", "▎", "|", "▏", "|", "▕", "|", "▄", "=", "█", "#", "▇", "#", "▆", "#", "▅", "=", "▃", "=",
		"▂", "-", "▁", "_", "›", ">", "‹", "<", "·", "-", "•", "*", "●", "*", "✕", "x", "✓", "v", "⚠", "!", "…", "~", "—", "-", "–", "-",
		"“", "\"", "”", "\"", "↑", "^", "↓", "v", "←", "<", "→", ">", "↵", "<", "▣", "#", "↳", "`", "✦", "^",
	)
})
