package querybox

import (
	"fmt"
	"slices"
	"strings"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

const (
	mark        = "›"
	promptWidth = 2
	// roomToType is the least number of columns for the text beside the label on its right.
	roomToType = 20
	labelGap   = 2
)

// look is what a drawn line depends on.
type look struct {
	version     uint64
	width       int
	theme       string
	focused     bool
	selected    int // chip; -1 for none
	right       string
	placeholder string
}

// View draws the line that is typed into, width columns wide, and returns the column of the cursor. The styled label on
// the right goes when the text needs its room.
func (b *Box) View(width int, th theme.Theme, focused bool, right string) (line string, cursorX int) {
	drawn := b.line.Get(look{b.Version(), width, th.Name, focused, -1, right, b.Placeholder}, func() paint.Input {
		return b.drawLine(max(0, width), th, focused, right)
	})
	return drawn.Text, drawn.CursorX
}

func (b *Box) drawLine(width int, th theme.Theme, focused bool, right string) paint.Input {
	prompt := th.Border.Render(mark)
	if focused {
		prompt = th.Prompt.Render(mark)
	}
	if width <= promptWidth {
		return paint.Input{Text: paint.Fit(prompt, width), CursorX: max(0, width-1)}
	}
	room := width - promptWidth
	label := b.label(room, right)
	left := room - paint.Width(label)
	text, x := b.Editor.View(left, th, b.Placeholder, false)
	if !focused && !b.Fits(left) { // who does not type reads from the beginning
		text = th.Text.Render(paint.Short(b.Text(), left))
	}
	return paint.Input{Text: paint.Fit(prompt+" "+text+label, width), CursorX: promptWidth + x}
}

// label is the text on the right with the gap before it, or nothing where there is no room for it.
func (b *Box) label(room int, right string) string {
	if right == "" {
		return ""
	}
	label := paint.Blank(labelGap) + right + " "
	left := room - paint.Width(label)
	if left < roomToType || !b.Fits(left) {
		return ""
	}
	return label
}

// ChipsView draws the filters on one line, width columns wide, with a hint on its right if there is room for all of it.
// What does not fit is counted: +2.
func (b *Box) ChipsView(width int, th theme.Theme, right string) string {
	selected := -1
	if i, ok := b.selectedChip(); ok {
		selected = i
	}
	look := look{version: b.Version(), width: width, theme: th.Name, selected: selected, right: right}
	return b.chips.Get(look, func() string {
		row := chipRow{width: max(0, width), selected: selected, th: th}
		row.draw(b.Chips(), paint.Line(right))
		b.row = row.Row
		return paint.Fit(row.String(), row.width)
	})
}

// HasRoomBeside reports whether ChipsView has room for a text at the right of all filters.
func (b *Box) HasRoomBeside(width int, right string) bool {
	_, used := chipLabels(b.Chips(), width)
	return width-used-paint.Width(right) >= labelGap
}

// HitChip is the chip in a column of the line that ChipsView drew last.
func (b *Box) HitChip(x int) (i int, ok bool) { return b.row.At(x) }

// chipRow lays a line of chips out from left to right.
type chipRow struct {
	paint.Row
	th       theme.Theme
	width    int
	selected int // -1 for none
}

const (
	remove       = " ✕"
	ignoredLabel = " (ignored)"
	cutNames     = "…/" // before a place that lost its first names
	chipPadding  = 2    // a column on both sides
	shortestChip = 8    // a chip that is cut shorter is unreadable
	worthMarks   = 12   // columns of a filter from which on its marks have room, too
	longestChip  = 36   // columns of a filter before the others have theirs
)

func (r *chipRow) draw(chips []Chip, right string) {
	r.Put(" ", 1)
	labels, total := chipLabels(chips, r.width)
	first, end := r.visible(labels, total)
	if first > 0 {
		r.count(first)
	}
	for i := first; i < end; i++ {
		r.chip(i, labels[i], chips[i], countWidth(len(labels)-i-1))
	}
	if end < len(labels) {
		r.count(len(labels) - end)
	}
	if gap := r.width - r.X - paint.Width(right); right != "" && gap >= labelGap && first == 0 && end == len(labels) {
		r.Put(paint.Blank(gap)+r.th.Muted.Render(right), gap+paint.Width(right))
	}
}

// chipLabels returns the texts of chips and the columns of a line with all of them. The filter of a chip takes at most
// longestChip columns, and those that are left at the end of the line.
func chipLabels(chips []Chip, width int) (labels []string, total int) {
	total = 1
	for _, chip := range chips {
		label := chipLabel(chip, width, longestChip)
		labels = append(labels, label)
		total += paint.Width(label) + chipPadding
	}
	for i, label := range labels {
		if total < width {
			labels[i] = chipLabel(chips[i], paint.Width(label)+width-total, width)
			total += paint.Width(labels[i]) - paint.Width(label)
		}
	}
	return labels, total
}

// chipLabel is the text of a chip in at most room columns, of which its filter takes at most longest. The filter is cut
// before the chip's marks are.
func chipLabel(chip Chip, room, longest int) string {
	marks := remove
	if chip.Ignored {
		marks = ignoredLabel + remove
	}
	if left := room - paint.Width(marks); left >= min(worthMarks, paint.Width(paint.Line(chip.Label))) {
		return chip.cut(min(left, longest)) + marks
	}
	return chip.cut(room)
}

// cut returns the label in at most width columns. Places lose their first names, the longest place first: the last ones
// tell it from others. What is too long without them is cut at its end.
func (c Chip) cut(width int) string {
	label, places := paint.Line(c.Label), slices.Clone(c.places)
	front := strings.TrimSuffix(c.Label, strings.Join(places, ", "))
	for paint.Width(label) > width {
		widest, shorter := -1, ""
		for i, place := range places {
			_, below, isIn := strings.Cut(strings.TrimLeft(place, cutNames), "/")
			if isIn && (widest < 0 || paint.Width(place) > paint.Width(places[widest])) {
				widest, shorter = i, cutNames+below
			}
		}
		if widest < 0 {
			return strings.TrimRight(paint.Fit(label, width), " ")
		}
		places[widest] = shorter
		label = paint.Line(front + strings.Join(places, ", "))
	}
	return label
}

// visible is the range of chips that are drawn: from the first on, unless the selected one would not be among them.
func (r *chipRow) visible(labels []string, total int) (first, end int) {
	if total <= r.width {
		return 0, len(labels)
	}
	for first = range labels {
		end = r.fitting(labels, first)
		if r.selected < end {
			break
		}
	}
	if end == first {
		return 0, 0
	}
	return first, end
}

// fitting is the end of the chips that fit from a first one on. The first may be cut, where there is room for a
// readable part.
func (r *chipRow) fitting(labels []string, first int) (end int) {
	room := r.width - r.X - countWidth(first)
	if room-countWidth(len(labels)-first-1) < shortestChip {
		return first
	}
	used := 0
	for end = first; end < len(labels); end++ {
		used += paint.Width(labels[end]) + chipPadding
		if used+countWidth(len(labels)-end-1) > room {
			break
		}
	}
	return max(end, first+1)
}

// chip draws one chip, cut so that some columns after it stay free.
func (r *chipRow) chip(i int, label string, chip Chip, free int) {
	room := r.width - r.X - chipPadding - free
	if paint.Width(label) > room {
		label = chipLabel(chip, room, longestChip)
	}
	style, before, after := r.th.Chip, " ", " "
	if chip.Ignored {
		style = r.th.Disabled
	}
	if i == r.selected {
		style, before, after = r.th.Selected, "[", "]"
	}
	r.PutItem(i, before+style.Render(label)+after, paint.Width(label)+chipPadding)
}

// count draws the number of chips that are not.
func (r *chipRow) count(n int) { r.Put(r.th.Muted.Render(countLabel(n)), countWidth(n)) }

func countLabel(n int) string { return fmt.Sprintf(" +%d", n) }

func countWidth(n int) int {
	if n <= 0 {
		return 0
	}
	return len(countLabel(n))
}
