package client

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// citedLines finds the lines at the end of a citation, and those in the fragment of a permalink.
var citedLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?::|#L|#lines-)(\d{1,9})(?:[-:]L?(\d{1,9}))?$`)
})

// CitedLines returns the first and the last line that a citation such as handbook/leave.md:112 or a permalink names; 0
// and 0 if it names none.
func CitedLines(written string) (first, last int) {
	if at := strings.LastIndexByte(written, '#'); at >= 0 {
		written = written[at:]
	} else if strings.Contains(written, "://") {
		return 0, 0 // its port
	}
	found := citedLines().FindStringSubmatch(written)
	if found == nil {
		return 0, 0
	}
	first, _ = strconv.Atoi(found[1]) // of at most nine digits
	last, _ = strconv.Atoi(found[2])
	return first, max(first, last)
}
