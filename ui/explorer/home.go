package explorer

import (
	"fmt"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
	"quarry/ui/passage"
)

const (
	// homeColumns is how wide the home must be to have what can be opened beside what is there.
	homeColumns = 90
	// mostRecent is how many recent searches the home shows; the list of searches has them all.
	mostRecent = 8
	// mostNewest is how many of the documents changed last it shows.
	mostNewest = 5
	// numbered is how many entries have a digit of their own.
	numbered = 9
)

// homeEntry is something that can be opened from an empty query.
type homeEntry struct {
	group string
	text  string
	note  string // beside the text
	open  func(*Model) tea.Cmd
}

// atHome reports whether there is nothing to show but the home.
func (m *Model) atHome() bool {
	return m.list.Len() == 0 && m.search.shown == nil && m.search.failure == nil && m.search.running == nil && m.box.Query() == ""
}

// homeEntries are saved and recent searches; on a first visit, what one can begin with.
func (m *Model) homeEntries() []homeEntry {
	var entries []homeEntry
	for _, saved := range m.past.state.Saved {
		note := "opened " + m.ago(saved.Opened)
		if n := m.past.added[saved.Name]; n > 0 {
			note = strconv.Itoa(n) + " new"
		}
		entries = append(entries, homeEntry{"Saved", saved.Name, note, func(m *Model) tea.Cmd { return m.openSaved(saved.Name) }})
	}
	if n := m.past.arrived; n > 0 {
		what := text.Count(n, "document") + " added since your last visit"
		entries = append(entries, homeEntry{"New", what, m.ago(m.past.state.Since), (*Model).openArrived})
	}
	for _, search := range m.past.state.Recent[:min(len(m.past.state.Recent), mostRecent)] {
		entries = append(entries, homeEntry{"Recent", search.Query, m.ago(search.At),
			func(m *Model) tea.Cmd { return m.searchFor(search.Query) }})
	}
	if !m.past.loaded {
		return entries
	}
	if len(entries) == 0 {
		entries = m.firstEntries()
	}
	for _, document := range m.conn.welcome.newest {
		age := ""
		if document.UpdatedAt != nil {
			age = passage.Age(*document.UpdatedAt, m.now())
		}
		entries = append(entries, homeEntry{"Newest", m.theme.SourceGlyph(document.SourceType) + " " + document.Title, age,
			func(m *Model) tea.Cmd { return m.browse(wire.SearchRequest{Browse: true}, document.Ref) }})
	}
	return entries
}

// firstEntries are what a first visit can begin with.
func (m *Model) firstEntries() (entries []homeEntry) {
	for _, example := range m.target.Examples {
		entries = append(entries, homeEntry{"Try", example, "", func(m *Model) tea.Cmd { return m.searchFor(example) }})
	}
	if noSetUp(m) == "" {
		setUp := (*Model).openSetUp
		entries = append(entries, homeEntry{"Begin", "Open a folder, or connect to Onyx", m.keys.keyOf("set-up", InBox), setUp})
	}
	return entries
}

func nothingAtHome(m *Model) string {
	return unless(m.atHome() && len(m.homeEntries()) > 0, "type a query first")
}

// enterHome moves from the empty query to the entries below it.
func (m *Model) enterHome() {
	m.focus, m.past.chosen = InHome, 0
}

// moveHome moves between the entries, and from the first one back to the query.
func (m *Model) moveHome(by int) tea.Cmd {
	if m.past.chosen+by < 0 {
		m.focus = InBox
		return nil
	}
	m.past.chosen = min(m.past.chosen+by, max(0, len(m.homeEntries())-1))
	return nil
}

// openEntry opens an entry by its number, from 1.
func (m *Model) openEntry(number int) tea.Cmd {
	entries := m.homeEntries()
	if number > len(entries) {
		m.warn(fmt.Sprintf("there are only %d entries", len(entries)))
		return nil
	}
	m.focus = InBox
	return entries[number-1].open(m)
}

