// Package picker is the panel in which filters are chosen: tabs of values with their counts, and of times. It starts
// from a query and returns changes of its filters in the query language. It draws and keeps state; keys, searches and
// the query itself are its caller's.
package picker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// Input is what a picker shows and starts from.
type Input struct {
	Query  client.Query // the present query
	First  string       // the filter whose tab comes first; "": sources
	Facets wire.Facets
	// Exact reports whether the server counted every match. Otherwise the counts are of the Results, which is said, and
	// there is no histogram.
	Exact   bool
	Results []wire.SearchResult // in hand
	// Matches are exact numbers of documents by the time filters of a search, as TimeOf writes them; others are
	// estimated from the months.
	Matches map[string]int
	Levels  map[string][]wire.FacetValue // exact counts of places, by their level, as far as they were counted
	Known   func(Field) Listing          // the values that exist, counted or not; nil: none are known
	Bare    bool                         // the server is known to have no extensions
	Now     time.Time
}

// Changes say what becomes of a query: the filters of the Fields leave it, those in Raw enter.
type Changes struct {
	Fields []string // such as source, -source, within
	Raw    []string // such as source:slack,github
}

// Empty reports whether nothing was changed.
func (c Changes) Empty() bool { return len(c.Fields) == 0 }

// Picker is the panel. It must be opened before anything else is asked of it.
type Picker struct {
	tabs    []tab
	active  int
	message string // answers the last key, until the next one

	in    Input
	fresh []bool    // the tabs that show in; the others do once they are shown
	row   paint.Row // of the tabs' titles, as drawn last
}

// tab is one page of a picker.
type tab interface {
	title(brief bool) string
	summary() string
	mark() string // beside the title while something is selected; "" for none
	update(in Input)
	changes() Changes // empty as long as the choice is the one that the query came with

	move(rows int)
	page(pages int)
	sideways(columns int, extend bool)
	toggle()
	exclude()
	cannotExclude() string // why nothing can be excluded; "" if it can
	back() bool
	escape() string // what back does, or panel.Close
	confirm()
	typed()       // the text of the editor has changed
	hit(line int) // a line of the view was clicked
	editor() *line.Editor
	problem() string

	view(width, height int, th theme.Theme, message string) panel.Body
}

// input is the text that is typed in a tab.
type input struct {
	text        line.Editor
	placeholder string
}

func (f *input) editor() *line.Editor { return &f.text }
func (f *input) back() bool           { return false }
func (f *input) escape() string       { return panel.Close }
func (f *input) hit(int)              {}

// sideways moves the cursor.
func (f *input) sideways(columns int) {
	if columns < 0 {
		f.text.Left()
	} else {
		f.text.Right()
	}
}

// line draws the field and returns the column of the cursor.
func (f *input) line(width int, th theme.Theme) (string, int) {
	return panel.Input(&f.text, width, th, f.placeholder)
}

// Open shows the filters of a query, on the first tab.
func (p *Picker) Open(in Input) {
	p.tabs = p.tabs[:0]
	fields := Fields()
	if first := slices.IndexFunc(fields, func(f Field) bool { return f.Name == in.First }); first > 0 {
		leading := fields[first]
		fields = slices.Insert(slices.Delete(fields, first, first+1), 0, leading)
	}
	for i, f := range fields {
		if p.tabs = append(p.tabs, newValues(f, in)); i == 0 {
			p.tabs = append(p.tabs, newTimes(in))
		}
	}
	p.active, p.message, p.row = 0, "", paint.Row{}
	p.fresh = make([]bool, len(p.tabs))
	p.Update(in)
}

// Update takes the counts and values of a new answer. What was chosen and typed since the opening stays, and
// in.Query is only what the answer was limited to.
func (p *Picker) Update(in Input) {
	p.in = in
	p.Refresh()
}

// Refresh takes the known values of the input again.
func (p *Picker) Refresh() {
	clear(p.fresh)
	p.refresh()
}

// refresh brings the shown tab up to date.
func (p *Picker) refresh() {
	if !p.fresh[p.active] {
		p.tabs[p.active].update(p.in)
		p.fresh[p.active] = true
	}
}

// Filter returns the filter whose values are shown; empty for times.
func (p *Picker) Filter() string {
	if t, ok := p.shown(); ok {
		return t.of.Name
	}
	return ""
}

// Levels returns the levels of places that are shown, as requests name them, to be counted each; none in another tab.
func (p *Picker) Levels() []string {
	if t, ok := p.shown(); ok && t.tree != nil && t.tree.root != "" {
		return t.tree.levels()
	}
	return nil
}

// Expand opens the place under the cursor. It reports whether there is one to open.
func (p *Picker) Expand() bool {
	t, ok := p.shown()
	return ok && t.expand()
}

// shown returns the shown tab, if it is one of values.
func (p *Picker) shown() (*values, bool) {
	t, ok := p.tabs[p.active].(*values)
	return t, ok
}

// Turn shows a tab further on, around the ends.
func (p *Picker) Turn(by int) {
	p.active, p.message = (p.active+by+len(p.tabs))%len(p.tabs), ""
	p.refresh()
}

// act lets the shown tab do something.
func (p *Picker) act(do func(tab)) {
	p.message = ""
	do(p.tabs[p.active])
}

// Move implements panel.Panel.
func (p *Picker) Move(rows int) { p.act(func(t tab) { t.move(rows) }) }

