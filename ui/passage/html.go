package passage

import (
	"html"
	"strings"
	"unicode"

	"quarry/client"
)

// Tag reads the HTML tag or comment that a text begins with. shown takes its place: a line end if it begins or ends a
// block, a space between cells, or nothing. length is 0 if there is none. Names in angle brackets that are no HTML
// tags, as in usage lines, are text.
func Tag(text string) (shown string, length int) {
	if !strings.HasPrefix(text, "<") {
		return "", 0
	}
	text = text[:min(len(text), targetReach)]
	if strings.HasPrefix(text, "<!--") {
		if end := strings.Index(text, "-->"); end >= 0 {
			return "", end + len("-->")
		}
		return "", len(text)
	}
	end := strings.IndexByte(text, '>')
	if end < 0 {
		return "", 0
	}
	inside := text[1:end]
	if strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "?") {
		return "", end + 1
	}
	name := strings.TrimPrefix(strings.TrimSpace(inside), "/")
	if other := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); other >= 0 {
		name = name[:other]
	}
	switch strings.ToLower(name) {
	case "br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "summary", "ul", "ol", "table", "dt", "dd", "pre":
		return "\n", end + 1
	case "td", "th":
		return " ", end + 1
	case "a", "abbr", "article", "aside", "audio", "b", "bdi", "bdo", "blockquote", "body", "button", "caption", "center", "cite",
		"code", "col", "colgroup", "del", "details", "dfn", "dl", "em", "figcaption", "figure", "font", "footer", "form", "head",
		"header", "html", "i", "iframe", "img", "input", "ins", "kbd", "label", "link", "main", "mark", "meta", "nav", "picture",
		"q", "s", "samp", "script", "section", "small", "source", "span", "strike", "strong", "style", "sub", "sup", "svg", "tbody",
		"tfoot", "thead", "title", "tt", "u", "var", "video", "wbr":
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
