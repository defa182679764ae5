package reader

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"quarry/client"
	"quarry/ui/explorer/paint"
)

// inline is the preparation of one block for glamour: highlights, links and places of the source become signals, and what
// glamour would print badly is written anew. Texts are split, never moved; the structure of the document is that which
// was parsed without any of this.
type inline struct {
	*renderer
	breaks lineBreaks
	link   bool // in the text of a link
	code   bool // in code
}

// prepare prepares the children of a block.
func (r *renderer) prepare(node ast.Node) {
	in := inline{renderer: r}
	if node.Kind() == ast.KindParagraph {
		in.breaks = breaksOf(node, r.source)
	}
	in.children(node)
}

func (in inline) children(parent ast.Node) {
	for node := parent.FirstChild(); node != nil; {
		following := node.NextSibling()
		in.node(parent, node)
		node = following
	}
}

func (in inline) node(parent, node ast.Node) {
	switch n := node.(type) {
	case *ast.Text:
		in.text(parent, n)
	case *ast.CodeSpan:
		in.code = true
		in.children(n)
	case *ast.Link:
		in.linked(n, string(n.Destination))
	case *ast.AutoLink:
		in.autoLink(parent, n)
	case *ast.Image:
		in.image(parent, n)
	case *ast.RawHTML:
		in.tag(parent, n)
	default:
		in.children(n)
	}
}

// made gives a text that stands nowhere in the source.
func (r *renderer) made(s string) *ast.Text {
	start := len(r.source)
	r.source = append(r.source, s...)
	return ast.NewTextSegment(text.NewSegment(start, len(r.source)))
}

