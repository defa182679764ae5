package reader

import (
	"strings"

	"quarry/ui/explorer/paint"
)

// pieces splits Markdown into parts of at most limit bytes: at blank lines outside of fenced code if there are any, else
// at line ends. Longer lines stay whole.
func pieces(text string, limit int) []paint.Range {
	if len(text) <= limit {
		return []paint.Range{{Start: 0, End: len(text)}}
	}
	var parts []paint.Range
	start, blank := 0, -1 // blank is the last place to split at
	fence := ""
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := text[at:end]
		if end-start > limit && at > start {
			cut := at
			if blank > start {
				cut = blank
			}
			parts = append(parts, paint.Range{Start: start, End: cut})
			start, blank = cut, -1
			if cut < at {
				at, fence = cut, "" // a blank line stood outside of fences
			}
			continue
		}
		fence = fenceAfter(fence, line)
		if fence == "" && strings.TrimSpace(line) == "" {
			blank = end
		}
		at = end
	}
	return append(parts, paint.Range{Start: start, End: len(text)})
}

// lineEnd returns the end of the line at an offset, after its line feed.
func lineEnd(text string, at int) int {
	if end := strings.IndexByte(text[at:], '\n'); end >= 0 {
		return at + end + 1
	}
	return len(text)
}

// fenceAfter returns the fence that is open after a line: the marks that opened it, or "".
func fenceAfter(open, line string) string {
	line = strings.TrimLeft(strings.TrimRight(line, "\n"), " ")
	if line == "" || line[0] != '`' && line[0] != '~' {
		return open
	}
	rest := strings.TrimLeft(line, line[:1])
	run := line[:len(line)-len(rest)]
	switch {
	case len(run) < 3:
		return open
	case open == "" && (run[0] == '~' || !strings.Contains(rest, "`")):
		return run
	case open != "" && strings.HasPrefix(run, open) && strings.TrimSpace(rest) == "":
		return ""
	}
	return open
}
