// Package markdown writes the structure of other formats as Markdown, so that one chunker serves all of them.
package markdown

import (
	"cmp"
	"fmt"
	"strings"
)

// MaxBytes bounds the text of one file.
const MaxBytes = 32 << 20

// TooLong returns the error for more than limit bytes of text.
func TooLong(limit int) error { return fmt.Errorf("it contains more than %d MB of text", limit>>20) }

const deepestItem = 8 // levels of lists

// Writer collects blocks. The zero Writer is ready to use. What is written after Limit is dropped.
type Writer struct {
	// Limit bounds the text, in bytes; 0: MaxBytes.
	Limit int
	// Cell leaves out everything but text, for the cell of a table.
	Cell bool

	out    strings.Builder
	isList bool // the last block is an item
	isFull bool
}

// Text returns what was written, or TooLong.
func (w *Writer) Text() (string, error) {
	if w.isFull {
		return "", TooLong(w.limit())
	}
	return w.out.String(), nil
}

func (w *Writer) limit() int { return cmp.Or(w.Limit, MaxBytes) }

// Full reports whether the text has reached its limit: further reading is in vain.
func (w *Writer) Full() bool { return w.isFull }

func (w *Writer) block(isItem bool, parts ...string) {
	switch {
	case w.out.Len() == 0:
	case isItem && w.isList:
		w.add("\n")
	default:
		w.add("\n\n")
	}
	w.add(parts...)
	w.isList = isItem
}

// add writes parts, or nothing if the limit leaves no room for all of them.
func (w *Writer) add(parts ...string) {
	size := w.out.Len()
	for _, part := range parts {
		size += len(part)
	}
	if w.isFull = w.isFull || size > w.limit(); w.isFull {
		return
	}
	for _, part := range parts {
		w.out.WriteString(part)
	}
}

// Heading writes a heading of level 1 to 6; an empty one is left out.
func (w *Writer) Heading(level int, text string) {
	if text = Line(text); w.Cell {
		w.Paragraph(text)
	} else if text != "" {
		w.block(false, strings.Repeat("#", min(max(level, 1), 6)), " ", text)
	}
}

// Paragraph writes text, whose lines stay lines.
func (w *Writer) Paragraph(text string) {
	if lines := w.lines(text); len(lines) > 0 {
		w.block(false, strings.Join(lines, "\n"))
	}
}

// Item writes an item of a list, with depth from 0.
func (w *Writer) Item(depth int, numbered bool, text string) {
	lines := w.lines(text)
	if w.Cell {
		w.Paragraph(text)
		return
	}
	if len(lines) == 0 {
		return
	}
	marker := "- "
	if numbered {
		marker = "1. "
	}
	indent := strings.Repeat("   ", min(max(depth, 0), deepestItem))
	w.block(true, indent, marker, strings.Join(lines, "\n"+indent+strings.Repeat(" ", len(marker))))
}

// Table writes rows, of which the first is the header. A table of one column is written as paragraphs.
func (w *Writer) Table(rows [][]string) {
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	if columns < 2 || w.Cell {
		for _, row := range rows {
			w.Paragraph(strings.Join(row, " "))
		}
		return
	}
	for i, row := range rows {
		if i > 0 {
			w.add("\n|")
			w.cells(row)
			continue
		}
		w.block(false, "|")
		w.cells(row)
		w.add(strings.Repeat("  |", columns-len(row)), "\n|", strings.Repeat("---|", columns))
	}
}

// cells continues a row. A few cells may stand for more text than the limit, as one string may be in all of them.
func (w *Writer) cells(cells []string) {
	for _, cell := range cells {
		if w.isFull {
			return
		}
		w.add(" ", Cell(cell), " |")
	}
}

// Cell returns a text as the cell of a table.
func Cell(text string) string { return strings.ReplaceAll(Line(text), "|", `\|`) }

// Code writes a fenced block.
func (w *Writer) Code(language, text string) {
	if strings.TrimSpace(text) != "" {
		open, end := Fence(language, text)
		w.block(false, open, strings.TrimRight(text, "\n"), "\n", end)
	}
}

// Fence returns the lines around a code block, longer than any fence in it.
func Fence(language, text string) (open, end string) {
	longest := 2
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(line, " \t")
		longest = max(longest, len(line)-len(strings.TrimLeft(line, "`")))
	}
	end = strings.Repeat("`", longest+1)
	return end + language + "\n", end
}

// Link returns a link, or only its text if the target is not on the web or a mailbox.
func Link(text, target string) string {
	begins, ends := "", ""
	if inner := strings.TrimSpace(text); inner != "" { // spaces at its ends part it from the words beside it
		begins, ends, _ = strings.Cut(text, inner)
		begins, ends = begins[:min(1, len(begins))], ends[:min(1, len(ends))]
	}
	text = Line(text)
	isWeb := strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") ||
		strings.HasPrefix(target, "mailto:")
	if text == "" || !isWeb || len(target) > 2_000 || strings.ContainsAny(target, " \t\n<>()[]") {
		return begins + text + ends
	}
	if strings.Count(text, "[") != strings.Count(text, "]") {
		text = strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text)
	}
	return begins + "[" + text + "](" + target + ")" + ends
}

// Line returns text on one line, with single spaces.
func Line(text string) string { return strings.Join(strings.Fields(text), " ") }

// lines returns the lines of a text that are not blank.
func (w *Writer) lines(text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line = Line(line); line != "" && !w.Cell {
			line = Literal(line)
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// Literal escapes a line of a paragraph that would be read as a heading, a fence or an underline.
func Literal(line string) string {
	trimmed := strings.TrimLeft(line, "#")
	isHeading := len(trimmed) < len(line) && (trimmed == "" || trimmed[0] == ' ')
	isUnderline := strings.Trim(line, "=") == "" || strings.Trim(line, "-") == ""
	if isHeading || isUnderline || strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
		return `\` + line
	}
	return line
}

// Blocks writes text that is Markdown already.
func (w *Writer) Blocks(text string) {
	if text = strings.Trim(text, "\n"); text != "" {
		w.block(false, text)
	}
}
