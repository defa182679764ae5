package passage

import (
	"slices"
	"strings"

	"quarry/client/wire"
)

// Shown returns those of a text's ordered spans that are not all within what rendered Markdown leaves out: addresses of
// links, languages of code, HTML tags and the like, and bare addresses, which it shortens.
func Shown(markdown string, spans []wire.Span) []wire.Span {
	if len(spans) == 0 || !mayLeaveOut(markdown) {
		return spans
	}
	return parsedShown(markdown, spans)
}

// mayLeaveOut reports whether a text contains what begins all that rendering leaves out: tags, targets of links,
// mailboxes, addresses, fences and comments. Few lines do, and parsing each on its way to the screen would take a fifth
// of drawing the results.
func mayLeaveOut(markdown string) bool {
	if strings.ContainsAny(markdown, "<]@") {
		return true
	}
	begins := []string{"://", "www.", "```", "~~~", "%%"}
	return slices.ContainsFunc(begins, func(begin string) bool { return strings.Contains(markdown, begin) })
}

func parsedShown(markdown string, spans []wire.Span) []wire.Span {
	p := newPlainer(markdown, spans)
	p.lines(0, len(markdown))
	var shown []wire.Span
	next := 0 // bare address
	for i, span := range spans {
		for next < len(p.links) && p.links[next][1] <= span[0] {
			next++
		}
		isAddress := next < len(p.links) && p.links[next][0] <= span[0]
		if p.moved[i][1] > p.moved[i][0] && !isAddress {
			shown = append(shown, span)
		}
	}
	return shown
}

// beginsAddress reports whether a bare address is around an offset: one with a scheme, of a site, or of a mailbox.
func beginsAddress(text string, at int) bool {
	switch text[at] {
	case ':':
		return strings.HasPrefix(text[at:], "://")
	case 'w':
		return strings.HasPrefix(text[at:], "www.") && (at == 0 || !isWordByte(text[at-1]))
	}
	domain := text[at+1 : addressAround(text, at)[1]]
	return at > 0 && isWordByte(text[at-1]) && strings.Contains(strings.TrimRight(domain, "."), ".")
}

// addressAround returns the range of the address around an offset.
func addressAround(text string, at int) wire.Span {
	start, end := at, at
	for start > 0 && (isWordByte(text[start-1]) || text[at] == '@' && strings.IndexByte("._+-", text[start-1]) >= 0) {
		start--
	}
	for end < len(text) && !isSpace(text[end]) && text[end] != '<' {
		end++
	}
	return wire.Span{start, end}
}
