// Empty is the smallest full-screen program: it shows what is typed. What it costs is what no program on the same library
// at the same frame rate can go below, so that ttybench measures it beside the real one.
package main

import (
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
)

const framesPerSecond = 120

type model struct{ text string }

func (m model) Init() tea.Cmd { return nil }

func (m model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	press, ok := message.(tea.KeyPressMsg)
	if !ok {
		return m, nil
	}
	switch press.String() {
	case "ctrl+c":
		return m, tea.Quit
	case "backspace":
		m.text = m.text[:max(0, len(m.text)-1)]
	default:
		m.text += press.Text
	}
	return m, nil
}

func (m model) View() tea.View {
	view := tea.NewView("empty " + m.text)
	view.AltScreen = true
	view.Cursor = tea.NewCursor(len("empty ")+len(m.text), 0)
	return view
}

func main() {
	if _, err := tea.NewProgram(model{}, tea.WithFPS(framesPerSecond)).Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
