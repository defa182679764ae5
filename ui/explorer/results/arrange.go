package results

import (
	"slices"
	"strconv"

	"quarry/client/wire"
)

// arranged puts passages into the order of the list.
func arranged(items []wire.SearchResult) []row {
	selects := slices.ContainsFunc(items, func(r wire.SearchResult) bool { return r.Selected })
	rows := make([]row, 0, len(items))
	documents := make(map[string]int, len(items))
	for i, item := range items {
		key := documentKey(item)
		if key == "" {
			key = "item " + strconv.Itoa(i) // nothing says what document it is of
		}
		document, known := documents[key]
		if !known {
			document = len(documents)
			documents[key] = document
		}
		rows = append(rows, row{item: i, document: document, aside: selects && !item.Selected})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		switch {
		case a.aside != b.aside && a.aside:
			return 1
		case a.aside != b.aside:
			return -1
		}
		return a.document - b.document
	})
	head := 0
	for i := range rows {
		rows[i].opens = rows[i].aside && (i == 0 || !rows[i-1].aside)
		if i == 0 || rows[i].document != rows[i-1].document || rows[i].opens {
			rows[i].heads, head = true, i
			continue
		}
		rows[head].further++
	}
	return rows
}

// documentKey distinguishes the documents of an answer: the citation number where there is one, which every server gives per
// document.
func documentKey(r wire.SearchResult) string {
	switch {
	case r.CitationID != nil:
		return "citation " + strconv.Itoa(*r.CitationID)
	case r.DocumentID != "":
		return "document " + r.DocumentID
	case r.Link != nil && *r.Link != "":
		return "link " + *r.Link
	}
	return ""
}

// find is the row of a passage of a former answer, or else the first one of its document; -1 where there is none.
func find(rows []row, items []wire.SearchResult, former wire.SearchResult) int {
	document := -1
	for i, r := range rows {
		item := items[r.item]
		if !sameDocument(item, former) {
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

// sameDocument compares documents of two answers, in which their citation numbers may differ.
func sameDocument(a, b wire.SearchResult) bool {
	switch {
	case a.DocumentID != "" || b.DocumentID != "":
		return a.DocumentID == b.DocumentID
	case a.Link != nil && b.Link != nil:
		return *a.Link == *b.Link
	}
	return a.Link == nil && b.Link == nil && a.Title == b.Title && a.SourceType == b.SourceType
}
