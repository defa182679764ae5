package picker

import (
	"cmp"
	"slices"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/field"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// choice is what the query does with a value.
type choice uint8

const (
	unused choice = iota
	wanted
	excluded
)

// value is one row of a tab of values.
type value struct {
	Value
	was    choice // by the query that the picker was opened with
	choice choice
	both   bool // the query has it and excludes it
	exists bool // the server listed or counted it
	depth  int  // in the tree
}

// values is the tab of a field. No selection means any value.
type values struct {
	input
	of     Field
	tree   *tree // of places; else nil
	all    []value
	shown  []int        // indices of all, what the typed text leaves
	cursor panel.Choice // into shown
	first  int          // line of the first row, as drawn last
	from   int          // the row on it

	exact   bool
	counted bool // some value is
	limited bool // inexact counts come from results of some values only
	cut     bool // there are values beside these, with fewer matches
	inHand  int  // results that inexact counts are of
	bare    bool // the server has no extensions
	listing Listing

	touched bool // toggled since opening: rows keep their places
	toggled bool // toggled since the text was typed: enter takes nothing more
	largest int  // count
	widest  int  // label, in columns
}

// newValues makes the tab with the values of the query. Those that exist are added by update.
func newValues(of Field, in Input) *values {
	t := &values{input: input{placeholder: "type to narrow"}, of: of}
	if of.ID == field.Place {
		t.tree = &tree{empty: map[string]bool{}, parents: map[string]string{}}
	}
	given, without := in.Query.Values(of.Name)
	t.add(given, wanted)
	t.add(without, excluded)
	return t
}

// add adds values of the query.
func (t *values) add(given []string, was choice) {
	for _, one := range given {
		canonical, ok := t.of.Canonical(one)
		if !ok {
			continue
		}
		at := t.place(canonical)
		if at < 0 {
			at = len(t.all)
			t.all = append(t.all, value{Value: Value{Name: canonical, Label: t.of.Label(canonical)}})
		}
		t.all[at].both = t.all[at].both || was == excluded && t.all[at].was == wanted
		t.all[at].was, t.all[at].choice = was, was
	}
}

func (t *values) place(wanted string) int {
	return slices.IndexFunc(t.all, func(v value) bool { return v.Name == wanted })
}

func (t *values) title(brief bool) string {
	if brief {
		return cmp.Or(t.of.Short, t.of.Title)
	}
	return t.of.Title
}

func (t *values) update(in Input) {
	under, hasCursor := t.under()
	limits, without := in.Query.Values(t.of.Name)
	if t.exact, t.bare = in.Exact, in.Bare; in.Known != nil {
		t.listing = in.Known(t.of)
	}
	t.limited = !in.Exact && len(limits) > 0
	counts, cut := t.of.Counts(in.Facets)
	t.cut = cut
	if t.tree != nil && in.Exact {
		counts = t.tree.counts(in, t.listing.Values)
	}
	if !in.Exact {
		counts, t.inHand, t.cut = t.of.CountInHand(in.Results), len(in.Results), false
	}
	t.counted = in.Exact && t.of.Field.Counts != nil || len(counts) > 0
	merged := t.of.Values(counts, t.listing.Values, t.counted && !t.cut && !t.limited)
	if !in.Exact { // what the results were limited to is not counted beyond them
		for i := range merged {
			merged[i].Counted = merged[i].Counted && !slices.Contains(without, merged[i].Name) ||
				t.counted && slices.Contains(limits, merged[i].Name)
		}
	}
	t.merge(merged)
	t.sort()
	t.narrow()
	if hasCursor {
		t.moveTo(under)
	}
}

// merge takes over the counts. Values that were here before stay, so that nothing vanishes under the cursor; what was
// listed before exists, so that it has no match.
func (t *values) merge(merged []Value) {
	places := make(map[string]int, len(t.all))
	for i := range t.all {
		v := &t.all[i]
		places[v.Name] = i
		v.Count, v.Counted = 0, v.exists && t.exact && t.counted && !t.cut
	}
	for _, one := range merged {
		at, found := places[one.Name]
		if !found {
			at = len(t.all)
			t.all = append(t.all, value{})
		}
		t.all[at].Value, t.all[at].exists = one, true
	}
	t.largest, t.widest = 0, 0
	for i := range t.all {
		v := &t.all[i]
		t.largest, t.widest = max(t.largest, v.Count), max(t.widest, paint.Width(v.Label))
	}
}

// sort puts what has most matches first; agents stay in the order of the server. Once something was toggled rows keep
// their places: a list that moves under the fingers makes them choose what they did not mean.
func (t *values) sort() {
	if t.touched || t.of.Single {
		return
	}
	slices.SortStableFunc(t.all, func(a, b value) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count),
			strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label)), strings.Compare(a.Name, b.Name))
	})
}

