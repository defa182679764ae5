package explorer

import (
	"strings"

	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/results"
)

// ruleEnds is how far the text of a line between panes stays from its ends, in columns.
const ruleEnds = 2

// queryLines are the query in its frame, which names what is searched; without a frame the name is beside the query.
func (m *Model) queryLines() (lines []string, cursorX int) {
	typing := m.place() == InBox
	if !m.rects.Framed {
		line, x := m.box.View(m.rects.Query.W, m.theme, typing, m.label())
		return []string{paint.Blank(m.rects.Query.X) + line}, m.rects.Query.X + x
	}
	line, x := m.box.View(m.rects.Query.W, m.theme, typing, "")
	frame := paint.Frame{Width: m.width, Height: m.rects.QueryFrame.H, Line: m.border(typing), Pad: 1}
	frame.Title, frame.Beside = m.titles()
	return frame.Draw([]string{line}), m.rects.Query.X + x
}

// border is the style of a pane's border.
func (m *Model) border(focused bool) theme.Style {
	if focused {
		return m.theme.BorderFocused
	}
	return m.theme.Border
}

// name is what is searched, as a name.
func (m *Model) name() string { return strings.TrimPrefix(m.target.Where, "the ") }

// sampleName is what the sample library is called, with the key that opens one's own.
func (m *Model) sampleName() string {
	name, key := m.name(), m.keys.keyOf("set-up", InBox)
	if key != "" && m.options.SetUp.Refused == "" {
		name += " · " + key + " open your own"
	}
	return m.theme.Warning.Render(name)
}

// titles are what is searched, and how much there is of it. The sample library says that it is one.
func (m *Model) titles() (title, beside string) {
	count := ""
	if w := m.conn.welcome; w.exact {
		count = text.Count(w.documents, "document")
	}
	title = m.theme.Title.Render("quarry") + m.theme.Muted.Render(" · ")
	if m.target.Kind == Sample {
		return title + m.sampleName(), m.theme.Muted.Render(count)
	}
	return title + m.theme.Text.Render(m.name()), m.theme.Muted.Render(count)
}

// label is titles in a few words, for beside the query.
func (m *Model) label() string {
	if m.target.Kind == Sample {
		return m.sampleName()
	}
	label := m.name()
	if w := m.conn.welcome; w.exact {
		label += " · " + text.Number(w.documents)
	}
	return m.theme.Muted.Render(label)
}

// pane is what surrounds the lines of a pane.
type pane struct {
	paint.Frame      // but for its size and its line
	rect        Rect // with its border
	focused     bool
}

// draw draws lines in their pane. Without a border on all sides there is a line above and one below them; on the
// smallest screens there is only what the line above says.
func (m *Model) draw(p pane, lines []string) []string {
	p.Line = m.border(p.focused && m.overlay() == 0)
	if m.rects.Framed {
		p.Width, p.Height = p.rect.W, p.rect.H
		return p.Draw(lines)
	}
	if p.rect.H <= len(lines) {
		return lines
	}
	bare := m.rects.Arrangement == Bare
	above := paint.Rule(p.rect.W, p.Line, ruleEnds, p.Title, p.Beside)
	if bare {
		above = paint.Beside(" "+p.Title, p.Beside+" ", 0, p.rect.W)
	}
	drawn := append(make([]string, 0, p.rect.H), above)
	for i, line := range lines {
		room, thumb := p.rect.W, ""
		if i >= p.ThumbFrom && i < p.ThumbTo {
			room, thumb = room-1, p.Line.Render("▕")
		}
		drawn = append(drawn, paint.Fit(paint.Blank(p.Pad)+line, room)+thumb)
	}
	if bare {
		return drawn
	}
	return append(drawn, paint.Rule(p.rect.W, p.Line, ruleEnds, p.Foot, p.FootBeside))
}

// listPane is the results, below what is to be noted about them.
func (m *Model) listPane() []string {
	if m.rects.ListFrame.H == 0 {
		return nil
	}
	p := pane{paint.Frame{Beside: m.summary()}, m.rects.ListFrame, m.focus == InList}
	room := p.rect.W - 2*ruleEnds - len("  ")
	if paint.Width(p.Beside) > room {
		p.Beside = paint.Fit(p.Beside, room)
	}
	if room -= paint.Width(p.Beside); room > len(" Results  ") && m.search.shown != nil {
		p.Title = m.listTitle()
	}
	lines := paint.Block(m.noteLines(), m.rects.Notes.W, m.rects.Notes.H)
	w, h := m.rects.List.W, m.rects.List.H
	if m.list.Len() == 0 {
		return m.draw(p, append(lines, m.emptyPane(w, h)...))
	}
	p.Foot = m.pinnedNote()
	p.FootBeside = m.theme.Muted.Render(m.position())
	return m.draw(p, append(lines, m.list.View(w, h, m.theme, p.focused && m.overlay() == 0)...))
}

// listTitle names the results that are not those of the query shown.
func (m *Model) listTitle() string {
	switch {
	case m.search.old:
		return m.theme.Muted.Render(m.former())
	case m.rects.Framed:
		return m.theme.Title.Render("Results") + m.theme.Muted.Render(m.grouped())
	}
	return m.theme.Muted.Render(strings.TrimSpace(m.grouped()))
}

// grouped says what the results are grouped by, unless that is as usual.
func (m *Model) grouped() string {
	if m.look.grouping == results.BySource || m.look.grouping == results.ByMonth {
		return " by " + m.groupingName()
	}
	return ""
}

// readerPane is the selected passage. While somebody types it stays until the next one is rendered: drawn once for a
// key, and not in one frame with the list, it is fewer bytes for the terminal.
func (m *Model) readerPane() []string {
	r := m.compare.following
	if m.rects.ReaderFrame.H == 0 {
		r.drawnIn = Rect{}
		return nil
	}
	p, lines := m.readerLines(r, m.rects.ReaderFrame, m.rects.Reader)
	if m.focus == InBox && m.list.Row() == 0 && r.drawnIn == p.rect && r.Unrendered() {
		return r.drawn
	}
	r.drawnIn = p.rect
	if m.readsPinned() {
		p.Foot = m.theme.Muted.Render("pinned: select another")
	}
	r.drawn = m.draw(p, lines)
	return r.drawn
}

// readerLines are the lines of a reader, and what surrounds them: the document's title and the place in it.
func (m *Model) readerLines(r *reading, frame, inside Rect) (pane, []string) {
	p := pane{paint.Frame{Pad: 1}, frame, m.isRead(r)}
	lines := r.View(inside.W, inside.H, m.theme)
	if r.result != nil {
		muted := m.theme.Muted
		p.Title, p.Beside = m.theme.Title.Render(r.Title()), muted.Render(r.Position())
		p.FootBeside = muted.Render(r.More())
		if r.Raw() {
			p.Foot = muted.Render("raw")
		}
		p.ThumbFrom, p.ThumbTo = r.Gutter(len(lines))
	}
	return p, lines
}
