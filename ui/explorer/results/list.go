// Package results is the list of passages that a search found, grouped by document, with highlighted words and one
// selected passage.
package results

import (
	"slices"
	"time"

	"go.mau.fi/util/exmaps"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/dimension"
	"quarry/ui/passage"
)

// List is the state of the list. The zero value is an empty one.
//
// A row is one passage. The passages of a document are consecutive, and those behind the first are folded until one of
// them is selected; documents are in the order of their first passages, or of their groups. Documents of which a model
// selected no passage, and those found by words alone, come last, each below a heading. A server that reports no
// selection selected all.
type List struct {
	// WholeKey is the name of the key that shows all of a document; "" for none.
	WholeKey string
	// Density is how much of each row is shown.
	Density Density
	// OldAge is the age from which on a document needs attention; 0: none does.
	OldAge time.Duration
	// Stale marks the results as those of a former question, until the new ones are there.
	Stale bool

	// The rest is about the results that are set next. More is how many of them come before those that were found by
	// words alone, after a first page that a model ranked; 0: all.
	More int
	// Plain: no model chose among them, so that none is left out.
	Plain bool
	// IsPart: there are others behind them.
	IsPart bool
	// OldestFirst: they come with the oldest first, as their months then do.
	OldestFirst bool

	items    []wire.SearchResult
	words    []string
	forms    []string // of the words, marked in titles and places
	rows     []row
	now      time.Time
	grouping string             // one of Groupings; empty: ByDocument
	marked   exmaps.Set[string] // by passage.RefOf
	fresh    exmaps.Set[string] // likewise: those that are new
	mixed    bool               // of several origins
	oneDate  bool               // all documents have the same, which rows need not say
	several  bool               // of several sources or places
	usual    string             // the source or place of more than half of them
	apart    []string           // see passage.Apart

	by dimension.Dimension

	selected int  // row; 0 also when there is none
	top      int  // first row on the screen
	anchor   int  // top of the first View after the last move: views of other sizes do not change it
	moved    bool // since the last View

	drawn   canvas
	placed  []int // row that each line of the last View shows; -1 for none
	visible int   // how many rows the last View showed
	height  int   // of the last View

	documents int
}

// row is one passage in the order of the list.
type row struct {
	item     int    // in the results as they were given
	document int    // passages of the same document have the same number
	nth      int    // passage of its document, from 0, which heads the others
	further  int    // how many follow it, if it heads them
	aside    bool   // left out by the selector, found by words alone, or lacking a word of the query
	lack     string // see passage.Lacking
	beside   bool   // see passage.Lack
	heading  string // of the section that it begins
	marks    []wire.Span
	outdated bool // there is a newer version, or the document says that it holds no longer
	marked   bool // what is above is known
}

// Set shows results, in the order that they are given. Words (see passage.Words) are what is looked for in those that
// come without highlights. With keep, for the same question asked again, the selection stays on its passage or else on
// its document, and on its place on the screen; without, or when both are gone, the first row is selected.
func (l *List) Set(items []wire.SearchResult, words []string, keep bool) {
	former, had := l.Selected()
	below := l.selected - l.top
	l.items, l.words, l.forms, l.Stale = items, words, passage.Forms(items, words), false
	l.arrange()
	l.mixed = slices.ContainsFunc(items, func(r wire.SearchResult) bool { return r.Origin != items[0].Origin })
	l.oneDate = passage.HasOneDate(items)
	l.apart = passage.Apart(items)
	l.divide()
	l.selected, l.top, l.moved = 0, 0, true
	if at := find(l.rows, items, former); keep && had && at >= 0 {
		l.selected = at
		l.top = max(0, at-below)
	}
	l.drawn.clear()
}

// SetNow sets the time that ages are relative to.
func (l *List) SetNow(now time.Time) {
	now = now.Truncate(time.Hour) // ages are shown in days
	if !now.Equal(l.now) {
		l.now = now
		l.drawn.clear()
	}
}

// SetDimension sets what the rows begin with and what a list is grouped by.
func (l *List) SetDimension(by dimension.Dimension) {
	l.by, l.drawn.look = by, look{}
	l.rearrange()
}

