package theme

import (
	"image/color"
	"math"

	"charm.land/lipgloss/v2"
)

// luminance and contrast are the definitions of WCAG 2.2 (https://www.w3.org/TR/WCAG22/#dfn-relative-luminance and
// #dfn-contrast-ratio).
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

// pairing is a colour and what is behind it.
type pairing struct {
	name          string // as in a file of colours
	front, ground color.Color
	thin          bool // not text that is read
}

// least is the contrast that WCAG asks for.
func (p pairing) least() float64 {
	if p.thin {
		return 3
	}
	return 4.5
}

// pairings returns all pairs of colours of a look with colours, on a terminal's background.
func (t Theme) pairings(ground color.Color) []pairing {
	l := t.look
	var all []pairing
	onBoth := func(name, front string) {
		all = append(all, pairing{name, lipgloss.Color(front), ground, false},
			pairing{name + " on selected.background", lipgloss.Color(front), t.Selected.GetBackground(), false})
	}
	for _, c := range []struct{ name, front string }{
		{"muted", l.muted}, {"accent", l.accent}, {"match", l.match}, {"source", l.source}, {"number", l.number},
		{"success", l.success}, {"warning", l.warning}, {"error", l.failure},
	} {
		onBoth(c.name, c.front)
	}
	for f, name := range [families]string{
		chat: "chat", wiki: "wiki", code: "code", mail: "mail", tickets: "tickets", drive: "drive", web: "web", crm: "crm",
		calls: "calls", file: "file", other: "other",
	} {
		onBoth("sources."+name, l.sources[f])
	}
	for _, c := range []string{
		l.code.comment, l.code.keyword, l.code.name, l.code.kind, l.code.text, l.code.number, l.code.removed, l.code.added,
	} {
		all = append(all, pairing{"code", lipgloss.Color(c), ground, false})
	}
	if l.selected.text != "" {
		all = append(all, pairing{"selected", lipgloss.Color(l.selected.text), t.Selected.GetBackground(), false})
	}
	return append(all, pairing{"heading", lipgloss.Color(l.heading), ground, false}, pairing{"link", lipgloss.Color(l.link), ground, false},
		pairing{"disabled", lipgloss.Color(l.faded), ground, true}, pairing{"border", lipgloss.Color(l.border), ground, true},
		pairing{"current_match", t.MatchCurrent.GetForeground(), t.MatchCurrent.GetBackground(), false},
		pairing{"chip", t.Chip.GetForeground(), t.Chip.GetBackground(), false})
}
