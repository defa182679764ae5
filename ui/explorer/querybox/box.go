// Package querybox is the box that a question is typed into. Filters such as source:slack leave the text as soon as
// they are finished and become chips; what counts as a filter is decided by client.ParseQuery alone.
package querybox

import (
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/line"
	"quarry/ui/explorer/paint"
)

// Box is a question being typed: a line of text and the filters that have left it. It is empty at first. Undo and
// Redo go over both; a filter that became a chip is the typed text again one step back.
type Box struct {
	line.Editor // the text; what is attached to it is the filters as they were typed

	// Placeholder is shown in an empty box.
	Placeholder string
	// Now returns the time, for filters relative to it.
	Now func() time.Time

	ignored  []string
	titles   map[string]string // of passages, by ref
	parsed   []Chip
	selected int    // 1 for the first chip, 0 for none
	version  uint64 // counts what the editor does not
	at       uint64 // the editor's version when the chip was selected

	line  paint.Cache[look, paint.Input]
	chips paint.Cache[look, string]
	row   paint.Row // of chips, as drawn last
}

// Chip is a finished filter.
type Chip struct {
	Raw     string // as it was typed
	Label   string // for display
	Field   string // as in client.Chip
	Negated bool   // likewise
	Ignored bool   // the server searched without it

	places []string // at the end of Label
}

// State is the typed content of a box.
type State struct {
	text    string
	cursor  int
	filters []string
}

// Snapshot is what was typed, for Restore.
func (b *Box) Snapshot() State { return State{b.Text(), b.Cursor(), slices.Clone(b.Attached())} }

// Query is what Box.Query was.
func (s State) Query() string { return join(s.text, s.filters) }

// Restore brings a snapshot back. It can be undone like a change that was typed.
func (b *Box) Restore(s State) { b.Replace(s.text, s.cursor, s.filters) }

// Version changes whenever the content or the look of the box changes.
func (b *Box) Version() uint64 { return b.Editor.Version() + b.version }

// Query is the text and the filters as one query for client.ParseQuery.
func (b *Box) Query() string { return join(b.Text(), b.Attached()) }

// join puts filters behind a text, or before it where an open quotation mark would swallow them, or where the text has
// later ones, which must have the last word.
func join(text string, filters []string) string {
	text = strings.TrimFunc(text, unicode.IsSpace)
	if slices.ContainsFunc(client.Tokens(text), func(t client.Token) bool { return t.Open || t.Field != "" }) {
		return strings.Join(append(slices.Clone(filters), text), " ")
	}
	if text == "" {
		return strings.Join(filters, " ")
	}
	return strings.Join(append([]string{text}, filters...), " ")
}

// SetQuery takes a query apart into text and chips, as one step of Undo.
func (b *Box) SetQuery(q string) {
	const most = 8 * wire.MaxQueryRunes // filters do not count towards the length of a query
	text, _, filters := b.finishedFilters(line.Clean(q, most), 0)
	text = line.Clean(text, wire.MaxQueryRunes)
	b.Replace(text, len(text), filters)
}

// FinishFilters makes chips of all filters in the text, also of one that nothing follows yet.
func (b *Box) FinishFilters() {
	if text, cursor, filters := b.finishedFilters(b.Text(), b.Cursor()); len(filters) > 0 {
		b.Replace(text, cursor, append(slices.Clone(b.Attached()), filters...))
	}
}

// finishedFilters is a text without all of its filters, and without the space that a filter at its end leaves.
func (b *Box) finishedFilters(text string, cursor int) (rest string, restCursor int, filters []string) {
	chips := client.ParseQuery(text, b.Now()).Chips
	rest, cursor, filters = without(text, cursor, chips)
	if len(chips) > 0 {
		rest = strings.TrimRightFunc(rest, unicode.IsSpace)
	}
	return rest, min(cursor, len(rest)), filters
}

// without takes chips out of a text, each with the white space after it, and moves the cursor along.
func without(text string, cursor int, chips []client.Chip) (rest string, restCursor int, filters []string) {
	var out strings.Builder
	restCursor = cursor
	copied := 0
	for _, chip := range chips {
		end := len(text) - len(strings.TrimLeftFunc(text[chip.End:], unicode.IsSpace))
		out.WriteString(text[copied:chip.Start])
		restCursor -= min(max(cursor-chip.Start, 0), end-chip.Start)
		copied = end
		filters = append(filters, chip.Raw)
	}
	out.WriteString(text[copied:])
	return out.String(), restCursor, filters
}