// Page implements panel.Panel.
func (p *Picker) Page(pages int) { p.act(func(t tab) { t.page(pages) }) }

// Sideways moves by bars in the histogram, with the range drawn along if it is to be extended; it opens and closes
// places, and moves in typed text.
func (p *Picker) Sideways(columns int, extend bool) {
	p.act(func(t tab) { t.sideways(columns, extend) })
}

// Toggle is the space key: it chooses or drops a value, begins and ends a range in the histogram, chooses a preset,
// and is a space where dates are typed.
func (p *Picker) Toggle() { p.act(tab.toggle) }

// Exclude excludes the value under the cursor, or all selected ones if it is one of them. Where that makes no sense the
// panel shows why.
func (p *Picker) Exclude() {
	p.act(func(t tab) {
		if p.message = t.cannotExclude(); p.message == "" {
			t.exclude()
		}
	})
}

// CannotExclude returns why nothing can be excluded in the shown tab; empty if it can.
func (p *Picker) CannotExclude() string { return p.tabs[p.active].cannotExclude() }

// Back ends a range that was begun.
func (p *Picker) Back() (ended bool) {
	p.act(func(t tab) { ended = t.back() })
	return ended
}

// Escape implements panel.Panel.
func (p *Picker) Escape() string { return p.tabs[p.active].escape() }

// Confirm is for the enter key, before Result: a value that was narrowed down to and not toggled, and a preset that was
// moved to and not chosen, are chosen. The panel has announced that applying takes them, so the caller goes on to apply
// Result in any case.
func (p *Picker) Confirm() { p.act(tab.confirm) }

// Edit runs an editing key on what is typed, such as (*line.Editor).DeleteWordBack: it narrows the values of a tab, or
// writes dates.
func (p *Picker) Edit(key func(*line.Editor)) {
	p.act(func(t tab) {
		editor := t.editor()
		text := editor.Text()
		if key(editor); editor.Text() != text {
			t.typed()
		}
	})
}

// Problem returns why typed text cannot be applied; empty if it can. Result leaves such text out.
func (p *Picker) Problem() string {
	return cmp.Or(exslices.CastFunc(p.tabs, tab.problem)...)
}

// Result is what the query's filters become. Tabs whose choice is the one that the query came with are no part of it.
func (p *Picker) Result() Changes {
	var all Changes
	for _, t := range p.tabs {
		changes := t.changes()
		all.Fields = append(all.Fields, changes.Fields...)
		all.Raw = append(all.Raw, changes.Raw...)
	}
	return all
}

// View implements panel.Panel.
func (p *Picker) View(width, height int, th theme.Theme) panel.Body {
	return p.tabs[p.active].view(width, height, th, p.message)
}

// Title names the tabs, and what is chosen in the shown one where there is room.
func (p *Picker) Title(width int, th theme.Theme) (titles, chosen string) {
	const gap = 3
	titles = p.titles(width, th)
	summary := paint.Line(p.tabs[p.active].summary())
	if paint.Width(summary) < width-gap-paint.Width(titles) {
		return titles, th.Muted.Render(summary)
	}
	return titles, ""
}

// HitTitle shows the tab whose title is in a column of the titles, as drawn last.
func (p *Picker) HitTitle(x int) {
	if tab, ok := p.row.At(x); ok {
		p.Turn(tab - p.active)
	}
}

// HitLine toggles the value on a line of the view, as drawn last.
func (p *Picker) HitLine(line int) { p.act(func(t tab) { t.hit(line) }) }

// titles names the tabs. The shown one is in brackets, a tab with a selection shows its number. Where there is no room
// for all, even with short names, the row begins further on, and "…" stands for the rest.
func (p *Picker) titles(width int, th theme.Theme) string {
	rest := th.Muted.Render("…")
	names := p.names(false)
	if columnsOf(names, 0, len(names)) > width {
		names = p.names(true)
	}
	from, to := p.inSight(names, width)
	p.row = paint.Row{}
	if from > 0 {
		p.row.Put(rest, 1)
	}
	for i, name := range names[from:to] {
		if i > 0 {
			p.row.Put(th.Border.Render("│"), 1)
		}
		title := " " + th.Muted.Render(name) + " "
		if from+i == p.active {
			title = th.Key.Render("[") + th.Title.Render(name) + th.Key.Render("]")
		}
		p.row.PutItem(from+i, title, paint.Width(name)+2)
	}
	if to < len(names) {
		p.row.Put(rest, 1)
	}
	return paint.Fit(p.row.String(), min(width, p.row.X))
}

// names are the titles of the tabs with their marks.
func (p *Picker) names(brief bool) []string {
	return exslices.CastFunc(p.tabs, func(t tab) string {
		return strings.TrimSpace(t.title(brief) + " " + t.mark())
	})
}

// columnsOf is how wide the titles [from, to) are, with the signs for those that are left out.
func columnsOf(names []string, from, to int) int {
	columns := to - from - 1
	for _, name := range names[from:to] {
		columns += paint.Width(name) + 2
	}
	if from > 0 {
		columns++
	}
	if to < len(names) {
		columns++
	}
	return columns
}

// inSight are the titles that there is room for: from the first one from which the shown one can be reached.
func (p *Picker) inSight(names []string, width int) (from, to int) {
	to = p.active + 1
	for from < p.active && columnsOf(names, from, to) > width {
		from++
	}
	for to < len(names) && columnsOf(names, from, to+1) <= width {
		to++
	}
	return from, to
}
