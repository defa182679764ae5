package explorer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
	"quarry/ui/explorer/picker"
	"quarry/ui/passage"
)

const (
	// homeColumns is how wide the home must be to have what can be opened beside what is there.
	homeColumns = 90
	// mostRecent is how many recent searches the home shows; the list of searches has them all.
	mostRecent = 8
	// mostNewest is how many of the documents changed last are asked for: those that are shown, and more that may be
	// questions.
	mostNewest = 100
	// leastNewest of them are shown where there is no room for more.
	leastNewest = 3
	// leastPlaces are shown even where there is no room for them.
	leastPlaces = 5
	// mostChanges is how many changed documents and marked passages it shows, each; half of them on a narrow screen.
	mostChanges = 6
	// mostQuestions is how many of their titles that are questions it shows.
	mostQuestions = 4
	// shortestName is how many columns the name of a place has before its bar, at least.
	shortestName = 18
	// headingRows are the heading of a group and the empty line above it.
	headingRows = 2
	// mostMonths is how many months it shows.
	mostMonths = 12
	// numbered is how many entries have a digit of their own.
	numbered = 9
)

// homeEntry is something that can be opened from an empty query.
type homeEntry struct {
	group string
	text  string
	note  string // beside the text
	open  func(*Model) tea.Cmd
	place bool         // it is where documents are or when they changed, not what was searched or can be
	style *theme.Style // of the text; nil: as text
	share float64      // of the group's largest count: has a bar; 0: has none
}

// atHome reports whether there is nothing to show but the home.
func (m *Model) atHome() bool {
	return m.list.Len() == 0 && m.search.shown == nil && m.search.failure == nil && m.search.running == nil &&
		m.box.Query() == ""
}

// homeEntries are saved searches, what is new, recent searches and marked passages, or on a first visit what one can
// begin with, questions that documents answer and the newest documents, as many as there is room for; then the places.
func (m *Model) homeEntries() []homeEntry {
	var entries []homeEntry
	for _, saved := range m.past.state.Saved {
		note := "opened " + m.ago(saved.Opened)
		if n := m.past.inSaved[saved.Name]; n > 0 {
			note = strconv.Itoa(n) + " new"
		}
		entries = append(entries, homeEntry{group: "Saved", text: saved.Name, note: note,
			open: func(m *Model) tea.Cmd { return m.openSaved(saved.Name) }})
	}
	if n := m.past.arrived; n > 0 {
		entries = append(entries,
			homeEntry{group: "New", text: text.Count(n, "document") + " added since your last visit",
				note: m.ago(m.past.state.Since), open: (*Model).openArrived})
	}
	for _, one := range m.shownChanges() {
		note := one.what
		if by := m.look.by; by.IsPlace() && m.isWideHome() {
			note += " · " + by.Name(by.Value(one.document))
		}
		entries = append(entries, m.documentEntry("New", one.document, note, one.request))
	}
	for _, search := range m.past.state.Recent[:min(len(m.past.state.Recent), mostRecent)] {
		entries = append(entries, searchEntry("Recent", search.Query, m.ago(search.At)))
	}
	if !m.past.loaded {
		return entries
	}
	marks := m.marks()
	for _, passage := range marks[:min(len(marks), m.someRows())] {
		entries = append(entries, homeEntry{group: "Collection", text: text.OneLine(passage.Title),
			note: "marked " + m.ago(passage.Marked), open: func(m *Model) tea.Cmd { return m.openPassage(passage) }})
	}
	if len(entries) == 0 {
		entries = m.firstEntries()
	}
	entries = append(entries, m.questions()...)
	places, rows := m.placeEntries(), rowsOf(entries)
	if !m.isWideHome() {
		rows = rowsOf(slices.Concat(entries, places))
	}
	return slices.Concat(entries, m.newestEntries(rows), places)
}

// shownChanges are the changed documents that there is room for.
func (m *Model) shownChanges() []change {
	return m.past.changes[:min(len(m.past.changes), m.someRows())]
}

// someRows is how many changed documents or marked passages there is room for.
func (m *Model) someRows() int {
	if m.isWideHome() {
		return mostChanges
	}
	return mostChanges / 2
}

// homeRows is how many lines the home has.
func (m *Model) homeRows() int { return m.rects.inside(m.homeRect(), 1).H }

