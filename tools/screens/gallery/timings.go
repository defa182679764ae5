//go:build unix

package gallery

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"quarry/internal/testkit/screentest/terminal"
)

// A search takes another time in each run. In the pictures it always takes the same.
const usualTime = "4"

// usualStages are the times of a search's stages, and how long their bars are.
func usualStages() map[string]stage {
	return map[string]stage{
		"understand": {"0.1", 1}, "retrieve": {"2.6", 16}, "fuse": {"0.1", 1}, "select": {"0.1", 1}, "expand": {"0.3", 2},
		"cite": {"0.8", 5},
	}
}

type stage struct {
	ms  string
	bar int
}

// fixTimings replaces the times that were measured.
func fixTimings(cells [][]terminal.Cell) {
	stages := regexp.MustCompile(`(understand|retrieve|fuse|select|expand|cite) +▄* +([0-9.]+) ms`)
	whole := regexp.MustCompile(`([0-9.,]+) ?ms`)
	for _, row := range cells {
		if at := find(stages, row); at != nil {
			name := text(row[at[2]:at[3]])
			usual := usualStages()[name]
			redraw(row[at[2]+11:at[2]+11+16], usual.bar)
			replace(row, at[4], at[5], usual.ms)
		} else if at := find(whole, row); at != nil {
			replace(row, at[2], at[3], usualTime)
		}
	}
}

// text is what stands in cells, one character for each.
func text(cells []terminal.Cell) string {
	var line strings.Builder
	for _, cell := range cells {
		first, _ := utf8.DecodeRuneInString(cell.Text + " ")
		line.WriteRune(first)
	}
	return line.String()
}

// find is a match in a row, as the columns where its parts begin and end; nil if there is none.
func find(pattern *regexp.Regexp, row []terminal.Cell) []int {
	line := text(row)
	at := pattern.FindStringSubmatchIndex(line)
	for i := range at {
		at[i] = utf8.RuneCountInString(line[:at[i]])
	}
	return at
}

// redraw draws a bar again with another length.
func redraw(cells []terminal.Cell, length int) {
	bar, blank := cells[0], cells[len(cells)-1]
	bar.Text, blank.Text = "▄", " "
	for i := range cells {
		cells[i] = blank
		if i < length {
			cells[i] = bar
		}
	}
}

// replace puts a number in place of another. A longer one takes its room from the line or gap before it, or else from the
// gap behind it.
func replace(row []terminal.Cell, from, to int, number string) {
	var digits []terminal.Cell
	for _, r := range number {
		digit := row[from]
		digit.Text = string(r)
		digits = append(digits, digit)
	}
	longer := len(digits) - (to - from)
	changed := slices.Concat(row[:from], digits, row[to:])
	room := filling(row, from)
	if room < 0 {
		room = gap(row, to) + longer
	}
	if longer > 0 {
		changed = slices.Delete(changed, room, room+longer)
	} else {
		changed = slices.Insert(changed, room, slices.Repeat(changed[room:room+1], -longer)...)
	}
	copy(row, changed)
}

// filling is a column of a line, or of a gap, before a column; -1 if there is none.
func filling(row []terminal.Cell, before int) int {
	const least = 4 // columns, so that some may go
	if before >= least && strings.TrimSpace(text(row[before-least:before])) == "" {
		return before - least
	}
	for x := before - least; x > 0; x-- {
		if text(row[x:x+least]) == "────" {
			return x
		}
	}
	return -1
}

// gap is the column of the first gap from a column on, at most the last one.
func gap(row []terminal.Cell, from int) int {
	for x := from; x < len(row)-1; x++ {
		if text(row[x:x+2]) == "  " {
			return x
		}
	}
	return len(row) - 1
}