// divide finds out which values of the dimension the passages have.
func (l *List) divide() {
	counts := map[string]int{}
	for _, r := range l.items {
		counts[l.by.Value(r)]++
	}
	l.several, l.usual = len(counts) > 1, ""
	for value, count := range counts {
		if 2*count > len(l.items) {
			l.usual = value
		}
	}
}

func (l *List) isOld(r wire.SearchResult) bool {
	updated, err := wire.ParseTime(text.OrEmpty(r.UpdatedAt))
	return err == nil && l.OldAge > 0 && l.now.Sub(updated) >= l.OldAge
}

// SetMarked sets which passages have a mark, by passage.RefOf.
func (l *List) SetMarked(marked exmaps.Set[string]) {
	l.marked = marked
	l.drawn.clear()
}

// SetNew sets which passages are new since they were looked at last, by passage.RefOf; nil: none.
func (l *List) SetNew(fresh exmaps.Set[string]) {
	l.fresh = fresh
	l.drawn.clear()
}

// SetGrouping groups the list by one of Groupings. The selection stays on its passage and on its place on the screen.
func (l *List) SetGrouping(grouping string) {
	if grouping != l.grouping {
		l.grouping = grouping
		l.rearrange()
	}
}

// rearrange groups the list again, with the selection on its passage.
func (l *List) rearrange() {
	selected, below := l.SelectedIndex(), l.selected-l.top
	l.divide()
	l.arrange()
	l.selected = max(0, slices.IndexFunc(l.rows, func(r row) bool { return r.item == selected }))
	l.top = max(0, l.selected-below)
	l.drawn.clear()
}

// Clear empties the list.
func (l *List) Clear() { l.Set(nil, nil, false) }

// Len is the number of passages.
func (l *List) Len() int { return len(l.rows) }

// Found returns the number of documents in the list that match, with folded copies, and which of them is selected, from
// 1; of a further result, which is none of them, which of the further ones it is. Where no document is said to match,
// as in a collection, all count that lack nothing.
func (l *List) Found() (documents, place, further int) {
	said := slices.ContainsFunc(l.items, func(r wire.SearchResult) bool { return r.Matches })
	others := 0
	for _, r := range l.rows {
		item, selected := l.items[r.item], r.document == l.rows[l.selected].document
		switch {
		case r.nth > 0 || !r.beside && said && !item.Matches:
		case r.beside:
			if others++; selected {
				further = others
			}
		default:
			if selected {
				place = documents + 1
			}
			documents += 1 + item.AlsoInCount
		}
	}
	return documents, place, further
}

// Selected is the selected passage; false when the list is empty.
func (l *List) Selected() (wire.SearchResult, bool) {
	if len(l.rows) == 0 {
		return wire.SearchResult{}, false
	}
	return l.items[l.rows[l.selected].item], true
}

// Row is the number of the selected row, from 0.
func (l *List) Row() int { return l.selected }

// SelectedIndex is the place of the selected passage among the results as they were given; -1 when the list is empty.
func (l *List) SelectedIndex() int {
	if len(l.rows) == 0 {
		return -1
	}
	return l.rows[l.selected].item
}

// Move selects the passage delta rows further down, or up when negative, as far as there are any, without those that
// are folded. It reports whether that is another one.
func (l *List) Move(delta int) bool {
	at, direction := l.selected, 1
	if delta < 0 {
		delta, direction = -delta, -1
	}
	for range delta {
		next := l.beside(at, direction)
		if next == at {
			break
		}
		at = next
	}
	return l.selectRow(at)
}

// beside is the nearest row above another (direction -1) or below it (1) that is not folded, or that row itself.
func (l *List) beside(at, direction int) int {
	for next := at + direction; next >= 0 && next < len(l.rows); next += direction {
		if !l.isFolded(next) {
			return next
		}
	}
	return at
}

// mostUnfolded is how many further passages of the selected document are listed, as far as there is room beside
// roomFor documents, each with three lines: more would push them out.
const (
	mostUnfolded = 5
	roomFor      = 9
)

