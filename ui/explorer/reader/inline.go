package reader

import (
	"html"
	"iter"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quarry/client"
	"quarry/ui/explorer/paint"
)

// inline prepares the text of one block for Glamour: it adds notes with the places in the source, and rewrites nodes that
// Glamour renders badly.
type inline struct {
	*renderer
	breaks lineBreaks
	cell   bool // in a cell of a table
	code   bool // in a code span
	twice  bool // in a code span in which Glamour resolves escapes
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
		in.text(n)
	case *ast.CodeSpan:
		in.code = true
		switch parent.Kind() {
		case ast.KindLink, extast.KindTableCell, extast.KindStrikethrough:
			in.twice = true
		}
		in.children(n)
	case *ast.Link:
		in.children(n)
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

// made returns a text that does not come from the source.
func (r *renderer) made(s string) *ast.Text { return ast.NewTextSegment(r.segment(s)) }

func (r *renderer) segment(s string) text.Segment {
	start := len(r.source)
	r.source = append(r.source, s...)
	return text.NewSegment(start, len(r.source))
}

func literal(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "&", "&amp;"), `\`, `\\`)
}

// text puts a text with notes in the place of one of the source.
func (in inline) text(n *ast.Text) {
	var out strings.Builder
	out.WriteString(strings.Repeat(" ", n.Segment.Padding))
	in.write(&out, n.Segment.Start, n.Segment.Stop)
	switch {
	case !n.SoftLineBreak() && !n.HardLineBreak():
	case !in.code && (n.HardLineBreak() || in.breaks.kept(in.source[:in.length], n.Segment.Stop)):
		out.WriteString(in.lineEnd())
	default:
		out.WriteByte(' ')
	}
	n.SetSoftLineBreak(false)
	n.SetHardLineBreak(false)
	n.Segment = in.segment(out.String())
}

func (in inline) lineEnd() string {
	if in.cell {
		return "\n"
	}
	return note(newLine, 0)
}

// write writes a part of the source, with notes where a run of it begins.
func (in inline) write(out *strings.Builder, from, to int) {
	s := string(in.source[from:to])
	if in.code {
		in.run(out, from, strings.ReplaceAll(s, "\n", " "))
		return
	}
	for at, shown := range unescaped(s) {
		in.run(out, from+at, shown)
	}
}

// run writes a text that begins at a byte of the source. In a table its end is noted too: what follows is a border.
func (in inline) run(out *strings.Builder, at int, s string) {
	out.WriteString(note(sourceText, at) + in.literal(s))
	if in.cell {
		out.WriteString(note(madeUpText, 0))
	}
}

// literal writes a text such that Glamour prints it as it is: Glamour resolves references in all texts, and escapes in
// most.
func (in inline) literal(s string) string {
	if in.code && !in.twice {
		return strings.ReplaceAll(s, "&", "&amp;")
	}
	return literal(s)
}

// maxReference is more than any character reference needs, in bytes.
const maxReference = 40

// unescaped yields the runs of a Markdown text with the offsets where they begin, escapes and references to characters
// resolved. References to characters that must not be shown resolve to nothing.
func unescaped(s string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		start, at := 0, 0
		for at < len(s) {
			resolved, size := "", 0
			switch s[at] {
			case '\\':
				if at+1 < len(s) && util.IsPunct(s[at+1]) {
					resolved, size = s[at+1:at+2], 2
				}
			case '&':
				resolved, size = reference(s[at:])
			}
			if size == 0 {
				at++
				continue
			}
			if start < at && !yield(start, s[start:at]) || !yield(at+size-len(resolved), resolved) {
				return
			}
			at += size
			start = at
		}
		if start < at {
			yield(start, s[start:])
		}
	}
}

// reference reads the reference to a character that a text begins with, like "&amp;". size is 0 if there is none.
func reference(s string) (resolved string, size int) {
	size = strings.IndexByte(s[:min(len(s), maxReference)], ';') + 1
	if size == 0 || strings.ContainsFunc(s[1:size-1], func(r rune) bool { return r != '#' && !isLetter(r) }) {
		return "", 0
	}
	resolved = html.UnescapeString(s[:size])
	if resolved == s[:size] {
		return "", 0
	}
	return strings.ReplaceAll(paint.Text(client.Sanitize(resolved)), "\n", " "), size
}

// noAddress is a link destination that Glamour does not print.
const noAddress = "#"

// linked makes the text of a link one that can be clicked, if its address may be opened; the address is not printed.
func (in inline) linked(link *ast.Link, address string) {
	if !link.HasChildren() {
		link.AppendChild(link, in.made(note(madeUpText, 0)+literal(shortLink(paint.Line(client.Sanitize(address)), maxLinkWidth))))
	}
	link.Destination, link.Title = []byte(noAddress), nil
	if isFile(address) && !in.unit.files {
		return
	}
	const shown = "\n" // not in any address
	begin, end, openable := strings.Cut(paint.Hyperlink(address, shown), shown)
	if openable && begin != "" {
		link.InsertBefore(link, link.FirstChild(), in.made(literal(begin)))
		link.AppendChild(link, in.made(literal(end)))
	}
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

// image shows the name of an image.
func (in inline) image(parent ast.Node, n *ast.Image) {
	address := string(n.Destination)
	link := ast.NewLink()
	parent.ReplaceChild(parent, n, link)
	link.AppendChild(link, in.made(note(madeUpText, 0)+"image: "))
	in.children(n)
	moveChildren(link, n)
	if link.FirstChild() == link.LastChild() {
		name := address[strings.LastIndexByte(address, '/')+1:]
		link.AppendChild(link, in.made(literal(paint.Line(client.Sanitize(name)))))
	}
	in.linked(link, address)
}
