package picker

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/explorer/panel"
)

// value is one row of a tab of values.
type value struct {
	value   string // as the query writes it
	label   string // as people read it
	count   int
	unknown bool // the results in hand say nothing about it, because they are of other values only
	was     bool // chosen by the query that the picker was opened with
	chosen  bool
}

// values is the tab of sources, of which any number can be selected; none means all.
type values struct {
	field
	all    []value
	shown  []int        // indices of all, what the typed text leaves
	cursor panel.Choice // into shown

	exact   bool
	limited bool // inexact counts come from results of some values only
	inHand  int
	touched bool // toggled since opening: rows keep their places
	toggled bool // toggled since the text was typed: enter takes nothing more
	largest int  // count
	widest  int  // label, in columns
}

func newValues(in Input) *values {
	t := &values{field: field{placeholder: "type to narrow"}}
	t.update(in)
	selected := canonicalSources(in.Query.Sources)
	for i := range t.all {
		t.all[i].was = slices.Contains(selected, t.all[i].value)
		t.all[i].chosen = t.all[i].was
	}
	return t
}

func (t *values) title() string { return "Sources" }

func canonicalSources(raw []string) []string {
	return exslices.CastFuncFilter(raw, CanonicalSource)
}

func (t *values) update(in Input) {
	under, hasCursor := t.under()
	limits := canonicalSources(in.Query.Sources)
	t.exact = in.Exact
	t.limited = !in.Exact && len(limits) > 0
	t.count(in, limits)
	t.sort()
	t.narrow()
	if hasCursor {
		t.moveTo(under)
	}
}

// count takes over the counts. Values that were here before stay, so that nothing vanishes under the cursor.
func (t *values) count(in Input, limits []string) {
	places := make(map[string]int, len(t.all))
	for i := range t.all {
		places[t.all[i].value], t.all[i].count = i, 0
	}
	known := exslices.CastFunc(slices.Concat(in.Known, limits), func(source string) wire.FacetValue {
		return wire.FacetValue{Value: source}
	})
	for _, counted := range slices.Concat(known, in.Facets.Sources) {
		one, ok := CanonicalSource(counted.Value)
		if !ok {
			continue
		}
		at, found := places[one]
		if !found {
			at = len(t.all)
			places[one] = at
			t.all = append(t.all, value{value: one, label: paint.Line(client.SourceName(one))})
		}
		t.all[at].count += max(0, counted.Count)
	}
	t.inHand, t.largest, t.widest = 0, 0, 0
	for i := range t.all {
		v := &t.all[i]
		v.unknown = t.limited && v.count == 0 && !slices.Contains(limits, v.value)
		t.inHand += v.count
		t.largest, t.widest = max(t.largest, v.count), max(t.widest, paint.Width(v.label))
	}
	if in.InHand > 0 {
		t.inHand = in.InHand
	}
}

// sort puts what has most matches first. Once something was toggled rows keep their places: a list that moves under
// the fingers makes them choose what they did not mean.
func (t *values) sort() {
	if t.touched {
		return
	}
	slices.SortStableFunc(t.all, func(a, b value) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(strings.ToLower(a.label), strings.ToLower(b.label)),
			strings.Compare(a.value, b.value))
	})
}

// narrow finds the values whose name or value has all the typed words in it.
func (t *values) narrow() {
	words := strings.Fields(strings.ToLower(t.text.Text()))
	t.shown = t.shown[:0]
	for i := range t.all {
		text := strings.ToLower(t.all[i].label + "\n" + t.all[i].value)
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) }) {
			t.shown = append(t.shown, i)
		}
	}
	t.cursor.Move(0, len(t.shown))
}

// under is the value under the cursor.
func (t *values) under() (string, bool) {
	if t.cursor.At >= len(t.shown) {
		return "", false
	}
	return t.all[t.shown[t.cursor.At]].value, true
}

func (t *values) moveTo(wanted string) {
	for at, i := range t.shown {
		if t.all[i].value == wanted {
			t.cursor.At = at
		}
	}
}

func (t *values) move(rows int)  { t.cursor.Move(rows, len(t.shown)) }
func (t *values) page(pages int) { t.cursor.Page(pages, len(t.shown)) }

func (t *values) sideways(columns int, _ bool) { t.field.sideways(columns) }

func (t *values) toggle() (changed bool, message string) {
	if t.cursor.At >= len(t.shown) {
		return false, ""
	}
	v := &t.all[t.shown[t.cursor.At]]
	v.chosen = !v.chosen
	t.touched, t.toggled = true, true
	return true, ""
}

func (t *values) invert() (changed bool, message string) {
	switch t.chosen() {
	case 0:
		return false, "no selection = all sources: nothing to invert"
	case len(t.all):
		return false, "all selected: nothing would be left"
	}
	for i := range t.all {
		t.all[i].chosen = !t.all[i].chosen
	}
	t.touched, t.toggled = true, true
	return true, ""
}

func (t *values) back() bool {
	if t.text.Text() == "" {
		return false
	}
	t.text.Clear()
	t.typed()
	return true
}

func (t *values) escape() string {
	if t.text.Text() != "" {
		return clearing
	}
	return panel.Close
}

// pending is the index of the value that enter would choose: the one that a text was typed for, if none was toggled
// since. Enter never takes a choice away.
func (t *values) pending() (index int, ok bool) {
	if t.toggled || t.text.Text() == "" || t.cursor.At >= len(t.shown) {
		return 0, false
	}
	index = t.shown[t.cursor.At]
	return index, !t.all[index].chosen
}

func (t *values) confirm() bool {
	index, ok := t.pending()
	if ok {
		t.all[index].chosen = true
		t.touched, t.toggled = true, true
	}
	return ok
}

func (t *values) typed() {
	under, hasCursor := t.under()
	t.toggled = false
	t.narrow()
	t.cursor = panel.Choice{}
	if hasCursor && t.text.Text() == "" {
		t.moveTo(under)
	}
}

func (t *values) problem() string { return "" }

// selected are the values that are chosen, shown or not.
func (t *values) selected() []string {
	return exslices.CastFuncFilter(t.all, func(v value) (string, bool) { return v.value, v.chosen })
}

func (t *values) chosen() int { return len(t.selected()) }

func (t *values) changes() Changes {
	if !slices.ContainsFunc(t.all, func(v value) bool { return v.chosen != v.was }) {
		return Changes{}
	}
	changes := Changes{Fields: []string{"source"}}
	if selected := t.selected(); len(selected) > 0 {
		changes.Raw = []string{SourceFilter(selected)}
	}
	return changes
}

func (t *values) summary() string {
	chosen := t.chosen()
	if chosen == 0 {
		return "all sources"
	}
	return text.Number(chosen) + " of " + text.Number(len(t.all)) + " sources"
}

func (t *values) mark() string {
	if chosen := t.chosen(); chosen > 0 {
		return text.Number(chosen)
	}
	return ""
}

// CanonicalSource returns a source as the query language reads it back, which may differ in case and in its spaces; false
// if the query language cannot express it.
func CanonicalSource(source string) (string, bool) {
	read := client.ParseQuery(SourceFilter([]string{source}), time.Time{}).Sources
	if len(read) != 1 {
		return "", false
	}
	return read[0], true
}

// SourceFilter writes sources as one filter of the query language.
func SourceFilter(sources []string) string {
	return "source:" + strings.Join(exslices.CastFunc(sources, client.QuoteValue), ",")
}
