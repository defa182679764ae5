package wire

import "strings"

// LineAt returns the line of the source file of what is at a byte of a text from it, whose first and last line there
// are known; 0 if they are not.
func LineAt(text string, lines []int, at int) int {
	if len(lines) != 2 {
		return 0
	}
	before := strings.Count(text[:min(max(0, at), len(text))], "\n")
	if strings.Count(strings.TrimRight(text, "\n"), "\n") <= lines[1]-lines[0] { // none was added
		return min(lines[0]+before, lines[1])
	}
	numbers := sourceLines(text, lines)
	return min(numbers[min(before, len(numbers)-1)], lines[1])
}

// SpanOfLines returns where lines of the source file are in Content, without the white space around them; an empty span
// if they are not there.
func (c Chunk) SpanOfLines(first, last int) Span {
	if len(c.Lines) != 2 || last < c.Lines[0] || first > c.Lines[1] {
		return Span{}
	}
	from, to, at := len(c.Content), 0, 0
	for _, line := range sourceLines(c.Content, c.Lines) {
		end := at + strings.IndexByte(c.Content[at:]+"\n", '\n')
		if line >= first && line <= last {
			from, to = min(from, at), end
		}
		at = end + 1
	}
	if from >= to {
		return Span{}
	}
	text := strings.TrimLeft(c.Content[from:to], " \t\r\n")
	from = to - len(text)
	if text = strings.TrimRight(text, " \t\r\n"); text == "" {
		return Span{}
	}
	return Span{from, from + len(text)}
}

// sourceLines returns the line of the source file of each line of a text. What is not in the file counts as the line
// that follows: the fence of code that is a file by itself, the line below the header of a table in CSV, and the fence
// or header that each part of a long block repeats.
func sourceLines(text string, lines []int) []int {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	numbers, added := make([]int, len(all)), make([]bool, len(all))
	spare := len(all) - 1 - (lines[1] - lines[0])
	header := 0 // of the last table
	for i := 1; i < len(all) && spare > 1; i++ {
		switch {
		case isSeparator(all[i]) && (header == 0 || all[i] != all[header] || all[i-1] != all[header-1]):
			header = i
		case i > 1 && (isSeparator(all[i]) || isFence(all[i]) && isFence(all[i-1]) &&
			strings.Trim(all[i-1], "`~ >\t") == ""):
			added[i-1], added[i] = true, true
			spare -= 2
		}
	}
	switch {
	case spare > 0 && isFence(all[0]):
		added[0] = true
	case spare > 0 && len(all) > 1 && isSeparator(all[1]):
		added[0], added[1] = spare > 1, true
	}
	line := lines[0]
	for i := range numbers {
		if numbers[i] = line; !added[i] {
			line++
		}
	}
	return numbers
}

// isFence reports whether a line begins or ends a block of code.
func isFence(line string) bool {
	line = strings.TrimLeft(line, " >\t")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// isSeparator reports whether a line stands below the header of a table.
func isSeparator(line string) bool {
	return strings.Contains(line, "-") && strings.Contains(line, "|") && strings.Trim(line, "|:- \t>") == ""
}