// narrow finds the values whose name or value has all the typed words in it.
func (t *values) narrow() {
	words := strings.Fields(strings.ToLower(t.text.Text()))
	t.shown = t.shown[:0]
	for i := range t.all {
		text := strings.ToLower(t.all[i].Label + "\n" + t.all[i].Name)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			t.shown = append(t.shown, i)
		}
	}
	if t.inTree() {
		t.shown = t.inOrder()
	}
	t.cursor.Of(len(t.shown))
}

// row is the value under the cursor; nil where there is none.
func (t *values) row() *value {
	if t.cursor.At >= len(t.shown) {
		return nil
	}
	return &t.all[t.shown[t.cursor.At]]
}

// under is the value under the cursor.
func (t *values) under() (string, bool) {
	if v := t.row(); v != nil {
		return v.Name, true
	}
	return "", false
}

func (t *values) moveTo(wanted string) {
	for at, i := range t.shown {
		if t.all[i].Name == wanted {
			t.cursor.At = at
		}
	}
}

func (t *values) move(rows int)  { t.cursor.Move(rows) }
func (t *values) page(pages int) { t.cursor.Page(pages) }

func (t *values) sideways(columns int, _ bool) {
	switch {
	case !t.inTree():
		t.input.sideways(columns)
	case columns > 0:
		t.expand()
	default:
		t.collapse()
	}
}

func (t *values) toggle() {
	v := t.row()
	if v == nil {
		return
	}
	if v.choice == wanted {
		v.choice = unused
	} else {
		t.want(v)
	}
	t.touched, t.toggled = true, true
}

func (t *values) hit(line int) {
	if at := t.from + line - t.first; line >= t.first && at < len(t.shown) {
		t.cursor.At = at
		t.toggle()
	}
}

// want selects a value, of a field that takes only one instead of the one before.
func (t *values) want(v *value) {
	for i := range t.all {
		if t.of.Single {
			t.all[i].choice = unused
		}
	}
	v.choice = wanted
}

// exclude excludes the value under the cursor, or no longer; together with all selected ones if it is one of them.
func (t *values) exclude() {
	v := t.row()
	switch {
	case v == nil:
		return
	case v.choice == unused:
		v.choice = excluded
	case v.choice == excluded:
		v.choice = unused
	default:
		for i := range t.all {
			if t.all[i].choice == wanted {
				t.all[i].choice = excluded
			}
		}
	}
	t.touched, t.toggled = true, true
}

func (t *values) cannotExclude() string {
	if t.of.Single {
		return "cannot exclude an " + t.of.Noun
	}
	return ""
}

// pending is the value that enter would choose: the one that a text was typed for, if none was toggled
// since. Enter never takes a choice away.
func (t *values) pending() (v *value, ok bool) {
	v = t.row()
	return v, v != nil && !t.toggled && t.text.Text() != "" && v.choice == unused
}

func (t *values) confirm() {
	if v, ok := t.pending(); ok {
		t.want(v)
		t.touched, t.toggled = true, true
	}
}

func (t *values) typed() {
	under, hasCursor := t.under()
	t.toggled, t.cursor = false, panel.Choice{}
	t.narrow()
	if hasCursor && t.text.Text() == "" {
		t.moveTo(under)
	}
}

func (t *values) problem() string { return "" }

// chosen are the values with a choice, shown or not.
func (t *values) chosen(c choice) []string {
	return exslices.CastFuncFilter(t.all, func(v value) (string, bool) { return v.Name, v.choice == c })
}

func (t *values) changes() (changes Changes) {
	for _, c := range []choice{wanted, excluded} {
		changed := func(v value) bool { return (v.choice == c) != (v.was == c) || v.both && v.choice != excluded }
		if !slices.ContainsFunc(t.all, changed) {
			continue
		}
		name, values := t.of.Name, t.chosen(c)
		if c == excluded {
			name = "-" + name
		}
		changes.Fields = append(changes.Fields, name)
		if len(values) > 0 {
			changes.Raw = append(changes.Raw, t.of.Filter(c == excluded, values))
		}
	}
	return changes
}

func (t *values) summary() string {
	selected, without := t.chosen(wanted), t.chosen(excluded)
	chosen, left := "", ""
	switch {
	case t.of.Single && len(selected) > 0:
		chosen = selected[0]
	case t.of.Single:
		chosen = "no " + t.of.Noun
	case len(selected) > 0:
		chosen = text.Number(len(selected)) + " of " + text.Count(len(t.all), t.of.Noun)
	case len(without) == 0:
		chosen = "all " + text.Plural(2, t.of.Noun)
	}
	if len(without) > 0 {
		left = text.Number(len(without)) + " excluded"
	}
	return text.Join(" · ", chosen, left)
}

func (t *values) mark() string {
	selected, without := len(t.chosen(wanted)), len(t.chosen(excluded))
	chosen, left := "", ""
	switch {
	case t.of.Single && selected > 0:
		chosen = "●"
	case selected > 0:
		chosen = text.Number(selected)
	}
	if without > 0 {
		left = "-" + text.Number(without)
	}
	return text.Join(" ", chosen, left)
}
