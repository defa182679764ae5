package explorer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

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

func documentBindings() []Binding {
	return group("Document",
		action("outline", "O", InList|InReader, "outline", "Go to a heading of the document",
			(*Model).openOutline, noResult),
		action("open-heading", "enter", InOutline, "go", "Go to the heading", (*Model).openHeading),
		action("links", "L", InList|InReader, "links", "Open a link of the text by its number",
			(*Model).openLinks, noLinks),
		action("open-link", "enter", InLinks, "open", "Open the link (within the document: go to its heading), or "+
			"copy it where there is no browser", (*Model).openChosenLink),
		action("select-paragraph", "V", InReader, "paragraph", "Select a paragraph to copy",
			do(func(m *Model) { m.reader.Select(true) }), noResult),
		action("copy-paragraph", "y Y enter", InParagraph, "copy", "Copy the paragraph with the citation",
			(*Model).copyParagraph),
		action("next-paragraph", "j down ctrl+n", InParagraph, "next", "Next paragraph",
			do(func(m *Model) { m.reader.MoveSelection(1) })),
		action("previous-paragraph", "k up ctrl+p", InParagraph, "previous", "Previous paragraph",
			do(func(m *Model) { m.reader.MoveSelection(-1) })),
		action("end-selection", "esc V q", InParagraph, "done", "End the selection",
			do(func(m *Model) { m.reader.Select(false) })),
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
	return m.fetch(fetched{from: from, to: to, then: func() {
		if headings, _ := r.Headings(m.outline.sent); at < len(headings) {
			r.GoTo(headings[at])
		}
	}})
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

func noLinks(m *Model) string {
	if reason := noResult(m); reason != "" || m.reader.HasLinks() {
		return reason
	}
	if m.reader.Raw() {
		return "links have no numbers in raw text; " + m.keys.keyOf("raw", InReader) + " renders it"
	}
	return "no links in the text shown"
}

// openLinks lists the links by number, with their addresses. The first one in view is chosen.
func (m *Model) openLinks() tea.Cmd {
	links, first := m.reader.Links()
	entries := make([]panel.Entry, min(len(links), mostListed))
	for i := range entries {
		link := links[i]
		entries[i] = panel.Entry{Value: link, Keys: strconv.Itoa(link.Number), Text: link.Text}
		if anchor := m.reader.Anchor(link); anchor != "" {
			entries[i].Text += " · #" + anchor
		} else if address := reader.ShortLink(link.Address); address != link.Text {
			entries[i].Text += " · " + address
		}
	}
	m.links.Open("Links", "no link matches", entries)
	m.links.Select(first)
	m.pushPanel(InLinks, &m.links)
	return nil
}

// openChosenLink opens the chosen link.
func (m *Model) openChosenLink() tea.Cmd {
	entry, ok := m.links.Chosen()
	if !ok {
		return nil
	}
	m.popPanel()
	link := entry.Value.(reader.Link)
	switch anchor := m.reader.Anchor(link); {
	case anchor != "":
		return m.goToAnchor(anchor, link.Address)
	case !m.openable(link.Address):
		m.warn("this link cannot be opened here")
		return nil
	}
	return m.openLink(link.Address)
}

// openTypedLink opens the link whose number is typed, once no longer number begins with it.
func (m *Model) openTypedLink() tea.Cmd {
	typed := strings.TrimSpace(m.links.Typed())
	found := 0
	for _, entry := range m.links.Entries() {
		if strings.HasPrefix(entry.Keys, typed) {
			found++
		}
	}
	if chosen, _ := m.links.Chosen(); found == 1 && chosen.Keys == typed {
		return m.openChosenLink()
	}
	return nil
}
