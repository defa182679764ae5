package explorer

import (
	"fmt"
	"net/url"
	"strings"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/ui/passage"
)

// actedMsg tells what became of something done to the machine.
type actedMsg struct {
	done      string // what to say when it worked
	otherwise string // what to say when it did not, before the reason
	err       error
}

func (m *Model) acted(msg actedMsg) {
	if msg.err != nil {
		m.warn(msg.otherwise + ": " + msg.err.Error())
		return
	}
	m.say(msg.done)
}

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
		return actedMsg{done: what + " copied to the clipboard", otherwise: what + sent + "; the system's own said", err: native(text)}
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
		if err == nil {
			return actedMsg{done: "opened " + link}
		}
		err = fmt.Errorf("%w; the link was sent to your terminal's clipboard", err)
		return tea.BatchMsg{tea.SetClipboard(link), func() tea.Msg {
			return actedMsg{otherwise: "could not open it", err: err}
		}}
	}
}

func linkOf(r wire.SearchResult) string {
	if r.Link == nil {
		return ""
	}
	return *r.Link
}

// openable tells that a link may be followed: to the web or a mail, and to a file from a library of this machine.
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
