package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// dividerStep is how far the divider moves at once, in columns; rows move one by one.
const dividerStep = 4

// look is what the person chose of how the screen looks.
type look struct {
	mode     string // of the theme: one of theme.Modes, or the name of the person's own
	dark     bool   // the terminal's background
	mouse    bool
	zoomed   bool
	grouping string // of the results; empty: by document
	by       dimension.Dimension
	flipped  bool // by is not the one that suits the library
	dividerX int  // columns that the divider beside was moved by
	dividerY int  // rows that the divider below was moved by
}

// restyle makes the theme again; widgets compare its name.
func (m *Model) restyle() {
	mode := cmp.Or(m.themes.preview, m.look.mode)
	m.theme = theme.ForScreen(theme.Options{Mode: mode, Custom: m.themes.custom(mode), Dark: m.look.dark,
		Profile: m.options.Profile, ASCII: m.options.Caps.ASCII})
}

func (m *Model) handleBackground(msg tea.BackgroundColorMsg) {
	m.look.dark = msg.IsDark()
	m.restyle()
}

// handleColorProfile follows what the terminal can show. A session without colour stays without.
func (m *Model) handleColorProfile(msg tea.ColorProfileMsg) {
	if m.options.Profile == 0 {
		m.options.Profile = msg.Profile
		m.restyle()
	}
}

func noColour(m *Model) string {
	return unless(m.options.Profile == 0 || m.options.Profile >= colorprofile.ANSI, "this terminal has no colours")
}

func (m *Model) toggleMouse() tea.Cmd {
	m.look.mouse = !m.look.mouse
	m.say("mouse off: the terminal selects text")
	if m.look.mouse {
		m.say("mouse on: click and scroll; select text with shift held")
	}
	return nil
}

// moveDivider moves it within what the layout allows, so that a key pressed too often need not be pressed back.
func (m *Model) moveDivider(direction int) tea.Cmd {
	rects, look := m.rects, m.look
	if rects.Arrangement == Stacked {
		m.look.dividerY += direction
	} else {
		m.look.dividerX += direction * dividerStep
	}
	m.arrangeScreen()
	if m.rects == rects {
		m.look = look
		return nil
	}
	return m.keepScreen()
}

func (m *Model) redraw() tea.Cmd  { return tea.ClearScreen }
func (m *Model) suspend() tea.Cmd { return tea.Suspend }

func (m *Model) quit() tea.Cmd {
	m.stopSearch()
	return tea.Quit
}

// openActions lays the list of all actions over the screen, or closes it: first those of the place that the person is
// in, then those of the other places, which lead there when they are run.
func (m *Model) openActions() tea.Cmd {
	if m.overlay() == InActions {
		return m.closePanel()
	}
	var here, elsewhere []panel.Entry
	for _, b := range m.keys.bindings {
		switch place := b.In.Places()[0]; {
		case b.Numbered != nil:
		case b.In&m.place() != 0:
			here = append(here, panel.Entry{Action: b.Action, Group: b.Group, Text: b.Long, Keys: b.KeysText(m.place()),
				Reason: b.Disabled(m)})
		case b.In&InPanes != 0 || m.openerOf(b).Action != "":
			elsewhere = append(elsewhere, panel.Entry{Action: b.Action, Group: "In " + place.Name(), Text: b.Long,
				Keys: b.KeysText(place), Reason: m.unreachable(b)})
		}
	}
	if m.overlay() != 0 { // first its own, then those that are everywhere
		slices.SortStableFunc(here, func(a, b panel.Entry) int {
			return int(m.keys.named(a.Action).In&InPanes) - int(m.keys.named(b.Action).In&InPanes)
		})
	}
	elsewhere = slices.DeleteFunc(elsewhere, func(there panel.Entry) bool { // with another key in its panel
		return slices.ContainsFunc(here, func(e panel.Entry) bool { return e.Text == there.Text })
	})
	slices.SortStableFunc(elsewhere, func(a, b panel.Entry) int { return strings.Compare(a.Group, b.Group) })
	m.actions.Open("All actions", "no action matches", append(here, elsewhere...))
	m.pushPanel(InActions, &m.actions)
	return nil
}

// openerOf returns the action that opens the panel of another action; the zero value where that is in no panel of its
// own.
func (m *Model) openerOf(b Binding) Binding {
	return m.keys.named(map[Place]string{InPicker: "filters", InAnswer: "answer", InChats: "conversations",
		InSearches: "searches", InCollection: "collection", InThemes: "theme"}[b.In])
}

// unreachable returns why the panel of an action cannot be opened now; "" if it can, or the action is in no panel.
func (m *Model) unreachable(b Binding) string {
	if opener := m.openerOf(b); opener.Action != "" {
		return opener.Disabled(m)
	}
	return ""
}