// escaped is made for a text that glamour must print as it is: glamour resolves references and escapes in all texts.
func (r *renderer) escaped(s string) *ast.Text {
	return r.made(strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), `\`, `\\`))
}

func (r *renderer) signal(kind signalKind, value int) *ast.Text {
	return r.made(r.signals.add(signal{kind: kind, value: value}))
}

// text puts pieces in the place of a text, with signals between them.
func (in inline) text(parent ast.Node, n *ast.Text) {
	from, to := n.Segment.Start, n.Segment.Stop
	insert := func(node ast.Node) { parent.InsertBefore(parent, n, node) }
	insert(in.signal(anchor, from))
	if n.Segment.Padding > 0 {
		insert(in.made(strings.Repeat(" ", n.Segment.Padding)))
	}
	at := from
	for i := in.firstSpan(from); i < len(in.spans) && in.spans[i][0] < to; i++ {
		start, end := max(from, in.spans[i][0]), min(to, in.spans[i][1])
		if start >= end || in.splits(from, to, start) || in.splits(from, to, end) {
			continue
		}
		in.insertText(insert, at, start)
		insert(in.signal(spanBegin, i))
		in.insertText(insert, start, end)
		insert(in.signal(spanEnd, 0))
		at = end
	}
	in.insertText(insert, at, to)
	if n.SoftLineBreak() || n.HardLineBreak() {
		if !in.code && (n.HardLineBreak() || in.breaks.kept(in.source[:in.length], to)) {
			insert(in.made("\n"))
		} else {
			insert(in.made(" "))
		}
	}
	parent.RemoveChild(parent, n)
}

// firstSpan is the first highlight that ends after a byte of the text.
func (r *renderer) firstSpan(from int) int {
	low, high := 0, len(r.spans)
	for low < high {
		if middle := (low + high) / 2; r.spans[middle][1] <= from {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// splits tells whether a place of the source lies inside an escape or a reference, which must stay whole. from and to are
// the ends of the text that it lies in.
func (in inline) splits(from, to, at int) bool {
	if in.code || at <= from || at >= to {
		return false
	}
	backslashes := 0
	for i := at - 1; i >= from && in.source[i] == '\\'; i-- {
		backslashes++
	}
	if backslashes%2 == 1 {
		return true
	}
	before := string(in.source[max(from, at-longestReference):at])
	ampersand := strings.LastIndexByte(before, '&')
	if ampersand < 0 || strings.ContainsAny(before[ampersand:], "; ") {
		return false
	}
	after := string(in.source[at:min(to, at+longestReference)])
	return strings.ContainsRune(after, ';')
}

// insertText inserts a part of the source, or where glamour would print something else, what gives the same text.
func (in inline) insertText(insert func(ast.Node), from, to int) {
	if from >= to {
		return
	}
	s := string(in.source[from:to])
	switch {
	case in.code:
		s = strings.ReplaceAll(s, "\n", " ")
		s = strings.ReplaceAll(s, "&", "&amp;")
		if in.link {
			s = strings.ReplaceAll(s, `\`, `\\`)
		}
		insert(in.made(s))
		return
	case strings.ContainsAny(s, `&\`):
		insert(in.escaped(resolved(s)))
		return
	}
	insert(ast.NewTextSegment(text.NewSegment(from, to)))
}

// resolved is a text of Markdown with its escapes and references resolved. What a reference must not bring in goes.
func resolved(s string) string {
	var out strings.Builder
	for at := 0; at < len(s); {
		switch c := s[at]; {
		case c == '\\' && at+1 < len(s) && isPunctuation(s[at+1]):
			out.WriteByte(s[at+1])
			at += 2
		case c == '&':
			size := referenceSize(s[at:])
			shown := html.UnescapeString(s[at : at+size])
			if size > 1 {
				shown = strings.ReplaceAll(paint.Text(client.Sanitize(shown)), "\n", " ")
			}
			out.WriteString(shown)
			at += size
		default:
			out.WriteByte(c)
			at++
		}
	}
	return out.String()
}

func isPunctuation(c byte) bool {
	return c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

// longestReference is more than any reference to a character needs, in bytes.
const longestReference = 40

// referenceSize is the length of the reference to a character that a text begins with, like "&amp;"; 1 if it is none.
func referenceSize(s string) int {
	for at := 1; at < len(s) && at < longestReference; at++ {
		switch c := s[at]; {
		case c == ';' && at > 1:
			return at + 1
		case c == '#' && at == 1, c < utf8.RuneSelf && isLetter(rune(c)):
		default:
			return 1
		}
	}
	return 1
}

// nowhere is a link destination for which glamour prints the text of the link alone.
const nowhere = "#"

// linked makes the text of a link one that can be clicked; the address is not printed.
func (in inline) linked(link *ast.Link, address string) {
	if link.FirstChild() == nil {
		link.AppendChild(link, in.escaped(shortLink(paint.Line(client.Sanitize(address)), longestLink)))
	} else {
		in.link = true
		in.children(link)
	}
	link.Destination, link.Title = []byte(nowhere), nil
	begin := in.beginLink(address)
	if begin == "" {
		return
	}
	link.InsertBefore(link, link.FirstChild(), in.made(in.signals.add(signal{kind: linkBegin, link: begin})))
	link.AppendChild(link, in.signal(linkEnd, 0))
}

// beginLink is what begins a link to an address; empty for one that may not be opened.
func (r *renderer) beginLink(address string) string {
	if !r.files && isFile(address) {
		return ""
	}
	return beginLink(address)
}

// autoLink shortens a bare link.
func (in inline) autoLink(parent ast.Node, n *ast.AutoLink) {
	address := string(n.URL(in.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	link := ast.NewLink()
	parent.ReplaceChild(parent, n, link)
	in.linked(link, address)
}

// image shows what an image is called.
func (in inline) image(parent ast.Node, n *ast.Image) {
	link := ast.NewLink()
	address := string(n.Destination)
	parent.ReplaceChild(parent, n, link)
	link.AppendChild(link, in.made("image: "))
	moveChildren(link, n)
	if link.ChildCount() == 1 {
		link.AppendChild(link, in.escaped(paint.Line(client.Sanitize(address[strings.LastIndexByte(address, '/')+1:]))))
		in.escapedChildren(link, address)
		return
	}
	in.linked(link, address)
}

// escapedChildren is linked for a text that was made up.
func (in inline) escapedChildren(link *ast.Link, address string) {
	link.Destination = []byte(nowhere)
	if begin := in.beginLink(address); begin != "" {
		link.InsertBefore(link, link.FirstChild(), in.made(in.signals.add(signal{kind: linkBegin, link: begin})))
		link.AppendChild(link, in.signal(linkEnd, 0))
	}
}
