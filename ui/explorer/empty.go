package explorer

import (
	"fmt"
	"strings"

	"quarry/client"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// invitation is the first line of an empty screen.
func (m *Model) invitation() string {
	switch {
	case m.conn.opening.running():
		return " opening " + m.target.Where + "…"
	case m.box.Query() != "" && m.target.Kind == Remote:
		return " " + m.keys.keyOf("search", InBox) + " searches " + m.target.Where
	case m.target.Kind == Remote && !m.options.Instant && !m.conn.welcome.instant:
		return " type a question, then " + m.keys.keyOf("search", InBox)
	}
	return " type to search"
}

// emptyPane replaces the results.
func (m *Model) emptyPane(width, height int) []string {
	var lines []string
	switch {
	case m.failing():
		lines = m.whatFailed()
	case m.search.shown != nil:
		lines = m.nothingFound()
	case m.search.failure == nil && m.search.running == nil:
		lines = m.welcomeLines(width)
	}
	var wrapped []string
	for _, line := range lines {
		words := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(words)]
		for _, part := range paint.Wrap(words, max(1, width-len(indent)-1)) {
			wrapped = append(wrapped, indent+part)
		}
	}
	return block(wrapped, width, height)
}

// whatFailed says in full what the summary above has room to begin, and what to do about it.
func (m *Model) whatFailed() []string {
	lines := []string{" " + m.theme.Text.Render(reasonOf(m.search.failure.err))}
	if remedy := remedyOf(m.search.failure.err); remedy != "" {
		lines = append(lines, "", " "+m.theme.Muted.Render(remedy))
	}
	return lines
}

// nothingFound says what was searched, and what to try.
func (m *Model) nothingFound() []string {
	s := m.search.shown
	lines := []string{" " + m.theme.Title.Render("No results") + " " + m.theme.Text.Render("in "+m.target.Where+" for"),
		"   " + paint.PenOf(m.theme.Match).Write(paint.Line(s.query.Text))}
	if len(s.query.Chips) == 0 {
		return append(lines, "", " "+m.theme.Muted.Render("Try fewer or other words. "+m.keys.keyOf("query", InList)+" edits the query."))
	}
	for i, chip := range s.query.Chips {
		line := "   with " + paint.PenOf(m.theme.Chip).Write(paint.Line(chip.Raw))
		if m.filters.cut != nil && i < len(m.filters.cut.counts) {
			line += " " + m.theme.Muted.Render("· without it "+text.Count(m.filters.cut.counts[i], "document"))
		}
		lines = append(lines, line)
	}
	key := m.keys.keyOf("drop-filter", m.focus)
	switch {
	case m.filters.cut == nil:
		lines = append(lines, "", " "+m.theme.Text.Render(key+" removes the last filter."))
	case m.filters.cut.worst < 0:
		lines = append(lines, "", " "+m.theme.Text.Render("Removing one filter is not enough; "+key+" removes the last one."))
	default:
		chip := s.query.Chips[m.filters.cut.worst]
		lines = append(lines, "", " "+m.theme.Text.Render("Most restrictive: "+paint.Line(chip.Raw)+". "+key+" removes it."))
	}
	return lines
}

// welcomeLines invite: what there is to search, and what to ask.
func (m *Model) welcomeLines(width int) []string {
	var lines []string
	chips := m.box.Chips()
	if len(chips) > 0 {
		lines = append(lines, " "+m.theme.Text.Render("Filters set. Type a query."), "")
	}
	w := m.conn.welcome
	if len(w.sources) > 0 {
		head := fmt.Sprintf("%s in %s", text.Count(w.documents, "document"), text.Count(len(w.sources), "source"))
		if !w.exact {
			head = text.Count(len(w.sources), "source")
		}
		lines = append(lines, " "+m.theme.Title.Render(head))
		lines = append(lines, m.sourceLines(width)...)
		lines = append(lines, "")
	}
	if len(m.target.Examples) > 0 && len(chips) == 0 {
		key := m.keys.keyOf("complete", InBox)
		lines = append(lines, " "+m.theme.Title.Render("Try")+"   "+m.theme.Muted.Render(key+" tries the next one"))
		for _, example := range m.target.Examples {
			lines = append(lines, "   "+m.theme.Text.Render(paint.Line(example)))
		}
	}
	return lines
}

// sourceLines are the sources with bars for their share.
func (m *Model) sourceLines(width int) []string {
	most, name := 0, 0
	for _, source := range m.conn.welcome.sources {
		most = max(most, source.Count)
		name = max(name, paint.Width(client.SourceName(source.Value)))
	}
	name = min(name, max(4, width/3))
	bar := bounded(width-name-18, 0, 30)
	var lines []string
	for _, source := range m.conn.welcome.sources[:min(len(m.conn.welcome.sources), m.height)] {
		line := "   " + m.theme.SourceStyle(source.Value).Render(theme.SourceGlyph(source.Value)+" "+
			paint.Fit(client.SourceName(source.Value), name))
		if m.conn.welcome.exact && most > 0 {
			line += " " + paint.Fit(m.theme.Bar.Render(panel.Bar(source.Count, most, bar)), bar) + m.theme.Muted.Render(fmt.Sprintf(" %7s", text.Number(source.Count)))
		}
		lines = append(lines, line)
	}
	return lines
}
