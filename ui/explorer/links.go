package explorer

import (
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/reader"
)

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
