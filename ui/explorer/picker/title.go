package picker

import (
	"strconv"
	"strings"

	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// View implements panel.Panel.
func (p *Picker) View(width, height int, th theme.Theme) panel.Body {
	if len(p.tabs) == 0 {
		return panel.Body{}
	}
	return p.tabs[p.active].view(width, height, th, p.message)
}

// Title names the tabs, and what is chosen where there is room.
func (p *Picker) Title(width int, th theme.Theme) (titles, chosen string) {
	const gap = 3
	if len(p.tabs) == 0 {
		return "", ""
	}
	titles = p.titles(width, th)
	room := width - gap - paint.Width(titles)
	for _, summary := range []string{p.summary(), p.tabs[p.active].summary()} {
		if summary = paint.Line(summary); paint.Width(summary) < room {
			return titles, th.Muted.Render(summary)
		}
	}
	return titles, ""
}

// titles names the tabs. The shown one is in brackets, a chosen number stands beside its tab, and where there is no
// room for all the first ones give way.
func (p *Picker) titles(width int, th theme.Theme) string {
	parts := make([]string, len(p.tabs))
	for i, t := range p.tabs {
		text := t.title()
		if mark := t.mark(); mark != "" {
			text += " " + mark
		}
		if i == p.active {
			parts[i] = th.Key.Render("[") + th.Title.Render(text) + th.Key.Render("]")
		} else {
			parts[i] = " " + th.Muted.Render(text) + " "
		}
	}
	between := th.Border.Render("│")
	all := strings.Join(parts, between)
	for from := 0; from < p.active && paint.Width(all) > width; {
		from++
		all = th.Muted.Render("…") + strings.Join(parts[from:], between)
	}
	if rest := len(parts) - p.active - 1; paint.Width(all) > width && rest > 0 {
		if short := parts[p.active] + th.Muted.Render(" +"+strconv.Itoa(len(parts)-1)); paint.Width(short) <= width {
			return short
		}
	}
	return paint.Fit(all, min(width, paint.Width(all)))
}