// unfolds is how many further passages of the document that begins at a row are listed while it is selected. A last one
// takes no more room than the line that counts it.
func (l *List) unfolds(head int) int {
	others := 3*min(roomFor, l.documents) + 1 // with the line that counts what is not listed
	most := max(1, min(mostUnfolded, l.height-others))
	if l.rows[head].further == most+1 {
		return most + 1
	}
	return most
}

// isFolded reports whether a passage is only counted by the first one of its document, as its document is not selected
// or has many, and nothing about it has to be seen.
func (l *List) isFolded(at int) bool {
	r := &l.rows[at]
	if r.nth == 0 || at == l.selected || r.nth <= l.unfolds(at-r.nth) && r.document == l.rows[l.selected].document {
		return false
	}
	ref := passage.RefOf(l.items[r.item])
	return !l.marked.Has(ref) && !l.fresh.Has(ref)
}

// folded returns how many passages of the selected document are folded, for the last row of it that is listed; 0 for
// all other rows.
func (l *List) folded(at int) (folded int) {
	head := at - l.rows[at].nth
	if l.rows[head].further <= l.unfolds(head) || l.rows[at].document != l.rows[l.selected].document {
		return 0
	}
	for i := head; i <= head+l.rows[head].further; i++ {
		if l.isFolded(i) {
			folded++
		} else if i > at {
			return 0
		}
	}
	return folded
}

// First selects the first passage.
func (l *List) First() { l.selectRow(0) }

// ScrollToTop shows the beginning of the list, as far as the selected passage stays in sight.
func (l *List) ScrollToTop() { l.top, l.moved = 0, true }

// Last selects the last passage.
func (l *List) Last() { l.selectRow(len(l.rows) - 1) }

// HalfPage moves by half of the rows that were on the screen last, delta times.
func (l *List) HalfPage(delta int) { l.Move(delta * max(1, l.visible/2)) }

// Jump selects the first passage of the document with a citation number. It reports whether there is one.
func (l *List) Jump(citation int) bool {
	at := slices.IndexFunc(l.rows, func(r row) bool {
		number := l.items[r.item].CitationID
		return number != nil && *number == citation
	})
	l.selectRow(at)
	return at >= 0
}

// SelectIndex selects a passage by its place among the results as they were given. Other numbers change nothing.
func (l *List) SelectIndex(index int) {
	l.selectRow(slices.IndexFunc(l.rows, func(r row) bool { return r.item == index }))
}

// NextOfDocument selects the next passage of the same document, or the one before if direction is -1. It reports
// whether there is one.
func (l *List) NextOfDocument(direction int) bool {
	for at := l.selected + direction; at >= 0 && at < len(l.rows); at += direction {
		if l.rows[at].document == l.rows[l.selected].document {
			return l.selectRow(at)
		}
	}
	return false
}

// RowAt is the passage that the last View showed on a line, counted from 0, by its place among the results as they were
// given.
func (l *List) RowAt(y int) (index int, ok bool) {
	if y < 0 || y >= len(l.placed) || l.placed[y] < 0 {
		return -1, false
	}
	return l.rows[l.placed[y]].item, true
}

func (l *List) selectRow(at int) bool {
	if at < 0 || at >= len(l.rows) || at == l.selected {
		return false
	}
	l.selected, l.moved = at, true
	return true
}

// find is the row of a passage of a former answer, in which the numbers of documents may be others, or else the first
// one of its document; -1 where there is none.
func find(rows []row, items []wire.SearchResult, former wire.SearchResult) int {
	former.CitationID = nil
	document, key := -1, passage.DocumentKey(former)
	for i, r := range rows {
		item := items[r.item]
		if item.CitationID = nil; passage.DocumentKey(item) != key {
			continue
		}
		if item.Ref == former.Ref && (item.Ref != "" || item.Content == former.Content) {
			return i
		}
		if document < 0 {
			document = i
		}
	}
	return document
}

// searchedAtMost is how much of a content is searched for words, in bytes.
const searchedAtMost = 256 << 10

// marksOf is what is highlighted in a result: what the server said or else the words.
func marksOf(r wire.SearchResult, words []string) []wire.Span {
	r.Content = text.Clip(r.Content, searchedAtMost)
	return passage.Highlights(r, words)
}
