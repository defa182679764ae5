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
	Group  string
	Text   string // what it does
	Keys   string // that run it, as people read them
	Reason string // why it cannot run now; empty: it can
}

// Actions lists all actions: what can be done, with which key, and why not now. It is narrowed by typing; its owner runs
// what is chosen.
type Actions struct {
	Static
	name     string // in the border
	nothing  string // what to say when nothing matches
	entries  []Entry
	shown    []int  // indices into entries that match what is typed
	choice   Choice // of shown
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
	at := p.choice.At
	p.entries = entries
	p.narrow()
	p.choice.Move(at, len(p.shown))
}

// Edit implements Panel: what is typed narrows the list.
func (p *Actions) Edit(change func(*line.Editor) bool) bool {
	changed := change(&p.filter)
	if text := p.filter.Text(); text != p.filtered {
		p.filtered = text
		p.narrow()
	}
	return changed
}

// narrow keeps the entries with every typed word: first the one whose key was typed, then those with words that
// begin so.
func (p *Actions) narrow() {
	words := strings.Fields(strings.ToLower(p.filtered))
	p.shown, p.choice, p.widest = p.shown[:0], Choice{}, 0
	ranks := make([]int, len(p.entries))
	for i, entry := range p.entries {
		text := strings.ToLower(entry.Text + " " + entry.Action + " " + entry.Group + " " + entry.Keys)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			p.shown = append(p.shown, i)
			p.widest = max(p.widest, paint.Width(entry.Keys))
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

// Move implements Panel.
func (p *Actions) Move(lines int) { p.choice.Move(lines, len(p.shown)) }

// Page implements Panel.
func (p *Actions) Page(pages int) { p.Move(pages * max(1, p.window.rows-1)) }

// Chosen is the entry that the choice is on.
func (p *Actions) Chosen() (Entry, bool) {
	if p.choice.At >= len(p.shown) {
		return Entry{}, false
	}
	return p.entries[p.shown[p.choice.At]], true
}

// Title implements Panel.
func (p *Actions) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render(p.name), ""
}

// View draws the line that is typed into, and the list with the chosen action in full below it.
func (p *Actions) View(width, height int, th theme.Theme) Body {
	typed, x := p.filter.View(max(0, width-2), th, "type to narrow", false)
	body := Body{Lines: []string{th.Prompt.Render("›") + " " + typed}, X: min(x+2, max(0, width-1)), Cursor: true}
	below := p.details(width, height, th)
	rows := p.rows()
	p.window.At = max(0, slices.Index(rows, p.choice.At))
	from, to := p.window.Window(len(rows), height-1-len(below))
	for i, n := range rows[from:max(from, to)] {
		if n < 0 {
			body.Lines = append(body.Lines, th.Muted.Render(p.entries[p.shown[rows[from+i+1]]].Group))
			continue
		}
		body.Lines = append(body.Lines, p.row(p.entries[p.shown[n]], n == p.choice.At, width, th))
	}
	if len(rows) == 0 {
		body.Lines = append(body.Lines, th.Muted.Render(p.nothing+" “"+paint.Line(p.filtered)+"”"))
	}
	body.Lines = append(body.Lines, below...)
	body.ThumbFrom, body.ThumbTo = Thumb(1, p.window.rows, from, len(rows))
	return body
}

// rows lists the shown entries, each group after a -1 for its heading unless the list is narrowed.
func (p *Actions) rows() []int {
	var rows []int
	for n, i := range p.shown {
		if p.filtered == "" && (n == 0 || p.entries[p.shown[n-1]].Group != p.entries[i].Group) {
			rows = append(rows, -1)
		}
		rows = append(rows, n)
	}
	return rows
}

// details are the chosen action in full, below the list whose rows are cut, where there is room.
func (p *Actions) details(width, height int, th theme.Theme) []string {
	const most, least = 3, 10
	entry, ok := p.Chosen()
	if !ok || height < least || width < 20 {
		return nil
	}
	lines := []string{th.Border.Render(strings.Repeat("─", width))}
	text := paint.Wrap(paint.Line(entry.Text), width)
	style := th.Text
	if entry.Reason != "" { // it matters more than the end of the text
		text = append([]string{paint.Fit(paint.Line(entry.Text), width)}, paint.Wrap("unavailable: "+paint.Line(entry.Reason), width)...)
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

func (p *Actions) row(entry Entry, chosen bool, width int, th theme.Theme) string {
	text, key := th.Text, th.Key
	if entry.Reason != "" {
		text, key = th.Disabled, th.Disabled
	}
	keys := key.Render(paint.Fit(entry.Keys, min(p.widest, max(6, width/4))) + "  ")
	return row(" "+keys+text.Render(paint.Line(entry.Text)), chosen, width, th)
}
