package panel

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
	Value  any    // what it is about, for its owner
	Group  string
	Text   string // what it does
	Indent int    // columns before the text
	Keys   string // that run it, as people read them
	Reason string // why it cannot run now; empty: it can
}

// Actions lists all actions: what can be done, with which key, and why not now. It is narrowed by typing; its owner
// runs what is chosen.
type Actions struct {
	Static
	name     string // in the border
	nothing  string // what to say when nothing matches
	entries  []Entry
	shown    []int  // indices into entries that match what is typed
	Choice          // of shown
	window   Choice // of the lines, with those of the headings
	widest   int    // keys of a shown entry, in columns
	filter   line.Editor
	filtered string
}

// Open shows entries, in the order given, those of a group together.
func (p *Actions) Open(name, nothing string, entries []Entry) {
	p.name, p.nothing, p.entries = name, nothing, entries
	p.filter.SetText("")
	p.filtered = ""
	p.narrow()
}

// Replace shows other entries, with what is typed and the choice as they are.
func (p *Actions) Replace(entries []Entry) {
	at := p.At
	p.entries = entries
	p.narrow()
	p.Move(at)
}

// Choose moves the choice to the entry of an action, if it is shown.
func (p *Actions) Choose(action string) {
	at := slices.IndexFunc(p.shown, func(i int) bool { return p.entries[i].Action == action })
	p.At = max(0, at)
}

// Edit implements Panel: what is typed narrows the list.
func (p *Actions) Edit(change func(*line.Editor)) {
	change(&p.filter)
	if text := p.filter.Text(); text != p.filtered {
		p.filtered = text
		p.narrow()
	}
}

// narrow keeps the entries with every typed word: first the one whose key or name was typed, then those with words that
// begin so.
func (p *Actions) narrow() {
	words := strings.Fields(strings.ToLower(p.filtered))
	p.shown, p.Choice, p.widest = p.shown[:0], Choice{}, 0
	ranks := make([]int, len(p.entries))
	for i, entry := range p.entries {
		text := strings.ToLower(strings.Join([]string{entry.Text, entry.Action, entry.Group, entry.Keys, entry.Reason},
			" "))
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			p.shown = append(p.shown, i)
			p.widest = max(p.widest, paint.Width(entry.Keys))
			ranks[i] = rank(entry, text, p.filtered, words)
		}
	}
	slices.SortStableFunc(p.shown, func(a, b int) int { return ranks[a] - ranks[b] })
	p.Of(len(p.shown))
}

// rank is how well an entry fits what is typed, 0 the best.
func rank(entry Entry, text, typed string, words []string) int {
	switch {
	case len(words) == 0 || entry.Action == strings.TrimSpace(typed) ||
		slices.Contains(strings.Fields(entry.Keys), strings.TrimSpace(typed)):
		return 0
	case !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(" "+text, " "+word) }):
		return 1
	}
	return 2
}

// Select moves the choice to an entry, by its index, if it is shown.
func (p *Actions) Select(entry int) {
	if at := slices.Index(p.shown, entry); at >= 0 {
		p.At = at
	}
}

// Entries returns all entries. The slice must not be changed.
func (p *Actions) Entries() []Entry { return p.entries }

// Typed returns what is typed to narrow the list.
func (p *Actions) Typed() string { return p.filtered }

// Chosen is the entry that the choice is on.
func (p *Actions) Chosen() (Entry, bool) {
	if p.At >= len(p.shown) {
		return Entry{}, false
	}
	return p.entries[p.shown[p.At]], true
}

// Title implements Panel.
func (p *Actions) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render(p.name), ""
}

// View draws the line that is typed into, and the list below it.
func (p *Actions) View(width, height int, th theme.Theme) Body {
	typed, x := Input(&p.filter, width, th, "type to narrow")
	body := Body{Lines: []string{typed}, X: x, Cursor: true}
	rows := p.lines(width)
	last := 0
	for i, row := range rows {
		if row.entry == p.At {
			last = i
		}
	}
	p.rows = height - 1
	p.window.At, p.window.count = last, len(rows)
	p.window.Window(p.rows)
	p.window.At = slices.IndexFunc(rows, func(r actionRow) bool { return r.entry == p.At })
	p.window.Rows(&body, height, func(i int, _ bool) string { return p.row(rows[i], width, th) })
	switch {
	case len(p.entries) == 0:
		body.Lines = append(body.Lines, th.Muted.Render(p.nothing))
	case len(rows) == 0:
		body.Lines = append(body.Lines, th.Muted.Render(p.nothing+" “"+paint.Line(p.filtered)+"”"))
	}
	return body
}

// actionRow is one line of the list.
type actionRow struct {
	entry  int    // of shown; -1 for the heading of a group
	keys   string // on the first line of an entry
	text   string
	reason bool // the text says why the entry cannot run now
}

// lines are the lines of the list: the shown entries with their whole texts, the chosen one with why it cannot run now,
// and the heading of each group unless the list is narrowed.
func (p *Actions) lines(width int) []actionRow {
	var rows []actionRow
	room := max(1, width-p.keysWidth(width)-len("▌   "))
	for n, i := range p.shown {
		entry := p.entries[i]
		if p.filtered == "" && entry.Group != "" && (n == 0 || p.entries[p.shown[n-1]].Group != entry.Group) {
			rows = append(rows, actionRow{entry: -1, text: entry.Group})
		}
		keys, indent := entry.Keys, min(entry.Indent, room/2)
		for _, part := range paint.Wrap(paint.Line(entry.Text), room-indent) {
			rows = append(rows, actionRow{n, keys, paint.Blank(indent) + part, false})
			keys = ""
		}
		if entry.Reason != "" && n == p.At {
			for _, part := range paint.Wrap("unavailable: "+paint.Line(entry.Reason), room) {
				rows = append(rows, actionRow{n, "", part, true})
			}
		}
	}
	return rows
}

func (p *Actions) keysWidth(width int) int { return min(p.widest, max(6, width/4)) }

func (p *Actions) row(r actionRow, width int, th theme.Theme) string {
	if r.entry < 0 {
		return th.Muted.Render(r.text)
	}
	text, key := th.Text, th.Key
	switch {
	case r.reason:
		text = th.Warning
	case p.entries[p.shown[r.entry]].Reason != "":
		text, key = th.Disabled, th.Disabled
	}
	keys := key.Render(paint.Fit(r.keys, p.keysWidth(width)) + "  ")
	return Row(" "+keys+text.Render(r.text), r.entry == p.At, width, th)
}