// homePane draws what there is, and what can be opened: side by side where there is room.
func (m *Model) homePane(rect Rect) []string {
	p := pane{rect: rect, pad: 1, focused: m.focus == InHome, title: m.theme.Title.Render(m.homeTitle())}
	inside := m.rects.inside(rect, p.pad)
	entries := m.entryLines(inside.W, inside.H)
	if inside.W >= homeColumns {
		left := inside.W * 2 / 5
		entries = m.entryLines(inside.W-left-2, inside.H)
		about := block(m.aboutLines(left), left, inside.H)
		for i := range about {
			about[i] += "  "
			if i < len(entries) {
				about[i] += entries[i]
			}
		}
		return m.draw(p, about)
	}
	if len(entries) > 0 {
		entries = append(entries, "")
	}
	return m.draw(p, block(append(entries, m.aboutLines(inside.W)...), inside.W, inside.H))
}

func (m *Model) homeTitle() string {
	if m.conn.opening.running() {
		return "opening " + m.name() + "…"
	}
	return m.invitation()
}

// entryLines are the entries under their headings. The chosen one is always among them.
func (m *Model) entryLines(width, height int) []string {
	var lines []string
	at, group := 0, ""
	for i, entry := range m.homeEntries() {
		if entry.group != group {
			if group != "" {
				lines = append(lines, "")
			}
			group = entry.group
			lines = append(lines, m.theme.Title.Render(group))
		}
		if i == m.past.chosen {
			at = len(lines)
		}
		lines = append(lines, m.entryLine(entry, i, width))
	}
	if from := at - height + 1; m.focus == InHome && from > 0 {
		lines = lines[from:]
	}
	return lines
}

func (m *Model) entryLine(entry homeEntry, i, width int) string {
	digit := " "
	if i < numbered {
		digit = strconv.Itoa(i + 1)
	}
	room := max(0, width-len(" 1    ")-paint.Width(entry.note))
	line := m.theme.Key.Render(digit) + "  " + m.theme.Text.Render(paint.Fit(paint.Line(entry.text), room)) + "  " + m.theme.Muted.Render(entry.note)
	if m.focus == InHome && i == m.past.chosen && m.overlay() == 0 {
		return paint.Under(paint.Fit(m.theme.Prompt.Render("▌")+line, width), m.theme.Selected)
	}
	return " " + line
}

// aboutLines are what can be searched: how much, from where, how new.
func (m *Model) aboutLines(width int) []string {
	w := m.conn.welcome
	if len(w.sources) == 0 {
		return nil
	}
	head := text.Count(len(w.sources), "source")
	if w.exact {
		head = fmt.Sprintf("%s in %s", text.Count(w.documents, "document"), head)
	}
	lines := []string{m.theme.Title.Render(head)}
	if months := w.facets.Months; len(months) > 0 {
		if newest, err := time.Parse("2006-01", months[len(months)-1].Month); err == nil {
			lines = append(lines, m.theme.Muted.Render("newest "+newest.Format("January 2006")+m.synced()))
		}
	}
	return append(append(lines, ""), m.sourceLines(width)...)
}

// synced is when the folders of a library were last read.
func (m *Model) synced() string {
	if m.conn.synced.IsZero() {
		return ""
	}
	return " · synced " + m.ago(m.conn.synced)
}

// sourceLines are the sources with bars for their share.
func (m *Model) sourceLines(width int) []string {
	most, name := 0, 0
	for _, source := range m.conn.welcome.sources {
		most = max(most, source.Count)
		name = max(name, paint.Width(wire.SourceName(source.Value)))
	}
	name = min(name, max(4, width/3))
	bar := bounded(width-name-14, 0, 30)
	var lines []string
	for _, source := range m.conn.welcome.sources[:min(len(m.conn.welcome.sources), m.height)] {
		line := m.theme.SourceStyle(source.Value).Render(m.theme.SourceGlyph(source.Value) + " " +
			paint.Fit(wire.SourceName(source.Value), name))
		if m.conn.welcome.exact && most > 0 {
			line += " " + paint.Fit(m.theme.Bar.Render(panel.Bar(source.Count, most, bar)), bar) + m.theme.Muted.Render(fmt.Sprintf(" %7s", text.Number(source.Count)))
		}
		lines = append(lines, line)
	}
	return lines
}

// lastSync returns when the root that was read last was read.
func lastSync(roots []wire.LibraryRoot) (last time.Time) {
	for _, root := range roots {
		if at, err := time.Parse(time.RFC3339, root.SyncedAt); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}
