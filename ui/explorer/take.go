package explorer

import (
	"net/url"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/ui/passage"
)

func (m *Model) copyCitation() tea.Cmd {
	result, ok := m.result()
	if !ok {
		return nil
	}
	return m.copy(passage.Cite(result), "citation ["+passage.Citation(result)+"]")
}

func (m *Model) copyPassage() tea.Cmd {
	result, ok := m.result()
	if !ok {
		return nil
	}
	return m.copy(passage.Quote(result), "passage ["+passage.Citation(result)+"]")
}

// copy sends text to the terminal's clipboard, and to the machine's where that is allowed. Whether a terminal took it
// cannot be known, so that it is only said to be sent.
func (m *Model) copy(text, what string) tea.Cmd {
	const sent = " sent to your terminal's clipboard"
	native := m.options.Caps.Copy
	if native == nil {
		m.say(what + sent)
		return tea.SetClipboard(text)
	}
	return tea.Batch(tea.SetClipboard(text), func() tea.Msg {
		err := native(text)
		return resultMsg{handle: func() tea.Cmd {
			if err != nil {
				m.warn(what + sent + "; the system clipboard failed: " + err.Error())
			} else {
				m.say(what + " copied to the clipboard")
			}
			return nil
		}}
	})
}

// openSource opens the document where it lives, or hands its link over where nothing can be opened.
func (m *Model) openSource() tea.Cmd {
	result, _ := m.result()
	return m.openLink(linkOf(result))
}

func (m *Model) openLink(link string) tea.Cmd {
	open := m.options.Caps.Open
	if open == nil {
		m.say(m.options.Caps.OpenReason + "; the link was sent to your terminal's clipboard")
		return tea.SetClipboard(link)
	}
	return func() tea.Msg {
		err := open(link)
		return resultMsg{handle: func() tea.Cmd {
			if err != nil {
				m.warn("could not open the link: " + err.Error() + "; the link was sent to your terminal's clipboard")
				return tea.SetClipboard(link)
			}
			m.say("opened " + link)
			return nil
		}}
	}
}

func linkOf(r wire.SearchResult) string {
	if r.Link == nil {
		return ""
	}
	return *r.Link
}

// openable reports whether a link may be followed: to the web or a mail, and to a file from a library of this machine.
func (m *Model) openable(link string) bool {
	parsed, err := url.Parse(link)
	if err != nil {
		return false
	}
	scheme := strings.ToLower(parsed.Scheme)
	switch scheme {
	case "http", "https":
		return parsed.Host != ""
	case "file":
		return m.target.Kind == Library && (parsed.Host == "" || parsed.Host == "localhost")
	}
	return scheme == "mailto"
}
