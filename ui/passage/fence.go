package passage

import "strings"

// FenceAfter returns the fence that is open after a line without indentation: the backticks or tildes that opened a
// code block, or "".
func FenceAfter(open, line string) string {
	switch {
	case open == "":
		return opensFence(line)
	case closesFence(line, open):
		return ""
	}
	return open
}

// opensFence returns the backticks or tildes that open a code block, or "".
func opensFence(line string) string {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return ""
	}
	fence := line[:runLength(line, 0)]
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(line[len(fence):], "`") {
		return ""
	}
	return fence
}

func closesFence(line, fence string) bool {
	return strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]+" \t\r") == ""
}

// fenceAt returns the fence of the code block that a text ends in, or "".
func fenceAt(text string) string {
	fence := ""
	for line := range strings.Lines(text) {
		fence = FenceAfter(fence, strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t>"))
	}
	return fence
}

// codeBlocks yields the parts of a text: code between fences, which included, and what is between such blocks.
func codeBlocks(markdown string) func(yield func(text string, code bool) bool) {
	return func(yield func(string, bool) bool) {
		start, at, fence := 0, 0, ""
		for line := range strings.Lines(markdown) {
			before := at
			at += len(line)
			was := fence
			if fence = FenceAfter(was, strings.TrimLeft(strings.TrimRight(line, "\n"), " \t>")); fence == was {
				continue
			}
			end := at
			if was == "" { // the line of the fence is code
				end = before
			}
			if !yield(markdown[start:end], was != "") {
				return
			}
			start = end
		}
		yield(markdown[start:], fence != "")
	}
}