func searchEntry(group, query, note string) homeEntry {
	return homeEntry{group: group, text: query, note: note,
		open: func(m *Model) tea.Cmd { return m.searchFor(query) }}
}

// questions are the titles of documents that are questions.
func (m *Model) questions() (entries []homeEntry) {
	most := mostQuestions
	if !m.isWideHome() {
		most = mostQuestions / 2
	}
	for _, document := range m.conn.welcome.newest {
		if len(entries) < most && isQuestion(document.Title) {
			entries = append(entries, searchEntry("Answered here", document.Title, ""))
		}
	}
	return entries
}

// isQuestion reports whether a title asks something.
func isQuestion(title string) bool {
	title = strings.TrimSpace(title)
	return strings.TrimRight(title, "?？؟") != title || strings.HasPrefix(title, "¿")
}

// newestEntries are the documents changed last: with above rows of other entries, as many as there is room for.
func (m *Model) newestEntries(above int) (entries []homeEntry) {
	newest := slices.DeleteFunc(slices.Clone(m.conn.welcome.newest), func(d wire.SearchResult) bool {
		return slices.ContainsFunc(m.shownChanges(), func(c change) bool { return c.document.Ref == d.Ref })
	})
	newest = newest[:min(max(leastNewest, m.homeRows()-above-headingRows), len(newest))]
	apart, oneDate, group := passage.Apart(newest), passage.HasOneDate(newest), "Newest"
	if oneDate && len(m.conn.welcome.facets.Months) == 1 {
		group = "Documents" // none is newer than others
	}
	for i, document := range newest {
		age := ""
		if updated, err := wire.ParseTime(text.OrEmpty(document.UpdatedAt)); err == nil && !oneDate {
			age = m.ago(updated)
		}
		where := apart[i]
		if by := m.look.by; by.IsPlace() {
			if where = by.Name(by.Value(document)); apart[i] != where {
				where = text.Join(" › ", where, apart[i])
			}
		}
		if m.isWideHome() {
			age = text.Join(" · ", where, age)
		}
		entries = append(entries, m.documentEntry(group, document, age, wire.SearchRequest{Browse: true}))
	}
	return entries
}

// documentEntry is a document, which opens in the list that a request gives.
func (m *Model) documentEntry(group string, document wire.SearchResult, note string,
	list wire.SearchRequest) homeEntry {
	return homeEntry{group: group, note: note,
		text: m.look.by.Marked(m.theme, m.look.by.Value(document), document.Title),
		open: func(m *Model) tea.Cmd { return m.browse(list, document.Ref) }}
}

// placeEntries are all documents, the sources or places, and the months of the last year in which documents changed;
// where there is room beside the other entries, also what is in the largest place, and the kinds and authors of
// documents.
func (m *Model) placeEntries() []homeEntry {
	w := m.conn.welcome
	known := m.known()
	if len(known) == 0 {
		return nil
	}
	months, all, beside := m.monthEntries(), []homeEntry{m.allEntry()}, m.besideEntry()
	rest := rowsOf(slices.Concat(all, months)) + headingRows + len(beside)
	shown := min(len(known), max(leastPlaces, m.homeRows()-rest))
	if shown < len(known) {
		shown-- // for the rest
	}
	places := m.countEntries(m.look.by.Field().Name, known, shown)
	if more := len(known) - shown; more > 0 {
		places = append(places, homeEntry{group: places[0].group, place: true, text: text.Number(more) + " more",
			open: (*Model).openPicker})
	}
	entries := slices.Concat(all, places, beside, months)
	add := func(id field.ID, title string, counts []wire.FacetValue) {
		room := m.homeRows() - rowsOf(entries) - headingRows
		if m.isWideHome() && w.exact && len(counts) > 1 && room > 1 {
			for _, entry := range m.countEntries(field.Of(id).Name, counts, min(room, len(counts))) {
				entry.group = cmp.Or(title, entry.group)
				entries = append(entries, entry)
			}
		}
	}
	if by := m.look.by; by.IsPlace() {
		add(field.Place, by.Name(known[0].Value), w.inner)
	}
	add(field.Type, "", w.facets.Types)
	add(field.Author, "", w.facets.Authors)
	add(field.Lang, "", w.facets.Languages)
	return entries
}