// Insert puts typed text before the cursor. A filter that is finished by it becomes a chip.
func (b *Box) Insert(s string) {
	if !b.take(s, false) {
		b.Editor.Insert(s)
	}
}

// Paste is Insert for text that comes from elsewhere: a filter at its end is finished, too.
func (b *Box) Paste(s string) {
	if !b.take(s, true) {
		b.Editor.Paste(s)
	}
}

// take inserts text that finishes filters, so that Undo goes back to before it; false if it finishes none.
func (b *Box) take(s string, pasted bool) bool {
	text, cursor := b.Inserted(s)
	if text == b.Text() {
		return false
	}
	chips := b.finished(text, cursor, pasted)
	if len(chips) == 0 {
		return false
	}
	text, cursor, filters := without(text, cursor, chips)
	b.Replace(text, cursor, append(slices.Clone(b.Attached()), filters...))
	return true
}

// finished is the filters of a text that are no longer being typed: the cursor has left them and space follows, or
// they were pasted whole. Nothing is finished behind a quotation mark that is still open.
func (b *Box) finished(text string, cursor int, pasted bool) []client.Chip {
	open := len(text) // where the first token with an open quotation mark begins
	tokens := client.Tokens(text)
	if i := slices.IndexFunc(tokens, func(t client.Token) bool { return t.Open }); i >= 0 {
		open = tokens[i].Start
	}
	var finished []client.Chip
	for _, chip := range client.ParseQuery(text, b.Now()).Chips {
		touched := cursor > chip.Start && cursor <= chip.End
		last := chip.End == len(text)
		if chip.Start < open && (!touched && !last || pasted && cursor == chip.End) {
			finished = append(finished, chip)
		}
	}
	return finished
}

// DeleteBack takes away what precedes the cursor. At the beginning it takes the last chip back into the text, to be
// edited; a selected chip it removes.
func (b *Box) DeleteBack() {
	if b.removeSelected() {
		return
	}
	filters := b.Attached()
	if b.Cursor() > 0 || len(filters) == 0 {
		b.Editor.DeleteBack()
		return
	}
	last, text := filters[len(filters)-1], b.Text()
	if text != "" && text == strings.TrimLeftFunc(text, unicode.IsSpace) {
		text = " " + text
	}
	b.Replace(last+text, len(last), filters[:len(filters)-1])
}

// DeleteForward takes away what follows the cursor, or the selected chip.
func (b *Box) DeleteForward() {
	if !b.removeSelected() {
		b.Editor.DeleteForward()
	}
}

// DeleteWordBack takes away the word before the cursor, or at the beginning the last chip.
func (b *Box) DeleteWordBack() { b.wordBack(b.Editor.DeleteWordBack) }

// DeleteWordBackAlt is DeleteWordBack for words of letters and digits.
func (b *Box) DeleteWordBackAlt() { b.wordBack(b.Editor.DeleteWordBackAlt) }

// KillToStart deletes all that precedes the cursor, the chips with it, as one step of Undo.
func (b *Box) KillToStart() {
	b.Editor.KillToStart()
	if len(b.Attached()) > 0 {
		b.Replace(b.Text(), b.Cursor(), nil)
	}
}

func (b *Box) wordBack(deleteWord func()) {
	switch {
	case b.removeSelected():
	case b.Cursor() == 0:
		b.RemoveChip(len(b.Attached()) - 1)
	default:
		deleteWord()
	}
}

// Left goes back by one cluster, and at the beginning selects the last chip or the one before the selected.
func (b *Box) Left() {
	i, ok := b.selectedChip()
	if !ok {
		i = len(b.Attached())
	}
	if b.Cursor() > 0 {
		b.Editor.Left()
	} else if i > 0 {
		b.selectChip(i - 1)
	}
}

// Right moves right by one cluster, or from chip to chip and into the text.
func (b *Box) Right() {
	if i, ok := b.selectedChip(); ok {
		b.selectChip(i + 1)
	} else {
		b.Editor.Right()
	}
}

