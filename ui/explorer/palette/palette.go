// Package palette is the list of all actions: what can be done, with which key, and why not now. It is narrowed by
// typing, and whoever owns it runs what is chosen.
package palette

import (
	"slices"
	"strings"

	"quarry/theme"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

// Entry is one action.
type Entry struct {
	Action string // its name, which is what the owner runs
	Group  string
	Text   string // what it does
	Keys   string // that run it, as people read them
	Reason string // why it cannot run now; empty: it can
}

// Palette is the panel. Open fills it.
type Palette struct {
	entries  []Entry
	shown    []int // indices into entries that match what is typed
	at       int   // index into shown
	top      int   // first line drawn
	filter   line.Editor
	filtered string
	version  uint64
	page     int // lines of the list when it was last drawn
	cache    paint.Cache[cacheKey]
	cursorX  int // as drawn last
	cursorY  int
}

type cacheKey struct {
	version, filter uint64
	width, height   int
	theme, hints    string
}

// Open shows entries, in the order given, those of a group together.
func (p *Palette) Open(entries []Entry) {
	p.entries = entries
	p.filter.SetText("")
	p.filtered = ""
	p.narrow()
}

// Edit changes what is typed to narrow the list.
func (p *Palette) Edit(change func(*line.Editor) bool) bool {
	changed := change(&p.filter)
	if text := p.filter.Text(); text != p.filtered {
		p.filtered = text
		p.narrow()
	}
	return changed
}

// narrow keeps the entries that hold every typed word: first the one whose key was typed, then those with words that
// begin so.
func (p *Palette) narrow() {
	words := strings.Fields(strings.ToLower(p.filtered))
	p.shown, p.at, p.top = p.shown[:0], 0, 0
	p.version++
	ranks := make([]int, len(p.entries))
	for i, entry := range p.entries {
		text := strings.ToLower(entry.Text + " " + entry.Action + " " + entry.Group + " " + entry.Keys)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			p.shown = append(p.shown, i)
			ranks[i] = rank(entry, text, p.filtered, words)
		}
	}
	slices.SortStableFunc(p.shown, func(a, b int) int { return ranks[a] - ranks[b] })
}

// rank is how well an entry fits what is typed, 0 the best.
func rank(entry Entry, text, typed string, words []string) int {
	switch {
	case len(words) == 0 || slices.Contains(strings.Fields(entry.Keys), strings.TrimSpace(typed)):
		return 0
	case !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(" "+text, " "+word) }):
		return 1
	}
	return 2
}

// Move moves the choice by lines, stopping at the ends.
func (p *Palette) Move(lines int) {
	p.at = max(0, min(p.at+lines, len(p.shown)-1))
	p.version++
}

// Page moves the choice by a page up (-1) or down (1).
func (p *Palette) Page(direction int) { p.Move(direction * max(1, p.page-1)) }

// Chosen is the entry that the choice is on.
func (p *Palette) Chosen() (Entry, bool) {
	if p.at >= len(p.shown) {
		return Entry{}, false
	}
	return p.entries[p.shown[p.at]], true
}

// View draws the panel, height lines of width columns, and tells where the terminal's cursor stands: in the line that is
// typed into.
func (p *Palette) View(width, height int, th theme.Theme, hints string) (lines []string, cursorX, cursorY int) {
	key := cacheKey{p.version, p.filter.Version(), width, height, th.Name, hints}
	lines = p.cache.Lines(key, func() []string { return p.draw(width, height, th, hints) })
	return lines, p.cursorX, p.cursorY
}

func (p *Palette) draw(width, height int, th theme.Theme, hints string) []string {
	p.cursorX, p.cursorY = 0, 0
	if height <= 0 {
		return nil
	}
	title := th.Title.Render("All actions")
	frame := paint.Frame{Width: width, Height: height, Border: paint.PenOf(th.BorderFocused), Title: title, Hints: hints}
	if !frame.Fits() {
		return p.inside(width, height, th, title+"  ")
	}
	innerWidth, innerHeight := frame.Inside()
	lines := p.inside(innerWidth, innerHeight, th, th.Prompt.Render("› "))
	x, y := frame.Inset()
	p.cursorX, p.cursorY = p.cursorX+x, y
	return frame.Around(lines, 0, 0)
}

// inside draws the line that is typed into, behind a label, and the list with the chosen action in full below it.
func (p *Palette) inside(width, height int, th theme.Theme, label string) []string {
	typed, x := p.filter.View(max(0, width-paint.Width(label)), th, "type to narrow", false)
	p.cursorX = max(0, min(x+paint.Width(label), width-1))
	lines := make([]string, 0, height)
	lines = append(lines, paint.Fit(label+typed, width))
	below := p.details(width, height, th)
	p.page = height - 1 - len(below)
	body, chosen := p.rows(width, th)
	p.top = max(min(p.top, chosen), chosen-p.page+1, 0)
	if p.at == 0 && chosen < p.page { // with the heading above it
		p.top = 0
	}
	for i := range p.page {
		row := ""
		if p.top+i < len(body) {
			row = body[p.top+i]
		}
		lines = append(lines, paint.Fit(row, width))
	}
	for _, line := range below {
		lines = append(lines, paint.Fit(line, width))
	}
	return lines
}

// details are the chosen action in full, below the list whose rows are cut, where there is room.
func (p *Palette) details(width, height int, th theme.Theme) []string {
	const most, least = 3, 10
	entry, ok := p.Chosen()
	if !ok || height < least || width < 20 {
		return nil
	}
	lines := []string{th.Border.Render(strings.Repeat("─", width))}
	text := paint.Wrap(paint.Line(entry.Text), width)
	style := th.Text
	if entry.Reason != "" { // it matters more than the end of the text
		text = append([]string{paint.Fit(paint.Line(entry.Text), width)}, paint.Wrap("not now: "+paint.Line(entry.Reason), width)...)
		style = th.Warning
	}
	for len(text) < most-1 {
		text = append(text, "")
	}
	for _, line := range text[:most-1] {
		lines = append(lines, style.Render(line))
	}
	return lines
}

// rows are all lines of the list, and the index of the chosen one. Groups have headings unless the list is narrowed.
func (p *Palette) rows(width int, th theme.Theme) (rows []string, chosen int) {
	if len(p.shown) == 0 {
		return []string{th.Muted.Render("no action matches “" + paint.Line(p.filtered) + "”")}, 0
	}
	keys := 0
	for _, i := range p.shown {
		keys = max(keys, paint.Width(p.entries[i].Keys))
	}
	keys = min(keys, max(6, width/4))
	group := ""
	for n, i := range p.shown {
		entry := p.entries[i]
		if entry.Group != group && p.filtered == "" {
			group = entry.Group
			rows = append(rows, th.Muted.Render(group))
		}
		if n == p.at {
			chosen = len(rows)
		}
		rows = append(rows, p.row(entry, n == p.at, keys, width, th))
	}
	return rows, chosen
}

func (p *Palette) row(entry Entry, chosen bool, keys, width int, th theme.Theme) string {
	mark, text, key := "  ", th.Text, th.Key
	if chosen {
		mark = th.Prompt.Render("▌") + " "
	}
	if entry.Reason != "" {
		text, key = th.Disabled, th.Disabled
	}
	row := mark + key.Render(paint.Fit(entry.Keys, keys)+"  ") + text.Render(paint.Line(entry.Text))
	if !chosen {
		return row
	}
	return paint.Under(paint.Fit(row, width), th.Selected)
}
