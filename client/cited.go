package client

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// citedLines finds the lines at the end of a citation, and those in the fragment of a permalink.
var citedLines = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?::|#L|#lines-)(\d{1,9})(?:[-:]L?(\d{1,9}))?$`)
})

// citedAt finds what names a document, or the end of what names a passage: a line, page or number; an address, a file
// in a folder, a message in a mailbox, or one by its id.
var citedAt = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[:#](?:page=)?\d+(?:-\d+)?$|://|^[^\s:"]+/[^\s:"/]+\.\w{1,8}$|^[^\s:"]+![^\s"]+$` +
		`|^mid:\S+@|^<[^\s<>]+@[^\s<>]+>$`)
})

// inCitation finds what a whole citation says of the place: its link, or what is before the date at its end.
var inCitation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\]\((\S+?)\)|\(([^()]+), \d{4}-\d\d-\d\d\)$|\(([^()]+)\)$`)
})

// Cited returns the place that a text cites: of a whole citation, as it is copied, `Title › Heading (place:line, date)`
// or `[Title](link)`, its place; else the text. It reports whether that looks like a place.
func Cited(written string) (place string, ok bool) {
	place = strings.TrimSpace(written)
	if found := inCitation().FindStringSubmatch(place); found != nil {
		place = cmp.Or(found[1], found[2], found[3])
		ok = found[3] == ""
	}
	return place, ok || citedAt().MatchString(place)
}

// CitedLines returns the first and the last line that a citation such as handbook/leave.md:112 or a permalink names; 0
// and 0 if it names none.
func CitedLines(written string) (first, last int) {
	written, _ = Cited(written)
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
