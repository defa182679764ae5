package reader

import "quarry/theme"

// renderUnit renders the Markdown of a unit.
func renderUnit(u unit, width int, th theme.Theme) *layout {
	l := plainLayout(u, measureOf(width))
	l.rendered = true
	return l
}
