package explorer

import (
	"cmp"
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/reader"
)

// mostListed bounds the headings and the links in a list: it is laid out for every key.
const mostListed = 2000

// outlining is the panel of the headings of the document that is read.
type outlining struct {
	panel.Actions
	headings []reader.Heading
	of       string                // document
	sent     []wire.OutlineHeading // by the server
	fetching *request
}

func outlineBindings() []Binding {
	return group("Document",
		action("outline", "O", InList|InReader, "outline", "Go to a heading of the document", (*Model).openOutline, noResult),
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
	case len(o.headings) == mostListed:
		beside = "first " + text.Count(mostListed, "heading")
	default:
		beside = text.Count(len(o.headings), "heading")
	}
	return th.Title.Render("Outline"), th.Muted.Render(beside)
}

// openOutline lists the headings of the text at hand, and those of the whole document once they are there.
func (m *Model) openOutline() tea.Cmd {
	m.showReader()
	m.outline.Open("Outline", "no headings", nil)
	m.pushPanel(InOutline, &m.outline)
	fetch := m.fetchOutline(func() tea.Cmd {
		m.showHeadings()
		return nil
	})
	m.showHeadings()
	return fetch
}

// fetchOutline fetches the outline of the document that is read, unless it is known or the server has none, and runs
// then.
func (m *Model) fetchOutline(then func() tea.Cmd) tea.Cmd {
	o, result := &m.outline, m.reader.result
	if o.of != result.DocumentID {
		o.of, o.sent = result.DocumentID, nil
	}
	if w := m.reader.whole; w != nil && w.document.ID == o.of {
		o.sent = w.document.Outline
	}
	c := m.client()
	if len(o.sent) > 0 || c == nil || m.unreadable(*result) != "" {
		return then()
	}
	return background(m, &o.fetching, func(ctx context.Context) (*wire.DocumentChunks, error) {
		return c.Chunks(ctx, result.DocumentID, result.ChunkStart, result.ChunkStart, "")
	}, func(answer *wire.DocumentChunks, err error) tea.Cmd {
		if err == nil && o.of == result.DocumentID {
			o.sent = answer.Document.Outline
		}
		return then()
	})
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
	o.headings = o.headings[:min(len(o.headings), mostListed)]
	least := slices.MinFunc(o.headings, func(a, b reader.Heading) int { return cmp.Compare(a.Level, b.Level) }).Level
	entries := make([]panel.Entry, len(o.headings))
	for i, h := range o.headings {
		entries[i] = panel.Entry{Value: i, Text: h.Text, Indent: 2 * (h.Level - least)}
		if moved && h.Same(chosen) {
			current = i
		}
	}
	o.Replace(entries)
	o.Select(min(current, len(entries)-1))
}

// chosen is the index of the heading that the choice is on.
func (o *outlining) chosen() (int, bool) {
	entry, _ := o.Chosen()
	at, ok := entry.Value.(int)
	return at, ok
}

// openHeading goes to the chosen heading.
func (m *Model) openHeading() tea.Cmd {
	at, ok := m.outline.chosen()
	if !ok {
		return nil
	}
	m.outline.fetching.stop()
	m.popPanel()
	if m.reader.result == nil || m.reader.result.DocumentID != m.outline.of {
		return nil // the results changed meanwhile
	}
	return m.goToHeading(m.outline.headings, at)
}

// goToHeading scrolls to a heading, and fetches the passages up to it where they are not shown.
func (m *Model) goToHeading(headings []reader.Heading, at int) tea.Cmd {
	from, to, missing := m.reader.Reach(headings[at])
	switch {
	case !missing:
		m.reader.GoTo(headings[at])
		return nil
	case to-from >= wholeChunks:
		m.warn("that heading is too far from the text shown")
		return nil
	}
	r := m.reader
	return m.fetch(func(ctx context.Context, c *client.Client, id, query string) (fetched, error) {
		got, err := chunksBetween(ctx, c, id, query, from, to)
		got.then = func() {
			if headings, _ := r.Headings(m.outline.sent); at < len(headings) {
				r.GoTo(headings[at])
			}
		}
		return got, err
	})
}

// goToAnchor goes to the heading that a link within the document names, or else opens the link.
func (m *Model) goToAnchor(anchor, link string) tea.Cmd {
	m.showReader()
	return m.fetchOutline(func() tea.Cmd {
		headings, _ := m.reader.Headings(m.outline.sent)
		at := slices.IndexFunc(headings, func(h reader.Heading) bool { return h.Named(anchor) })
		if at < 0 {
			return m.openLink(link)
		}
		return m.goToHeading(headings, at)
	})
}
