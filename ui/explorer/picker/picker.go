// Package picker is the panel in which filters are chosen: tabs of values with their counts, and of times. It starts
// from a query and returns changes of its filters in the query language. It draws and keeps state; keys, searches and
// the query itself are its caller's.
package picker

import (
	"cmp"
	"strconv"
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
	Facets wire.Facets
	// Exact reports whether the server counted every match. Otherwise the facets are counts of the results in hand, which
	// is said, and there is no histogram.
	Exact bool
	// InHand is the number of results that inexact facets count; 0 means the sum over the sources.
	InHand int
	// Matches are exact numbers of documents by the time filters of a search, as TimeOf writes them; others are estimated from
	// the months.
	Matches map[string]int
	Known   []string // the sources that the user has access to, counted or not
	Now     time.Time
}

// Changes say what becomes of a query: the filters of the Fields leave it, those in Raw enter.
type Changes struct {
	Fields []string // source, since, until, within
	Raw    []string // such as source:slack,github
}

// Empty reports whether nothing was changed.
func (c Changes) Empty() bool { return len(c.Fields) == 0 }

// Picker is the panel. It is of use once it has been opened.
type Picker struct {
	tabs    []tab
	active  int
	message string // answers the last key, until the next one
}

// tab is one page of a picker. Methods that change the choice report whether it changed.
type tab interface {
	title() string
	summary() string
	mark() string // beside the title while something is selected; "" for none
	update(in Input)
	changes() Changes // empty as long as the choice is the one that the query came with

	move(rows int)
	page(pages int)
	sideways(columns int, extend bool)
	toggle() (changed bool, message string)
	invert() (changed bool, message string)
	back() bool
	escape() string // what back does, or panel.Close
	confirm() bool
	typed() // the text of the editor has changed
	editor() *line.Editor
	problem() string

	view(width, height int, th theme.Theme, message string) panel.Body
}

// clearing is what esc does to a typed text.
const clearing = "clear"

// field is the text that is typed in a tab.
type field struct {
	text        line.Editor
	placeholder string
}

func (f *field) editor() *line.Editor { return &f.text }

// sideways moves the cursor.
func (f *field) sideways(columns int) {
	if columns < 0 {
		f.text.Left()
	} else {
		f.text.Right()
	}
}

// line draws the field and returns the column of the cursor.
func (f *field) line(width int, th theme.Theme) (string, int) {
	const mark = "› "
	text, x := f.text.View(width-paint.Width(mark), th, f.placeholder, false)
	return th.Prompt.Render(mark) + text, min(x+paint.Width(mark), max(0, width-1))
}

// Open shows the filters of a query, on the first tab.
func (p *Picker) Open(in Input) {
	p.tabs = []tab{newValues(in), newTimes(in)}
	p.active, p.message = 0, ""
}

// Update takes the counts and sources of a new answer. What was chosen and typed since the opening stays, and
// in.Query is only what the answer was limited to.
func (p *Picker) Update(in Input) {
	for _, t := range p.tabs {
		t.update(in)
	}
}

// Tab is the index of the tab that is shown.
func (p *Picker) Tab() int { return p.active }

// Turn shows a tab further on, around the ends.
func (p *Picker) Turn(by int) {
	if len(p.tabs) > 0 {
		p.active, p.message = (p.active+by+len(p.tabs))%len(p.tabs), ""
	}
}

// act lets the shown tab do something, and reports whether its choice changed.
func (p *Picker) act(do func(tab) (changed bool, message string)) bool {
	if len(p.tabs) == 0 {
		return false
	}
	var changed bool
	changed, p.message = do(p.tabs[p.active])
	return changed
}

func (p *Picker) quietly(do func(tab) bool) bool {
	return p.act(func(t tab) (bool, string) { return do(t), "" })
}

// Move implements panel.Panel.
func (p *Picker) Move(rows int) { p.quietly(func(t tab) bool { t.move(rows); return false }) }

