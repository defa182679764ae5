package results

import (
	"cmp"
	"slices"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// What the documents of a list are grouped by. The passages of a document always are consecutive.
const (
	ByDocument = "document" // in the order of their first passages
	BySource   = "source"   // the sources, or places, in that order
	ByMonth    = "month"    // of their dates, the newest first unless OldestFirst is set
)

// Groupings returns what a list can be grouped by.
func Groupings() []string { return []string{ByDocument, BySource, ByMonth} }

// part is how the documents of a list got there.
type part int

const (
	ranked  part = iota
	left         // out by the model that selected
	byWords      // behind the first page, which a model ranked
	beyond       // what matches
)

// section is a part of the list under one heading.
type section struct {
	group string // a source, a place or a month; empty also without groups
	part  part
}

// heading names a section with the number of its documents, those at hand where there are others; empty: it needs no
// heading.
func (l *List) heading(s section, documents int) string {
	name := ""
	switch l.grouping {
	case BySource:
		name = l.by.Name(s.group)
	case ByMonth:
		name = "undated"
		if month, err := time.Parse(monthKey, s.group); err == nil {
			name = month.Format("January 2006")
		}
	}
	how := [...]string{left: "not selected", byWords: "more, by words", beyond: passage.FurtherResults}[s.part]
	if name == "" {
		return how
	}
	counted := text.Count(documents, "document")
	if l.IsPart {
		counted += " loaded"
	}
	if documents == 0 {
		counted = ""
	}
	return text.Join(" · ", paint.Line(name), how, counted)
}

// monthKey is the layout of months as groups.
const monthKey = "2006-01"

// groupOf returns the group of a passage's document.
func groupOf(item wire.SearchResult, grouping string, by dimension.Dimension) string {
	switch grouping {
	case BySource:
		return by.Value(item)
	case ByMonth:
		if updated, err := wire.ParseTime(text.OrEmpty(item.UpdatedAt)); err == nil {
			return updated.Format(monthKey)
		}
	}
	return ""
}

// arrange puts the passages into the order of the list.
func (l *List) arrange() {
	l.rows = make([]row, 0, len(l.items))
	documents := make(map[string]int, len(l.items))
	var sections []section // of each document
	var chosen []bool      // documents with a passage that was selected
	var order []string     // groups, by their first document
	further := passage.Further(l.items)
	var lacking []bool // documents that are further results
	for i, item := range l.items {
		key := passage.DocumentKey(item)
		document, known := documents[key]
		if !known {
			document = len(documents)
			documents[key] = document
			of := section{group: groupOf(item, l.grouping, l.by)}
			if l.More > 0 && i >= l.More {
				of.part = byWords
			}
			sections, chosen = append(sections, of), append(chosen, false)
			lacking = append(lacking, i >= further)
			if !slices.Contains(order, of.group) {
				order = append(order, of.group)
			}
		}
		l.rows = append(l.rows, row{item: i, document: document})
		chosen[document] = chosen[document] || item.Selected
	}
	if l.grouping == ByMonth {
		slices.SortFunc(order, func(a, b string) int {
			if l.OldestFirst && a != "" && b != "" { // undated documents are last in either order
				return cmp.Compare(a, b)
			}
			return cmp.Compare(b, a)
		})
	}
	l.documents = len(sections)
	selects := !l.Plain && slices.Contains(chosen, true)
	for document := range sections {
		switch of := &sections[document]; {
		case selects && chosen[document]:
		case lacking[document]:
			of.part = beyond
		case selects && of.part == ranked:
			of.part = left
		}
	}
	slices.SortStableFunc(l.rows, func(a, b row) int {
		in, other := sections[a.document], sections[b.document]
		return cmp.Or(cmp.Compare(slices.Index(order, in.group), slices.Index(order, other.group)),
			cmp.Compare(in.part, other.part), cmp.Compare(a.document, b.document))
	})
	l.setHeads(sections)
}

// setHeads finds the rows that begin a document and those that begin a section.
func (l *List) setHeads(sections []section) {
	head, opens, documents := 0, 0, 0 // the last two of the section
	for i := range l.rows {
		r := &l.rows[i]
		of := sections[r.document]
		r.lack, r.beside = passage.Lacking(l.items[r.item]), passage.Lack(l.items[r.item]) != ""
		r.aside = of.part != ranked || r.beside
		if i > 0 && r.document == l.rows[i-1].document {
			l.rows[head].further++
			r.nth = i - head
			continue
		}
		if i > 0 && of != sections[l.rows[opens].document] {
			l.rows[opens].heading = l.heading(sections[l.rows[opens].document], documents)
			opens, documents = i, 0
		}
		if head = i; r.lack == "" || of.part == beyond { // else it is in no other count either
			documents++
		}
	}
	if len(l.rows) > 0 {
		l.rows[opens].heading = l.heading(sections[l.rows[opens].document], documents)
	}
}
