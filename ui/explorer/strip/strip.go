// Package strip is the line under the query that shows the sources or places of what matched, with counts, and in which
// they are chosen.
package strip

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
)

// Value is a source or place of the strip.
type Value struct {
	Value   string // as queries name it
	Count   int    // of matching documents
	Counted bool
	Active  bool // the query is limited to it

	Excluded bool // the query excludes it
}

// Strip is the line. Its first cell stands for all values, its last one for those that there is no room for.
type Strip struct {
	by     dimension.Dimension
	values []Value
	sum    int // documents, where more match than the values have; negative: unknown
	at     int // cell with the cursor; 0 is all values
	shown  int // values on the line, as drawn last
	row    paint.Row

	version uint64
	line    paint.Cache[look, string]
}

type look struct {
	version     uint64
	width       int
	theme, hint string
	focused     bool
	at          int
}

// Set shows values of a dimension, those with most matches first, and how many documents match in all: 0 for as many as
// the values have, less for an unknown number. An excluded value that was not counted stays in sight.
func (s *Strip) Set(by dimension.Dimension, values []Value, sum int) {
	order := func(v Value) int {
		if v.Excluded && v.Count == 0 {
			return math.MinInt
		}
		return -v.Count
	}
	slices.SortStableFunc(values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(order(a), order(b)), strings.Compare(a.Value, b.Value))
	})
	if slices.Equal(values, s.values) && sum == s.sum && by.Equal(s.by) {
		return
	}
	under := s.at
	if under > 0 && under <= len(s.values) { // the cursor follows its value
		value := s.values[under-1].Value
		under = 1 + slices.IndexFunc(values, func(v Value) bool { return v.Value == value })
	}
	s.by, s.values, s.sum, s.at = by, values, sum, min(under, len(values))
	s.version++
}

// Move moves the cursor by cells.
func (s *Strip) Move(by int) { s.at = max(0, min(s.at+by, s.last())) }

// MoveTo moves the cursor to the cell in a column of the line drawn last. It reports whether there is one.
func (s *Strip) MoveTo(x int) bool {
	cell, ok := s.row.At(x)
	if ok {
		s.at = cell
	}
	return ok
}

// last is the last cell that the cursor can be on.
func (s *Strip) last() int {
	if s.shown < len(s.values) {
		return s.shown + 1
	}
	return len(s.values)
}

// Rest reports whether the cursor is on the cell for the values that there is no room for.
func (s *Strip) Rest() bool { return s.at > s.shown }

// Chosen is the value under the cursor; false on the cells for all and for the others.
func (s *Strip) Chosen() (value string, ok bool) {
	if s.at < 1 || s.at > s.shown {
		return "", false
	}
	return s.values[s.at-1].Value, true
}

// Toggled returns the values that the query is limited to once the one under the cursor was chosen, or given up if it
// was chosen before; none of them for all values.
func (s *Strip) Toggled() []string {
	var values []string
	for i, value := range s.values {
		if value.Active != (i+1 == s.at) && s.at > 0 {
			values = append(values, value.Value)
		}
	}
	return values
}

const (
	wideEnough = 81 // columns from which on there is more room between cells
	widestName = 22 // columns of a name
	hintWidth  = 50 // columns from which on there is room for a hint
)

// View draws the line, width columns wide, with a hint at its right.
func (s *Strip) View(width int, th theme.Theme, focused bool, hint string) string {
	if width < hintWidth {
		hint = ""
	}
	line := s.line.Get(look{s.version, width, th.Name, hint, focused, s.at}, func() string {
		return s.draw(max(0, width), th, focused, hint)
	})
	s.at = min(s.at, s.last())
	return line
}

func (s *Strip) draw(width int, th theme.Theme, focused bool, hint string) string {
	s.row, s.shown = paint.Row{}, 0
	gap := 0
	if width >= wideEnough {
		gap = 1
		s.row.Put(" ", 1)
	}
	room := width - paint.Width(hint) - 2
	put := func(cell int, drawn string, columns int) {
		before, after := " ", " "
		if focused && cell == s.at {
			before, after = th.Key.Render("["), th.Key.Render("]")
		}
		s.row.PutItem(cell, before+drawn+after, columns)
		s.row.Put(paint.Blank(gap), gap)
	}
	all, style := s.all(), th.Chip
	if slices.ContainsFunc(s.values, func(v Value) bool { return v.Active }) {
		style = th.Text
	}
	if len(s.values) > 0 && paint.Width(all)+2 <= room {
		put(0, style.Render(all), paint.Width(all)+2)
	}
	for i, value := range s.values {
		rest, label := "", s.label(value, th)
		if more := len(s.values) - i - 1; more > 0 {
			rest = restOf(more)
		}
		columns := paint.Width(label) + 2
		if s.row.X+columns+gap+paint.Width(rest) > room {
			break
		}
		put(i+1, s.cell(value, label, th), columns)
		s.shown++
	}
	if more := len(s.values) - s.shown; more > 0 && s.row.X+len(restOf(more)) <= room {
		put(s.shown+1, th.Muted.Render(strings.TrimSpace(restOf(more))), len(restOf(more)))
	}
	return paint.Fit(s.row.String(), width-paint.Width(hint)-1) + th.Muted.Render(hint) + " "
}

// all is the text of the cell for all values.
func (s *Strip) all() string {
	sum, counted := 0, false
	for _, value := range s.values {
		sum, counted = sum+value.Count, counted || value.Counted
	}
	if !counted || s.sum < 0 {
		return "All"
	}
	return "All " + text.Number(cmp.Or(s.sum, sum))
}

// restOf is the cell for values that there is no room for.
func restOf(n int) string { return " +" + text.Number(n) + " " }

func (s *Strip) label(value Value, th theme.Theme) string {
	label := paint.Short(s.by.Marked(th, value.Value, strings.TrimPrefix(s.by.Name(value.Value), "Google ")),
		widestName)
	if value.Counted && !(value.Excluded && value.Count == 0) {
		label += " " + text.Number(value.Count)
	}
	if value.Excluded {
		label = "not " + label
	}
	return label
}

func (s *Strip) cell(value Value, label string, th theme.Theme) string {
	switch {
	case value.Active:
		return th.Chip.Render(label)
	case value.Excluded || value.Counted && value.Count == 0:
		return th.Disabled.Render(label)
	}
	at := strings.LastIndexByte(label, ' ')
	if !value.Counted {
		at = len(label)
	}
	return s.by.Style(th, value.Value).Render(label[:at]) + th.Muted.Render(label[at:])
}