// selectChip makes a chip the one that DeleteBack and DeleteForward remove; an index that is out of range, none. Any
// change of the text or the cursor ends the selection.
func (b *Box) selectChip(i int) {
	b.selected, b.at = 0, b.Editor.Version()
	if i >= 0 && i < len(b.Attached()) {
		b.selected = i + 1
	}
	b.version++
}

// selectedChip is the chip that keys act on, if there is one.
func (b *Box) selectedChip() (i int, ok bool) {
	if b.selected == 0 || b.at != b.Editor.Version() {
		return 0, false
	}
	return b.selected - 1, true
}

// removeSelected removes the selected chip, if there is one, and selects the one after it.
func (b *Box) removeSelected() bool {
	i, ok := b.selectedChip()
	if ok {
		b.RemoveChip(i)
		b.selectChip(min(i, len(b.Attached())-1))
	}
	return ok
}

// Chips returns the filters, in the order in which they were given. The slice must not be changed.
func (b *Box) Chips() []Chip {
	same := func(chip Chip, raw string) bool { return chip.Raw == raw }
	if !slices.EqualFunc(b.parsed, b.Attached(), same) {
		b.parsed = exslices.CastFunc(b.Attached(), b.chip)
	}
	return b.parsed
}

func (b *Box) chip(raw string) Chip {
	chip := Chip{Raw: raw, Label: raw}
	if q := client.ParseQuery(raw, b.Now()); len(q.Chips) == 1 {
		chip.Field, chip.Negated = q.Chips[0].Field, q.Chips[0].Negated
		if chip.Label = labelOf(q); q.Similar != "" {
			chip.Label = b.Readable(raw)
		}
		if chip.Field == field.Of(field.Place).Name {
			given, excluded := q.Values(chip.Field)
			chip.places = slices.Concat(given, excluded)
		}
	} else {
		name, _, _ := strings.Cut(raw, ":") // no filter any more, as time went by
		chip.Field = strings.ToLower(name)
	}
	chip.Ignored = slices.Contains(b.ignored, chip.name())
	return chip
}

// labelOf describes the filter of a query that has only one.
func labelOf(q client.Query) string {
	chip := q.Chips[0]
	given, excluded := q.Values(chip.Field)
	switch {
	case chip.Negated:
		return "not " + chip.Field + ": " + strings.Join(excluded, ", ")
	case len(given) > 0:
		return chip.Field + ": " + strings.Join(given, ", ")
	case chip.Field == "within":
		return text.Lately(chip.Value)
	}
	return chip.Field + " " + chip.Value
}

// name is the field, with a minus before it if the filter excludes.
func (c Chip) name() string {
	if c.Negated {
		return "-" + c.Field
	}
	return c.Field
}

// mostTitles bounds the passages whose titles are known.
const mostTitles = 100

// SetTitle sets the title of a passage, for the chip of a search for passages like it.
func (b *Box) SetTitle(ref, title string) {
	if b.titles == nil || len(b.titles) >= mostTitles {
		b.titles = map[string]string{}
	}
	b.titles[ref], b.parsed = title, nil
	b.version++
}

// Readable returns a query in which the title of a passage stands for the filter that holds its ref.
func (b *Box) Readable(query string) string {
	if !strings.Contains(strings.ToLower(query), client.FilterSimilar+":") {
		return query
	}
	for _, chip := range client.ParseQuery(query, b.Now()).Chips {
		if chip.Field != client.FilterSimilar {
			continue
		}
		title, known := b.titles[chip.Value]
		if !known {
			id, _, _ := wire.SplitRef(chip.Value)
			title = path.Base(id)
		}
		return query[:chip.Start] + "similar to: " + title + query[chip.End:]
	}
	return query
}

// SetIgnored sets the fields that the server searched without, such as author or -author; their chips say so.
func (b *Box) SetIgnored(fields []string) {
	if !slices.Equal(b.ignored, fields) {
		b.ignored, b.parsed = fields, nil
		b.version++
	}
}

// RemoveChip takes a filter away. An index that is out of range changes nothing.
func (b *Box) RemoveChip(i int) {
	if filters := b.Attached(); i >= 0 && i < len(filters) {
		b.Replace(b.Text(), b.Cursor(), slices.Delete(slices.Clone(filters), i, i+1))
	}
}

