package explorer

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/reader"
)

// outlining is the panel of the headings of the document that is read.
type outlining struct {
	panel.Actions
	headings []reader.Heading
	of       string                // document
	sent     []wire.OutlineHeading // by the server
	fetching *request
}

func outlineBindings() []Binding {
	return group("Reader",
		action("outline", "O", InList|InReader, "", "Go to a heading of the document", (*Model).openOutline, noResult),
		action("open-heading", "enter", InOutline, "go", "Go to the heading", (*Model).openHeading),
	)
}

// Back stops what is being fetched, and closes the panel.
func (o *outlining) Back() bool {
	o.fetching.stop()
	return false
}

// Title implements panel.Panel.
func (o *outlining) Title(_ int, th theme.Theme) (title, beside string) {
	switch {
	case o.fetching.running():
		beside = "loading"
	case len(o.sent) == 0:
		beside = "of the text shown"
	default:
		beside = text.Count(len(o.headings), "heading")
	}
	return th.Title.Render("Outline"), th.Muted.Render(beside)
}

// openOutline lists the headings of the text at hand, and those of the whole document once they are there.
func (m *Model) openOutline() tea.Cmd {
	m.showReader()
	m.outline.of, m.outline.sent = m.reading.result.DocumentID, nil
	if w := m.reading.whole; w != nil && w.document.ID == m.outline.of {
		m.outline.sent = w.document.Outline
	}
	m.outline.Open("Outline", "no headings", nil)
	m.pushPanel(InOutline, &m.outline)
	c, id, at := m.client(), m.outline.of, m.reading.result.ChunkStart
	if len(m.outline.sent) > 0 || c == nil || m.unreadable(*m.reading.result) != "" {
		m.showHeadings()
		return nil
	}
	fetch := background(m, &m.outline.fetching, func(ctx context.Context) (*wire.DocumentChunks, error) {
		return c.Chunks(ctx, id, at, at)
	}, func(answer *wire.DocumentChunks, err error) tea.Cmd {
		if err == nil && m.overlay() == InOutline {
			m.outline.sent = answer.Document.Outline
		}
		m.showHeadings()
		return nil
	})
	m.showHeadings()
	return fetch
}

// showHeadings fills the panel. The choice stays on its heading; at first it is the one that is read.
func (m *Model) showHeadings() {
	o := &m.outline
	var chosen reader.Heading
	at, moved := o.chosen()
	if moved {
		chosen = o.headings[at]
	}
	var current int
	if o.headings, current = m.reader.Headings(o.sent); len(o.headings) == 0 {
		o.Replace(nil)
		return
	}
	least := slices.MinFunc(o.headings, func(a, b reader.Heading) int { return cmp.Compare(a.Level, b.Level) }).Level
	entries := make([]panel.Entry, len(o.headings))
	for i, h := range o.headings {
		entries[i] = panel.Entry{Action: strconv.Itoa(i), Text: h.Text, Indent: 2 * (h.Level - least)}
		if moved && h.Same(chosen) {
			current = i
		}
	}
	o.Replace(entries)
	o.Select(current)
}

// chosen is the index of the heading that the choice is on.
func (o *outlining) chosen() (int, bool) {
	entry, ok := o.Chosen()
	at, err := strconv.Atoi(entry.Action)
	return at, ok && err == nil && at < len(o.headings)
}

// openHeading scrolls to the chosen heading, and fetches the passages up to it where they are not shown.
func (m *Model) openHeading() tea.Cmd {
	at, ok := m.outline.chosen()
	if !ok {
		return nil
	}
	m.outline.fetching.stop()
	m.panels = m.panels[:len(m.panels)-1]
	if m.reading.result == nil || m.reading.result.DocumentID != m.outline.of {
		return nil // the results changed meanwhile
	}
	from, to, missing := m.reader.Reach(m.outline.headings[at])
	switch {
	case !missing:
		m.reader.GoTo(m.outline.headings[at])
		return nil
	case to-from >= wholeChunks:
		m.warn("that heading is too far from the text shown")
		return nil
	}
	return m.fetch(func(ctx context.Context, c *client.Client, id string) (fetched, error) {
		got, err := chunksBetween(ctx, c, id, from, to)
		got.then = func() {
			if headings, _ := m.reader.Headings(m.outline.sent); at < len(headings) {
				m.reader.GoTo(headings[at])
			}
		}
		return got, err
	})
}
