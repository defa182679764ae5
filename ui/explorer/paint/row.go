package paint

// Row is a line of items that is drawn from left to right, and remembers where each of them is.
type Row struct {
	line  []byte // no strings.Builder, which must not be copied
	X     int    // columns drawn so far
	items []rowItem
}

// rowItem is an item in the columns [from, to).
type rowItem struct{ from, to, item int }

// Put draws a styled text of so many columns.
func (r *Row) Put(styled string, columns int) {
	r.line = append(r.line, styled...)
	r.X += columns
}

// PutItem is Put for an item.
func (r *Row) PutItem(item int, styled string, columns int) {
	r.items = append(r.items, rowItem{r.X, r.X + columns, item})
	r.Put(styled, columns)
}

// String returns what was drawn.
func (r *Row) String() string { return string(r.line) }

// At returns the item in a column, if there is one.
func (r *Row) At(x int) (item int, ok bool) {
	for _, at := range r.items {
		if x >= at.from && x < at.to {
			return at.item, true
		}
	}
	return 0, false
}