// SetFilters puts filters in place of all chips of some fields, where the first of those stood or at the end: "source"
// stands for the filters by source, "-source" for those that exclude. The text stays as it is.
func (b *Box) SetFilters(fields, filters []string) {
	var kept []string
	place := -1
	for _, chip := range b.Chips() {
		if !slices.Contains(fields, chip.name()) {
			kept = append(kept, chip.Raw)
		} else if place < 0 {
			place = len(kept)
		}
	}
	if place < 0 {
		place = len(kept)
	}
	b.Replace(b.Text(), b.Cursor(), slices.Insert(kept, place, filters...))
}

// InstantQuery is Query for a search while it is being typed: of a filter that is not finished, at the cursor or at the
// end of the text, only those values count that are. Filters come first, so that client.Query.WordEnded is set
// once the last word is complete.
func (b *Box) InstantQuery() string {
	text := b.Text()
	var out strings.Builder
	copied := 0
	for _, t := range client.Tokens(text) {
		typed := t.End == len(text) || b.Cursor() > t.Start && b.Cursor() <= t.End
		if t.Field == "" || !typed {
			continue
		}
		out.WriteString(text[copied:t.Start])
		out.WriteString(finishedPart(text, t, b.Now()))
		copied = t.End
	}
	out.WriteString(text[copied:])
	rest := strings.TrimLeftFunc(out.String(), unicode.IsSpace)
	if rest == "" {
		return strings.Join(b.Attached(), " ")
	}
	return strings.Join(append(slices.Clone(b.Attached()), rest), " ")
}

// finishedPart is what of a filter that is being typed would not change its meaning with the next character: all of it,
// the values before the last comma, or nothing.
func finishedPart(text string, t client.Token, now time.Time) string {
	raw := text[t.Start:t.End]
	if isFilter(raw, now) && isFinished(raw, t, now) {
		return raw
	}
	if before := text[t.Start : t.At-1]; strings.Contains(before, ":") && isFilter(before, now) {
		return before
	}
	return ""
}

// isFilter reports whether a text is one filter and nothing else.
func isFilter(raw string, now time.Time) bool {
	chips := client.ParseQuery(raw, now).Chips
	return len(chips) == 1 && chips[0].Raw == raw
}

// isFinished reports whether a filter names something whole: a moment, sources that exist, or what a quotation mark
// closed.
func isFinished(raw string, t client.Token, now time.Time) bool {
	switch t.Field {
	case "since", "until": // the beginning of a day may be a month or a year
		return len(t.Value) >= len(time.DateOnly)
	case "within":
		return true
	case "source":
		q := client.ParseQuery(raw, now)
		return !slices.ContainsFunc(slices.Concat(q.Sources, q.Excluded.Sources), func(source string) bool {
			_, known := wire.LookupSource(source)
			return !known
		})
	}
	return t.Quoted
}

// Partial is what is being typed at the cursor, for completion.
type Partial struct {
	// Field is the filter whose value is being typed, "" for a word, which may become the name of a filter.
	Field string
	// Text is the value after its last comma, without quotation marks, or the word.
	Text string

	start int // of what Complete replaces
}

// Typing is what Complete would replace; false if the cursor is not at the end of a word.
func (b *Box) Typing() (Partial, bool) {
	for _, t := range client.Tokens(b.Text()) {
		if t.End != b.Cursor() {
			continue
		}
		if t.Field == "" {
			return Partial{Text: b.Text()[t.Start:t.End], start: t.Start}, !t.Open
		}
		return Partial{t.Field, t.Value, t.At}, true
	}
	return Partial{}, false
}

// Complete puts a text in place of what Typing found, as one step of Undo. A filter that it finishes, with a space at
// its end, becomes a chip.
func (b *Box) Complete(replacement string) {
	partial, ok := b.Typing()
	if !ok {
		return
	}
	text := b.Text()[:partial.start] + replacement + b.Text()[b.Cursor():]
	cursor := partial.start + len(replacement)
	text, cursor, filters := without(text, cursor, b.finished(text, cursor, false))
	b.Replace(text, cursor, append(slices.Clone(b.Attached()), filters...))
}