// runAction runs the chosen action where it belongs, or warns why it cannot run now. Of an action in a panel that is
// not open, it opens the panel: what the action is about is chosen there.
func (m *Model) runAction() tea.Cmd {
	entry, ok := m.actions.Chosen()
	if !ok {
		return nil
	}
	list := m.panels
	m.panels = list[:len(list)-1]
	b := m.keys.named(entry.Action)
	here := b.In&m.place() != 0
	if opener := m.openerOf(b); !here && opener.Action != "" {
		b = opener
	}
	reason := b.Disabled(m)
	if !here {
		reason = cmp.Or(cannotClose(m), reason)
	}
	if reason != "" {
		m.warn(reason)
		m.panels = list
		return nil
	}
	if !here {
		m.panels = nil
		if b.In&m.focus == 0 {
			m.focus = b.In.Places()[0]
		}
	}
	return b.Run(m)
}

// prompt is the panel that asks for a line of text, and what is done with it.
type prompt struct {
	panel.Prompt
	accept func(text string) tea.Cmd
	does   string // label of the key that accepts; empty: as usual
}

// openPrompt asks for a line of text.
func (m *Model) openPrompt(name, hint, text string, accept func(string) tea.Cmd) tea.Cmd {
	m.prompt.Open(name, hint, text)
	m.prompt.accept, m.prompt.does = accept, ""
	m.pushPanel(InPrompt, &m.prompt)
	return nil
}

// acceptPrompt closes the prompt and uses what is typed.
func (m *Model) acceptPrompt() tea.Cmd {
	m.popPanel()
	return m.prompt.accept(text.OneLine(m.prompt.Text()))
}

// closePanel takes one step back inside the panel, or closes it.
func (m *Model) closePanel() tea.Cmd {
	if m.overlay() != 0 && !m.top().Back() {
		m.popPanel()
	}
	return nil
}

// openWhy opens the panel that explains the shown results.
func (m *Model) openWhy() tea.Cmd {
	s := m.search.shown
	explained := panel.Explained{Text: s.text, Where: m.target.Where, Response: s.response, Took: m.searchTime(),
		Instant: s.instant}
	explained.Filters = exslices.CastFunc(s.query.Chips, func(chip client.Chip) string { return chip.Raw })
	for _, message := range s.wire.MessageHistory[:max(0, len(s.wire.MessageHistory)-1)] {
		if message.Type == "user" {
			explained.After = message.Message
		}
	}
	m.why.Show(explained)
	m.pushPanel(InWhy, &m.why)
	return nil
}

// The reasons why an action cannot run now.

func nothingAsked(m *Model) string { return unless(m.search.shown != nil, "no search yet") }
func noResult(m *Model) string     { return unless(m.list.Len() > 0 || m.onPinned(), "no results") }
func noChip(m *Model) string       { return unless(len(m.box.Chips()) > 0, "no filters set") }
func notOpen(m *Model) string      { return unless(m.client() != nil, m.target.Where+" is not open yet") }
func noSetUp(m *Model) string      { return m.options.SetUp.Refused }

func noQuery(m *Model) string {
	return unless(m.box.Query() != "" || m.search.failure != nil, "no query yet")
}

func cannotExclude(m *Model) string { return m.filters.picker.CannotExclude() }

func noPanes(m *Model) string {
	return unless(m.rects.Arrangement >= Stacked, "the terminal is too small for two panes")
}

func noReaderBeside(m *Model) string {
	return cmp.Or(unless(m.rects.Reader.H > 0, "the reader is not open"), noResult(m))
}

func noWideTable(m *Model) string {
	return unless(m.reader.HasWideTable(), "no table in view is wider than the reader")
}

func cannotSuspend(m *Model) string {
	return unless(m.options.Caps.Suspend, "no shell to return to")
}

func cannotExpand(m *Model) string {
	result, _ := m.result()
	return cmp.Or(noResult(m), m.unreadable(result))
}

func cannotOpen(m *Model) string {
	result, _ := m.result()
	link := m.sourceOf(result)
	return cmp.Or(noResult(m), unless(link != "", "this document has no link"),
		unless(m.openable(link), fmt.Sprintf("links like %.60q cannot be opened here", link)))
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

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
	return detached(nil, func() ([]OwnTheme, error) { return read(), nil }, func(own []OwnTheme, _ error) tea.Cmd {
		m.themes.own = own
		if m.overlay() == InThemes {
			chosen, _ := m.themes.Chosen()
			m.themes.Replace(m.themeEntries())
			m.themes.Choose(chosen.Action)
		}
		m.restyle()
		return nil
	})
}

// themeEntries are the looks that there are, with why one cannot be used.
func (m *Model) themeEntries() []panel.Entry {
	about := map[string]string{
		"auto":          "automatic: dark or light, by the terminal's background",
		"high-contrast": "high contrast, dark or light",
		"ansi16":        "16 colours: the terminal's own", "mono": "mono: no colours",
	}
	var entries []panel.Entry
	for _, mode := range theme.Modes() {
		entry := panel.Entry{Action: mode, Group: "Built in", Text: cmp.Or(about[mode], mode), Keys: m.themeMark(mode)}
		if !text.IsAmong(mode, "auto ansi16 mono") {
			entry.Reason = m.fewColours()
		}
		entries = append(entries, entry)
	}
	for _, own := range m.themes.own {
		entry := panel.Entry{Action: own.Name, Group: "Your own", Text: own.Name, Keys: m.themeMark(own.Name),
			Reason: m.fewColours()}
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