// allEntry is how much can be searched and how new it is. It lists all documents.
func (m *Model) allEntry() homeEntry {
	w := m.conn.welcome
	all := homeEntry{group: "Library", place: true, style: &m.theme.Title, open: (*Model).openPicker,
		text: text.Count(len(m.known()), m.look.by.Field().Noun)}
	if m.target.Kind == Remote {
		all.group = "Server"
	}
	if w.exact {
		all.text = fmt.Sprintf("%s in %s", text.Count(w.documents, "document"), all.text)
	}
	if w.browses {
		all.open = func(m *Model) tea.Cmd { return m.browse(wire.SearchRequest{Browse: true}, "") }
	}
	if months := w.facets.Months; !m.conn.synced.IsZero() {
		all.note = "synced " + m.ago(m.conn.synced)
	} else if len(months) > 0 {
		if newest, err := time.Parse("2006-01", months[len(months)-1].Month); err == nil {
			all.note = "newest " + newest.Format("Jan 2006")
		}
	}
	return all
}

// besideEntry is how many documents lie in none of the places, directly in the folder that contains these, if any do
// and all places are listed.
func (m *Model) besideEntry() []homeEntry {
	w, known := m.conn.welcome, m.known()
	beside, places := w.documents, make([]string, 0, len(known))
	for _, one := range known {
		beside, places = beside-one.Count, append(places, one.Value)
	}
	if !w.exact || !m.look.by.IsPlace() || beside <= 0 || len(known) == wire.MaxFacetValues {
		return nil
	}
	of, _ := picker.FieldOf(m.look.by.Field().Name)
	return []homeEntry{{group: of.Title, place: true, text: "elsewhere", note: text.Number(beside),
		open: func(m *Model) tea.Cmd { return m.searchFor(of.Filter(true, places)) }}}
}

// countEntries are the first values of a field with their counts. Each searches what has it.
func (m *Model) countEntries(name string, counts []wire.FacetValue, shown int) (entries []homeEntry) {
	of, _ := picker.FieldOf(name)
	most := 0
	for _, one := range counts {
		most = max(most, one.Count)
	}
	for _, one := range counts[:shown] {
		entry := countEntry(of.Title, of.Label(one.Value), of.Filter(false, []string{one.Value}), one.Count, most)
		if by := m.look.by; by.Field().Name == name {
			style := by.Style(m.theme, one.Value)
			entry.style, entry.text = &style, by.Label(m.theme, one.Value)
		}
		if !m.conn.welcome.exact {
			entry.share, entry.note = 0, ""
		}
		entries = append(entries, entry)
	}
	return entries
}

// countEntry searches a query that so many documents match, with a bar as their share of the most in its group.
func countEntry(group, name, query string, count, most int) homeEntry {
	return homeEntry{group: group, place: true, text: name, note: text.Number(count),
		share: float64(count) / float64(max(1, most)), open: func(m *Model) tea.Cmd { return m.searchFor(query) }}
}

// monthEntries are the months of the last year in which documents changed; none where all changed in one, whose bar
// says nothing.
func (m *Model) monthEntries() (entries []homeEntry) {
	months := m.conn.welcome.facets.Months
	if len(months) == 1 {
		return nil
	}
	months = months[max(0, len(months)-mostMonths):]
	most := 0
	for _, month := range months {
		most = max(most, month.Count)
	}
	for _, month := range slices.Backward(months) {
		at, err := time.Parse("2006-01", month.Month)
		if err != nil || at.Before(m.now().AddDate(-1, 0, 0)) {
			continue
		}
		within := "since:" + month.Month + " until:" + month.Month
		entries = append(entries, countEntry("Changed", at.Format("January 2006"), within, month.Count, most))
	}
	return entries
}

