package reader

import (
	"html"
	"strings"

	"github.com/yuin/goldmark/ast"

	"quarry/client"
	"quarry/ui/explorer/paint"
)

// html returns the text in a block of HTML.
func (r *renderer) html(n *ast.HTMLBlock) string {
	raw := string(n.Lines().Value(r.source))
	if n.HasClosure() {
		raw += string(n.ClosureLine.Value(r.source))
	}
	text := paint.Text(client.Sanitize(html.UnescapeString(withoutTags(raw))))
	var shown []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			shown = append(shown, literal(line))
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return note(sourceText, n.Lines().At(0).Start) + strings.Join(shown, note(newLine, 0))
}

// withoutTags removes comments and HTML tags from a text. Tags that end a line become line ends. Other text in angle
// brackets stays.
func withoutTags(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if after, isComment := strings.CutPrefix(rest, "!--"); isComment {
			_, s, _ = strings.Cut(after, "-->")
			continue
		}
		inside, after, closed := strings.Cut(rest, ">")
		if !closed || !isTag(inside) {
			out.WriteByte('<')
			s = rest
			continue
		}
		out.WriteString(tagText(inside))
		s = after
	}
}

// tag replaces an inline tag by its text. Names in angle brackets that are no HTML tags, as in usage lines, stay.
func (in inline) tag(parent ast.Node, n *ast.RawHTML) {
	var raw []byte
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		raw = append(raw, segment.Value(in.source)...)
	}
	inside := strings.TrimSuffix(strings.TrimPrefix(string(raw), "<"), ">")
	var shown strings.Builder
	switch {
	case strings.HasPrefix(inside, "!--"):
	case isTag(inside):
		shown.WriteString(strings.ReplaceAll(tagText(inside), "\n", in.lineEnd()))
	default:
		in.run(&shown, n.Segments.At(0).Start, strings.ReplaceAll(string(raw), "\n", " "))
	}
	parent.ReplaceChild(parent, n, in.made(shown.String()))
}

// tagName returns the name in a tag, in lower case.
func tagName(inside string) string {
	name := strings.TrimPrefix(strings.TrimSpace(inside), "/")
	if end := strings.IndexFunc(name, func(r rune) bool { return !isLetter(r) }); end >= 0 {
		name = name[:end]
	}
	return strings.ToLower(name)
}

// isTag reports whether the text between angle brackets is an HTML tag that occurs in documents.
func isTag(inside string) bool {
	if strings.HasPrefix(inside, "!") || strings.HasPrefix(inside, "?") {
		return true
	}
	switch tagName(inside) {
	case "a", "abbr", "article", "aside", "audio", "b", "bdi", "bdo", "blockquote", "body", "br", "button", "caption", "center",
		"cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "font",
		"footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "i", "iframe", "img", "input", "ins",
		"kbd", "label", "li", "link", "main", "mark", "meta", "nav", "ol", "p", "picture", "pre", "q", "s", "samp", "script",
		"section", "small", "source", "span", "strike", "strong", "style", "sub", "summary", "sup", "svg", "table", "tbody", "td",
		"tfoot", "th", "thead", "title", "tr", "tt", "u", "ul", "var", "video", "wbr":
		return true
	}
	return false
}

// tagText returns the text that replaces a tag: a line end if it begins or ends a block.
func tagText(inside string) string {
	switch tagName(inside) {
	case "br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "summary", "ul", "ol", "table", "dt", "dd", "pre":
		return "\n"
	case "td", "th":
		return " "
	}
	return ""
}
