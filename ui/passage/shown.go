package passage

import (
	"html"
	"slices"
	"strings"
	"unicode"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
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
func beginsAddress(source string, at int) bool {
	switch source[at] {
	case ':':
		return strings.HasPrefix(source[at:], "://")
	case 'w':
		return strings.HasPrefix(source[at:], "www.") && (at == 0 || !text.IsWordByte(source[at-1]))
	}
	domain := source[at+1 : addressAround(source, at)[1]]
	return at > 0 && text.IsWordByte(source[at-1]) && strings.Contains(strings.TrimRight(domain, "."), ".")
}

// addressAround returns the range of the address around an offset.
func addressAround(source string, at int) wire.Span {
	start, end := at, at
	for start > 0 && (text.IsWordByte(source[start-1]) ||
		source[at] == '@' && strings.IndexByte("._+-", source[start-1]) >= 0) {
		start--
	}
	for end < len(source) && !isSpace(source[end]) && source[end] != '<' {
		end++
	}
	return wire.Span{start, end}
}

// inlineTags are the names of HTML tags in place of which nothing is shown.
const inlineTags = "a abbr article aside audio b bdi bdo blockquote body button caption center cite code col " +
	"colgroup del details dfn dl em figcaption figure font footer form head header html i iframe img input ins kbd " +
	"label link main mark meta nav picture q s samp script section small source span strike strong style sub sup svg " +
	"tbody tfoot thead title tt u var video wbr"

// Tag reads the HTML tag or comment that a text begins with. shown takes its place: a line end if it begins or ends a
// block, a space between cells, or nothing. length is 0 if there is none. Names in angle brackets that are no HTML
// tags, as in usage lines, are text. Of a tag whose end was cut off the attributes are left out, too.
func Tag(source string) (shown string, length int) {
	if !strings.HasPrefix(source, "<") {
		return "", 0
	}
	source = source[:min(len(source), targetReach)]
	if strings.HasPrefix(source, "<!--") {
		if end := strings.Index(source, "-->"); end >= 0 {
			return "", end + len("-->")
		}
		return "", len(source)
	}
	end := strings.IndexByte(source, '>')
	if end < 0 && !strings.Contains(source, `="`) {
		return "", 0
	}
	if end < 0 { // the end was cut off
		end = len(source) - 1
	}
	inside := source[1:end]
	if strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "?") {
		return "", end + 1
	}
	name := strings.TrimPrefix(strings.TrimSpace(inside), "/")
	if other := strings.IndexFunc(name, func(r rune) bool { return !isLetter(r) }); other >= 0 {
		name = name[:other]
	}
	switch name = strings.ToLower(name); {
	case text.IsAmong(name, "br p div li tr h1 h2 h3 h4 h5 h6 hr summary ul ol table dt dd pre"):
		return "\n", end + 1
	case text.IsAmong(name, "td th"):
		return " ", end + 1
	case text.IsAmong(name, inlineTags):
		return "", end + 1
	}
	return "", 0
}

// Entity reads the reference to a character that a text begins with, like "&amp;"; size is 0 if there is none. One
// that must not be shown resolves to nothing.
func Entity(text string) (resolved string, size int) {
	const longest = 40 // bytes: more than any needs
	size = strings.IndexByte(text[:min(len(text), longest)], ';') + 1
	if size == 0 || strings.ContainsFunc(text[1:size-1], func(r rune) bool { return r != '#' && !isLetter(r) }) {
		return "", 0
	}
	resolved = html.UnescapeString(text[:size])
	if resolved == text[:size] {
		return "", 0
	}
	return client.Sanitize(resolved), size
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// tag reads an HTML tag, which may end on another line, and leaves it out.
func (p *plainer) tag(at int) (leftOut bool, width int) {
	shown, width := Tag(p.source[at:])
	if width == 0 {
		return false, 1
	}
	if p.hidden = at + width; shown != "" {
		p.separate(betweenItems)
	}
	return true, width
}
