package explorer

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// OwnTheme is a look of the person's own, or why it cannot be used.
type OwnTheme struct {
	theme.Custom
	Err error
}

// choosingTheme is the list of looks. The chosen one is shown at once, and kept by enter only.
type choosingTheme struct {
	panel.Actions
	own     []OwnTheme // as known now
	preview string     // the look that is shown though another is kept; empty: none
}

// custom returns the person's own look of a name; nil if there is none that can be used.
func (c *choosingTheme) custom(name string) *theme.Custom {
	for i := range c.own {
		if c.own[i].Name == name && c.own[i].Err == nil {
			return &c.own[i].Custom
		}
	}
	return nil
}

// openThemes lists the looks, and reads the person's own again.
func (m *Model) openThemes() tea.Cmd {
	m.themes.Open("Theme", "no theme matches", m.themeEntries())
	m.themes.Choose(m.look.mode)
	m.pushPanel(InThemes, &m.themes)
	return m.readThemes()
}

// readThemes reads the person's own looks.
func (m *Model) readThemes() tea.Cmd {
	read := m.options.Themes
	if read == nil {
		return nil
	}
	return func() tea.Msg {
		own := read()
		return resultMsg{handle: func() tea.Cmd {
			m.handleThemes(own)
			return nil
		}}
	}
}

func (m *Model) handleThemes(own []OwnTheme) {
	m.themes.own = own
	if m.overlay() == InThemes {
		chosen, _ := m.themes.Chosen()
		m.themes.Replace(m.themeEntries())
		m.themes.Choose(chosen.Action)
	}
	m.restyle()
}

// themeEntries are the looks that there are, with why one cannot be used.
func (m *Model) themeEntries() []panel.Entry {
	about := map[string]string{
		"auto": "automatic: dark or light, by the terminal's background", "high-contrast": "high contrast, dark or light",
		"ansi16": "16 colours: the terminal's own", "mono": "mono: no colours",
	}
	var entries []panel.Entry
	for _, mode := range theme.Modes() {
		entry := panel.Entry{Action: mode, Group: "Built in", Text: about[mode], Keys: m.themeMark(mode)}
		if entry.Text == "" {
			entry.Text = mode
		}
		if !slices.Contains([]string{"auto", "ansi16", "mono"}, mode) {
			entry.Reason = m.fewColours()
		}
		entries = append(entries, entry)
	}
	for _, own := range m.themes.own {
		entry := panel.Entry{Action: own.Name, Group: "Your own", Text: own.Name, Keys: m.themeMark(own.Name), Reason: m.fewColours()}
		if own.Err != nil {
			entry.Reason = paint.Line(own.Err.Error())
		} else if low := lowContrast(own.Custom); low != "" {
			entry.Text += " · " + low
		}
		entries = append(entries, entry)
	}
	return entries
}

// themeMark marks the look that is kept.
func (m *Model) themeMark(name string) string {
	if name == m.look.mode {
		return "●"
	}
	return " "
}

func (m *Model) fewColours() string {
	return unless(m.options.Profile == 0 || m.options.Profile > colorprofile.ANSI, "this terminal has 16 colours")
}

// lowContrast says which colours of a look are hard to read; empty if none is.
func lowContrast(own theme.Custom) string {
	const most = 3
	low := own.LowContrast()
	if len(low) == 0 {
		return ""
	}
	return "low contrast: " + strings.Join(low[:min(most, len(low))], ", ") + more(len(low)-most)
}

// previewTheme shows the chosen look while the list is open.
func (m *Model) previewTheme() {
	preview := ""
	if m.overlay() == InThemes {
		if entry, ok := m.themes.Chosen(); ok && entry.Reason == "" {
			preview = entry.Action
		}
	}
	if preview != m.themes.preview {
		m.themes.preview = preview
		m.restyle()
	}
}

// useTheme keeps the chosen look.
func (m *Model) useTheme() tea.Cmd {
	entry, ok := m.themes.Chosen()
	switch {
	case !ok:
		return nil
	case entry.Reason != "":
		m.warn(entry.Reason)
		return nil
	}
	m.popPanel()
	m.look.mode = entry.Action
	m.say("theme: " + m.look.mode)
	if configured := m.options.Theme; configured != "auto" && configured != m.look.mode {
		m.say(fmt.Sprintf("theme: %s until you quit; the configuration sets %s", m.look.mode, configured))
	}
	return m.keepScreen()
}

// warnOfTheme warns if the look in use cannot be used, or is hard to read.
func (m *Model) warnOfTheme() {
	for _, own := range m.themes.own {
		switch {
		case own.Name != m.look.mode:
		case own.Err != nil:
			m.warn("theme " + own.Name + ": " + paint.Line(own.Err.Error()))
		default:
			if low := lowContrast(own.Custom); low != "" {
				m.warn("theme " + own.Name + ": " + low)
			}
		}
	}
}