// Page implements panel.Panel.
func (p *Picker) Page(pages int) { p.quietly(func(t tab) bool { t.page(pages); return false }) }

// Sideways moves by bars in the histogram, with the range drawn along if it is to be extended; elsewhere in the typed text.
func (p *Picker) Sideways(columns int, extend bool) {
	p.quietly(func(t tab) bool { t.sideways(columns, extend); return false })
}

// Toggle is the space key: it chooses or drops a value, begins and ends a range in the histogram, chooses a preset,
// and is a space where dates are typed.
func (p *Picker) Toggle() bool { return p.act(tab.toggle) }

// Invert chooses all values but the chosen ones. Where that makes no sense the panel shows why.
func (p *Picker) Invert() bool { return p.act(tab.invert) }

// Back takes back what was begun and not finished, a range or a typed text.
func (p *Picker) Back() bool { return p.quietly(tab.back) }

// Escape implements panel.Panel.
func (p *Picker) Escape() string {
	if len(p.tabs) == 0 {
		return panel.Close
	}
	return p.tabs[p.active].escape()
}

// Confirm is for the enter key, before Result: a value that was narrowed down to and not toggled, and a preset that was
// moved to and not chosen, are chosen. The panel has announced that applying takes them, so the caller goes on to apply
// Result in any case.
func (p *Picker) Confirm() bool { return p.quietly(tab.confirm) }

// Edit runs an editing key on what is typed, such as (*line.Editor).DeleteWordBack: it narrows the values of a tab, or
// writes dates.
func (p *Picker) Edit(key func(*line.Editor) bool) bool {
	return p.quietly(func(t tab) bool {
		editor := t.editor()
		before, text := editor.Version(), editor.Text()
		key(editor)
		if editor.Text() != text {
			t.typed()
		}
		return editor.Version() != before
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

// summary describes the whole choice in a few words: "2 of 7 sources · last 30 days".
func (p *Picker) summary() string {
	return strings.Join(exslices.CastFunc(p.tabs, tab.summary), " · ")
}

// View implements panel.Panel.
func (p *Picker) View(width, height int, th theme.Theme) panel.Body {
	if len(p.tabs) == 0 {
		return panel.Body{}
	}
	return p.tabs[p.active].view(width, height, th, p.message)
}

// Title names the tabs, and what is chosen where there is room.
func (p *Picker) Title(width int, th theme.Theme) (titles, chosen string) {
	const gap = 3
	if len(p.tabs) == 0 {
		return "", ""
	}
	titles = p.titles(width, th)
	room := width - gap - paint.Width(titles)
	for _, summary := range []string{p.summary(), p.tabs[p.active].summary()} {
		if summary = paint.Line(summary); paint.Width(summary) < room {
			return titles, th.Muted.Render(summary)
		}
	}
	return titles, ""
}

// titles names the tabs. The shown one is in brackets, a tab with a selection shows its number, and where there is no
// room for all the first ones give way.
func (p *Picker) titles(width int, th theme.Theme) string {
	parts := make([]string, len(p.tabs))
	for i, t := range p.tabs {
		text := t.title()
		if mark := t.mark(); mark != "" {
			text += " " + mark
		}
		if i == p.active {
			parts[i] = th.Key.Render("[") + th.Title.Render(text) + th.Key.Render("]")
		} else {
			parts[i] = " " + th.Muted.Render(text) + " "
		}
	}
	between := th.Border.Render("│")
	all := strings.Join(parts, between)
	for from := 0; from < p.active && paint.Width(all) > width; {
		from++
		all = th.Muted.Render("…") + strings.Join(parts[from:], between)
	}
	if rest := len(parts) - p.active - 1; paint.Width(all) > width && rest > 0 {
		if short := parts[p.active] + th.Muted.Render(" +"+strconv.Itoa(len(parts)-1)); paint.Width(short) <= width {
			return short
		}
	}
	return paint.Fit(all, min(width, paint.Width(all)))
}
