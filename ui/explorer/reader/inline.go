package reader

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quarry/client"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// inline prepares the text of one block for Glamour: it adds notes with the places in the source, and rewrites nodes
// that Glamour renders badly.
type inline struct {
	*renderer
	breaks lineBreaks
	cell   bool // in a cell of a table
	code   bool // in a code span
	linked bool // in a link
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
		text, inside := in.textOf(n), in
		inside.linked = true
		inside.children(n)
		in.link(n, text, string(n.Destination))
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

// noteMarks parses the marks of notes that Markdown does not have, such as [[page|label]], as the text that they show.
type noteMarks struct{}

func (noteMarks) Trigger() []byte { return []byte{'[', '!', '=', '^', '%'} }

func (noteMarks) Parse(parent ast.Node, block text.Reader, context parser.Context) ast.Node {
	line, segment := block.PeekLine()
	quote, lines := parent.Parent(), parent.Lines()
	isQuote := quote != nil && quote.Kind() == ast.KindBlockquote
	from, to, length := passage.NoteMark(string(line), isQuote && lines.Len() > 0 && lines.At(0).Start == segment.Start)
	if before := block.PrecendingCharacter(); length == 0 ||
		line[0] == '%' && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
		return nil
	}
	if _, isLink := context.Reference(util.ToLinkReference(line[from:to])); isLink { // a footnote that is an address
		return nil
	}
	block.Advance(length)
	return ast.NewTextSegment(text.NewSegment(segment.Start+from, segment.Start+to))
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
	for at, shown := range unescaped(s, true) {
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

// unescaped yields the runs of a text with the offsets where they begin, references to characters resolved, and
// Markdown's escapes. References to characters that must not be shown resolve to nothing.
func unescaped(s string, escapes bool) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		start, at := 0, 0
		for at < len(s) {
			resolved, size := "", 0
			switch s[at] {
			case '\\':
				if escapes && at+1 < len(s) && util.IsPunct(s[at+1]) {
					resolved, size = s[at+1:at+2], 2
				}
			case '&':
				resolved, size = passage.Entity(s[at:])
				resolved = strings.ReplaceAll(paint.Text(resolved), "\n", " ")
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

// noAddress is a link destination that Glamour does not print.
const noAddress = "#"

// link makes the text of a link one that can be clicked, with a number behind it, if its address may be opened; the
// address is not printed. Other links, and those within links, become text.
func (in inline) link(link *ast.Link, text, target string) {
	if !link.HasChildren() {
		text = shortLink(paint.Line(client.Sanitize(target)), maxLinkWidth)
		link.AppendChild(link, in.made(note(madeUpText, 0)+literal(text)))
	}
	link.Destination, link.Title = []byte(noAddress), nil
	address, openable := in.unit.resolve(target)
	if !openable || in.linked {
		dissolve(link)
		return
	}
	const shown = "\n" // not in any address
	if begin, end, clickable := strings.Cut(paint.Hyperlink(address, shown), shown); clickable && begin != "" {
		link.InsertBefore(link, link.FirstChild(), in.made(literal(begin)))
		link.AppendChild(link, in.made(literal(end)))
	}
	in.numbered(link, text, address)
}

// autoLink shortens a bare link.
func (in inline) autoLink(parent ast.Node, n *ast.AutoLink) {
	address := string(n.URL(in.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	link := ast.NewLink()
	parent.ReplaceChild(parent, n, link)
	in.link(link, "", address)
}

// image shows the name of an image.
func (in inline) image(parent ast.Node, n *ast.Image) {
	address, name := string(n.Destination), in.textOf(n)
	link := ast.NewLink()
	parent.ReplaceChild(parent, n, link)
	link.AppendChild(link, in.made(note(madeUpText, 0)+imageSign))
	in.children(n)
	moveChildren(link, n)
	if link.FirstChild() == link.LastChild() {
		name = paint.Line(client.Sanitize(address[strings.LastIndexByte(address, '/')+1:]))
		link.AppendChild(link, in.made(literal(name)))
	}
	in.link(link, imageSign+name, address)
}

const imageSign = "▣ "

// maxLinkWidth is the width of a bare link in running text, in columns.
const maxLinkWidth = 48

// ShortLink returns the address of a link in a few words, for a list.
func ShortLink(address string) string { return shortLink(clean(address), maxLinkWidth) }

// shortLink shortens a link to about room columns: without its scheme, and if it is too long, the host and as much of
// the end as fits. For a file it is the path.
func shortLink(link string, room int) string {
	shown := link
	if isFile(link) {
		shown = filePath(link)
	}
	for _, scheme := range []string{"https://", "http://", "mailto:"} {
		if rest, found := strings.CutPrefix(shown, scheme); found {
			shown = rest
			break
		}
	}
	shown = strings.TrimSuffix(strings.TrimPrefix(shown, "www."), "/")
	if paint.Width(shown) <= room {
		return shown
	}
	host, path, found := strings.Cut(shown, "/")
	if !found {
		return shown
	}
	front := host + "/…"
	short := front
	if host == "" { // a path of this machine; "/…" would be no path
		front = "…"
		short = front + path[max(0, strings.LastIndexByte(path, '/')):]
	}
	for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
		longer := front + path[at:]
		if path[at:] == "/" || paint.Width(longer) > room {
			break
		}
		short = longer
	}
	return short
}

// filePath returns the path in a link to a file, without the fragment.
func filePath(link string) string {
	path, _, _ := strings.Cut(link[len(fileScheme):], "#")
	path = strings.TrimPrefix(path, "//")
	if read, err := url.PathUnescape(path); err == nil {
		path = clean(read)
	}
	return path
}

const fileScheme = "file:"

func isFile(address string) bool {
	return len(address) >= len(fileScheme) && strings.EqualFold(address[:len(fileScheme)], fileScheme)
}

// Notes are invisible characters of no width that Glamour carries along with the text around them. client.Sanitize and
// paint.Text remove these characters from foreign text. A note is a begin, a number in binary and an end.
const (
	noteBegin = "\u2063"
	noteZero  = '\u2061' // the next one is for 1
	noteEnd   = "\u2064"
)

type noteKind int

const (
	sourceText noteKind = iota // the text after the note starts at byte value of the source
	madeUpText                 // the text after the note is not in the source
	startBlock                 // the text of a block starts, after a blank line if value is 1
	newLine                    // a line starts, after a blank line if value is 1
	placeBlock                 // block number value goes here
	underline                  // a line below the text before it
	linkNumber                 // the text after the note is the number of link value
	noteKinds
)

func isNote(r rune) bool { return r >= 0x2061 && r <= 0x2064 }

func note(kind noteKind, value int) string {
	number := strconv.FormatInt(int64(value)*int64(noteKinds)+int64(kind), 2)
	return noteBegin + strings.Map(func(digit rune) rune { return digit - '0' + noteZero }, number) + noteEnd
}

// readNote reads the note that a text begins with. size is 0 if there is none.
func readNote(s string) (kind noteKind, value, size int) {
	rest, begins := strings.CutPrefix(s, noteBegin)
	if !begins { // as most texts, which are not read on
		return 0, 0, 0
	}
	written, _, ends := strings.Cut(rest[:min(len(rest), 64*len(noteEnd))], noteEnd)
	digits := strings.Map(func(r rune) rune { return max(0, r-noteZero+'0') }, written)
	number, err := strconv.ParseInt(digits, 2, 0)
	if !ends || err != nil {
		return 0, 0, 0
	}
	return noteKind(number) % noteKinds, int(number) / int(noteKinds), len(noteBegin) + len(written) + len(noteEnd)
}

func flag(on bool) int {
	if on {
		return 1
	}
	return 0
}

// html returns the text in a block of HTML.
func (r *renderer) html(n *ast.HTMLBlock) string {
	segments, raw := n.Lines().Sliced(0, n.Lines().Len()), n.Lines().Value(r.source)
	if n.HasClosure() {
		segments = append(slices.Clip(segments), n.ClosureLine)
		raw = append(raw, n.ClosureLine.Value(r.source)...)
	}
	text := withoutTags(string(raw))
	var shown []string
	var line strings.Builder
	endLine := func() {
		if line.Len() > 0 {
			shown = append(shown, line.String())
		}
		line.Reset()
	}
	for _, segment := range segments {
		size := segment.Padding + segment.Stop - segment.Start
		start := segment.Start - segment.Padding
		for at, part := range runs(text[:size]) {
			if part == "\n" {
				endLine()
				continue
			}
			if line.Len() == 0 {
				indented := len(part)
				part = strings.TrimLeft(part, " \t")
				at += indented - len(part)
			}
			for within, resolved := range unescaped(part, false) {
				inline{renderer: r}.run(&line, start+at+within, resolved)
			}
		}
		text = text[size:]
	}
	endLine()
	return strings.Join(shown, note(newLine, 0))
}

// runs yields the line ends and the text between the zero bytes of a text, with their offsets.
func runs(text string) func(yield func(at int, run string) bool) {
	return func(yield func(int, string) bool) {
		for at := 0; at < len(text); {
			end := at + 1
			switch {
			case text[at] == 0:
				at++
				continue
			case text[at] != '\n':
				for end < len(text) && text[end] != 0 && text[end] != '\n' {
					end++
				}
			}
			if !yield(at, text[at:end]) {
				return
			}
			at = end
		}
	}
}

// withoutTags returns a text of the same length, with what takes the place of HTML tags and comments, and zero bytes.
func withoutTags(s string) string {
	masked := []byte(s)
	for at := 0; at < len(s); at++ {
		shown, length := passage.Tag(s[at:])
		if length == 0 {
			continue
		}
		clear(masked[at : at+length])
		copy(masked[at:], shown)
		at += length - 1
	}
	return string(masked)
}

// tag replaces an inline tag by its text.
func (in inline) tag(parent ast.Node, n *ast.RawHTML) {
	raw := n.Segments.Value(in.source)
	var shown strings.Builder
	if text, length := passage.Tag(string(raw)); length == len(raw) {
		shown.WriteString(strings.ReplaceAll(text, "\n", in.lineEnd()))
	} else {
		in.run(&shown, n.Segments.At(0).Start, strings.ReplaceAll(string(raw), "\n", " "))
	}
	parent.ReplaceChild(parent, n, in.made(shown.String()))
}
