package explorer

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/reader"
)

// linking is the panel of the links in the text that is read.
type linking struct {
	panel.Actions
	links []reader.Link
}

func linkBindings() []Binding {
	return group("Document",
		action("links", "L", InList|InReader, "links", "Open a link of the text by its number", (*Model).openLinks, noLinks),
		action("open-link", "enter", InLinks, "open", "Open the link (within the document: go to its heading), or copy it where there is no browser", (*Model).openChosenLink),
	)
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
	m.links.links = links[:min(len(links), mostListed)]
	entries := make([]panel.Entry, len(m.links.links))
	for i, link := range m.links.links {
		number := strconv.Itoa(link.Number)
		entries[i] = panel.Entry{Action: number, Keys: number, Text: link.Text}
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
	at := slices.IndexFunc(m.links.links, func(link reader.Link) bool { return strconv.Itoa(link.Number) == entry.Action })
	if !ok || at < 0 {
		return nil
	}
	m.panels = m.panels[:len(m.panels)-1]
	link := m.links.links[at]
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
	var found []string
	for _, link := range m.links.links {
		if number := strconv.Itoa(link.Number); strings.HasPrefix(number, typed) {
			found = append(found, number)
		}
	}
	if len(found) == 1 && found[0] == typed {
		return m.openChosenLink()
	}
	return nil
}