// firstEntries are what a first visit can begin with.
func (m *Model) firstEntries() (entries []homeEntry) {
	for _, example := range m.target.Examples {
		entries = append(entries, searchEntry("Try", example, ""))
	}
	if noSetUp(m) == "" {
		entries = append(entries, homeEntry{group: "Begin", text: "Open a folder, or connect to Onyx",
			note: m.keys.keyOf("set-up", InBox), open: (*Model).openSetUp})
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

// homeRect is where the home is: beside a panel where there is room for both.
func (m *Model) homeRect() Rect {
	if _, overReader := m.overlayRect(); overReader && m.overlay() != 0 {
		return m.rects.ListFrame
	}
	return m.rects.Body
}

// isWideHome reports whether the places have room beside the other entries.
func (m *Model) isWideHome() bool { return m.rects.inside(m.homeRect(), 1).W >= homeColumns }

// homePane draws what can be opened: the places beside the rest where there is room, otherwise below it.
func (m *Model) homePane() []string {
	rect := m.homeRect()
	p := pane{paint.Frame{Pad: 1, Title: m.theme.Title.Render(m.homeTitle())}, rect, m.focus == InHome}
	inside := m.rects.inside(rect, p.Pad)
	entries := m.homeEntries()
	places := len(entries)
	for places > 0 && entries[places-1].place {
		places--
	}
	if !m.isWideHome() {
		lines, at := m.entryLines(entries, 0, inside.W)
		return m.draw(p, paint.Block(m.scrolled(lines, at, inside.H), inside.W, inside.H))
	}
	left := inside.W * 2 / 5
	here, at := m.entryLines(entries[places:], places, left-2)
	here = paint.Block(m.scrolled(here, at, inside.H), left, inside.H)
	rest, at := m.entryLines(entries[:places], 0, inside.W-left-2)
	for i, line := range m.scrolled(rest, at, inside.H) {
		if i < len(here) {
			here[i] += "  " + line
		}
	}
	return m.draw(p, here)
}

// scrolled are the lines from which on the one with the chosen entry is in sight. No heading is the last of them.
func (m *Model) scrolled(lines []string, at, height int) []string {
	if from := at - height + 1; m.focus == InHome && from > 0 {
		lines = lines[from:]
	}
	if last := height - 1; last > 0 && len(lines) > last && lines[last-1] == "" {
		return lines[:last]
	}
	return lines
}

func (m *Model) homeTitle() string {
	if m.conn.opening.running() {
		return "opening " + m.name() + "…"
	}
	return m.invitation()
}

// rowsOf is how many lines show entries under the headings of their groups.
func rowsOf(entries []homeEntry) (rows int) {
	for i, entry := range entries {
		if i == 0 || entry.group != entries[i-1].group {
			rows += headingRows
		}
		rows++
	}
	return max(0, rows-1)
}

// entryLines are entries under their headings, the first of which is number first of all, and the line of the chosen
// one.
func (m *Model) entryLines(entries []homeEntry, first, width int) (lines []string, at int) {
	for i, entry := range entries {
		if i == 0 || entry.group != entries[i-1].group {
			if i > 0 {
				lines = append(lines, "")
			}
			lines = append(lines, m.theme.Title.Render(entry.group))
		}
		if first+i == m.past.chosen {
			at = len(lines)
		}
		lines = append(lines, m.entryLine(entry, first+i, width))
	}
	return lines, at
}

func (m *Model) entryLine(entry homeEntry, i, width int) string {
	digit := "   " // places have none, and begin where it would be; in the query it would be typed
	switch {
	case entry.place:
		digit = ""
	case i < numbered && m.focus == InHome:
		digit = strconv.Itoa(i+1) + "  "
	}
	style := cmp.Or(entry.style, &m.theme.Text)
	if entry.place && entry.share == 0 && paint.Width(entry.text+entry.note)+len(" | ") > width {
		entry.note = "" // a count says more
	}
	room := max(0, width-len(digit)-len(" | ")-paint.Width(entry.note))
	line := style.Render(paint.Fit(paint.Line(entry.text), room))
	if entry.share > 0 {
		name := min(room, max(shortestName, width/2-4))
		bar, ink := max(0, room-name-1), m.theme.Bar
		if entry.style != nil {
			ink = *entry.style
		}
		line = style.Render(paint.Fit(paint.Line(entry.text), name)) + " " +
			paint.Fit(ink.Render(panel.Bar(entry.share, 1, bar)), bar)
	}
	line = m.theme.Key.Render(digit) + line + "  " + m.theme.Muted.Render(entry.note)
	return panel.Row(line, m.focus == InHome && i == m.past.chosen && m.overlay() == 0, width, m.theme)
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
