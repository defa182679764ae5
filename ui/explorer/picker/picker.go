// Package picker is the panel in which filters are chosen: tabs of values with their counts, and of times. It knows what
// a query holds, shows what may be chosen instead, and gives back the filters as the query language writes them. It
// draws and it keeps state; keys, searches and the query itself are its caller's.
package picker

import (
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

// Input is what a picker shows and starts from.
type Input struct {
	Query  client.Query // what holds now
	Facets wire.Facets
	// Exact tells that the server counted every match. Otherwise the facets are counts of the results in hand, which
	// is said, and there is no histogram.
	Exact bool
	// InHand is the number of results that inexact facets count; 0 stands for the sum over the sources.
	InHand int
	Known  []string // the sources that the user has access to, counted or not
	Now    time.Time
}

// Changes say what becomes of a query: the filters of the Fields leave it, those in Raw enter.
type Changes struct {
	Fields []string // source, since, until, within
	Raw    []string // such as source:slack,github
}

// Empty tells that nothing was changed.
func (c Changes) Empty() bool { return len(c.Fields) == 0 }

// Picker is the panel. It is of use once it has been opened.
type Picker struct {
	tabs    []tab
	active  int
	version uint64
	message string // answers the last key, until the next one

	frames  paint.Cache[frameKey]
	cursorX int
	cursorY int
	cursor  bool
}

// tab is one page of a picker. What changes state tells whether it did; what answers a key may leave a message.
type tab interface {
	title() string
	summary() string
	mark() string // what stands beside the title as long as something is chosen
	update(in Input)
	changes() Changes // empty as long as the choice is the one that the query came with

	move(rows int) bool
	page(pages int) bool
	sideways(columns int, extend bool) bool
	toggle() (changed bool, message string)
	invert() (changed bool, message string)
	back() bool
	confirm() bool
	typed() // the text of the editor has changed
	editor() *line.Editor
	problem() string

	view(width, height int, th theme.Theme, message string) body
}

// body is what a tab draws: exactly the lines that it was asked for, and where the terminal's cursor stands in them.
type body struct {
	lines  []string
	x, y   int
	cursor bool
	// thumb is the part of the lines, from one to before another, that stands for what is shown of a longer list.
	thumbFrom, thumbTo int
}

// Open shows what a query holds, on the first tab.
func (p *Picker) Open(in Input) {
	p.tabs = []tab{newValues(sourceField(), in), newTimes(in)}
	p.active, p.message = 0, ""
	p.version++
}

// Update takes the counts and sources of a new answer. What was chosen and typed since the opening stays, and
// in.Query only tells what the answer was limited to.
func (p *Picker) Update(in Input) {
	for _, t := range p.tabs {
		t.update(in)
	}
	p.version++
}

// Tab is the index of the tab that is shown.
func (p *Picker) Tab() int { return p.active }

// showTab shows a tab by its index; false if there is none or it is the one that is shown.
func (p *Picker) showTab(index int) bool {
	if index < 0 || index >= len(p.tabs) || index == p.active {
		return false
	}
	p.active, p.message = index, ""
	p.version++
	return true
}

// NextTab shows the next tab, the first after the last.
func (p *Picker) NextTab() bool { return p.step(1) }

// PrevTab shows the tab before, the last before the first.
func (p *Picker) PrevTab() bool { return p.step(-1) }

func (p *Picker) step(by int) bool {
	if len(p.tabs) == 0 {
		return false
	}
	return p.showTab((p.active + by + len(p.tabs)) % len(p.tabs))
}

// act lets the shown tab do something. It is drawn anew even if its choice stays: what enter would take may differ.
func (p *Picker) act(do func(tab) (changed bool, message string)) bool {
	if len(p.tabs) == 0 {
		return false
	}
	var changed bool
	changed, p.message = do(p.tabs[p.active])
	p.version++
	return changed
}

func (p *Picker) quietly(do func(tab) bool) bool {
	return p.act(func(t tab) (bool, string) { return do(t), "" })
}

// Up moves to the row before.
func (p *Picker) Up() bool { return p.quietly(func(t tab) bool { return t.move(-1) }) }

// Down moves to the next row.
func (p *Picker) Down() bool { return p.quietly(func(t tab) bool { return t.move(1) }) }

// PageUp moves by what was seen last.
func (p *Picker) PageUp() bool { return p.quietly(func(t tab) bool { return t.page(-1) }) }

// PageDown moves by what was seen last.
func (p *Picker) PageDown() bool { return p.quietly(func(t tab) bool { return t.page(1) }) }

// Left moves to the bar on the left in the histogram, and in the typed text otherwise.
func (p *Picker) Left() bool { return p.quietly(func(t tab) bool { return t.sideways(-1, false) }) }

// Right moves to the bar on the right in the histogram, and in the typed text otherwise.
func (p *Picker) Right() bool { return p.quietly(func(t tab) bool { return t.sideways(1, false) }) }

// ExtendLeft is Left with the range drawn along.
func (p *Picker) ExtendLeft() bool {
	return p.quietly(func(t tab) bool { return t.sideways(-1, true) })
}

// ExtendRight is Right with the range drawn along.
func (p *Picker) ExtendRight() bool {
	return p.quietly(func(t tab) bool { return t.sideways(1, true) })
}

// Toggle is the space key: it chooses or drops a value, begins and ends a range in the histogram, chooses a preset,
// and is a space where dates are typed.
func (p *Picker) Toggle() bool { return p.act(tab.toggle) }

// Invert chooses all values but the chosen ones. Where that makes no sense the panel says why.
func (p *Picker) Invert() bool { return p.act(tab.invert) }

// Back takes back what was begun and not finished, a range or a typed text; false if there is nothing such, so that
// the caller closes the panel.
func (p *Picker) Back() bool { return p.quietly(tab.back) }

// Confirm is for the enter key, before Result: a value that was narrowed down to and not toggled, and a preset that was
// moved to and not chosen, are chosen. The panel has announced that applying takes them, so the caller goes on to apply
// Result whatever Confirm tells.
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

// Problem says why something typed cannot be applied; empty if all can. Result leaves such a thing out.
func (p *Picker) Problem() string {
	for _, t := range p.tabs {
		if problem := t.problem(); problem != "" {
			return problem
		}
	}
	return ""
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

// summary tells the whole choice in a few words: "2 of 7 sources · last 30 days".
func (p *Picker) summary() string {
	parts := make([]string, 0, len(p.tabs))
	for _, t := range p.tabs {
		parts = append(parts, t.summary())
	}
	return strings.Join(parts, " · ")
}
