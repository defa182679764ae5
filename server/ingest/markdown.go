package ingest

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quarry/internal/pattern"
)

// blockKind decides where a block may be cut.
type blockKind uint8

const (
	kindProse     blockKind = iota // at sentences
	kindLines                      // after lines
	kindContainer                  // between its children
	kindTable                      // after rows, with a repeated header
	kindCode                       // after lines, with a repeated fence
	kindHeading                    // starts a section
)

// block is a piece of the source. Siblings are adjacent and children fill their parent, so that joined blocks are the
// document.
type block struct {
	Kind       blockKind
	Start, End int // bytes of the source
	Children   []block

	Level int    // of a heading, 1 to 6
	Title string // of a heading, without markup
	Slug  string // of a heading, if the author set one
	Body  int    // start of a table's rows or of the first line of code
}

const (
	// windowSize is the amount of Markdown parsed at once. It bounds the memory of the syntax tree and the time for
	// hostile nesting.
	windowSize = 256 << 10
	// deepestNesting bounds nested lists and quotes.
	deepestNesting = 24
	// longestHeading bounds a heading's text, in bytes.
	longestHeading = 300
	// largeSource is the size, in bytes, from which blocks and lines shorter than shortestPiece are joined with their
	// neighbours: a document of many tiny ones would take a hundred times its size.
	largeSource   = 1 << 20
	shortestPiece = 256
)

// markdownReader splits Markdown into blocks. It is not safe for concurrent use.
type markdownReader struct {
	blocks parser.Parser // without inline syntax, link definitions and tables
	inline parser.Parser
}

func newMarkdownReader() *markdownReader {
	return &markdownReader{
		// Tables are parsed here. Goldmark's extension creates a node for every missing cell: a wide header over many
		// short rows would exhaust the memory.
		blocks: parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithParagraphTransformers(util.Prioritized(rawParagraphs{}, 1)),
		),
		inline: parser.NewParser(
			parser.WithBlockParsers(parser.DefaultBlockParsers()...),
			parser.WithInlineParsers(parser.DefaultInlineParsers()...),
		),
	}
}

// rawParagraph is a paragraph whose inline syntax is not parsed.
type rawParagraph struct{ ast.BaseBlock }

var kindRawParagraph = ast.NewNodeKind("RawParagraph")

func (*rawParagraph) Kind() ast.NodeKind              { return kindRawParagraph }
func (*rawParagraph) IsRaw() bool                     { return true }
func (n *rawParagraph) Dump(source []byte, level int) { ast.DumpHelper(n, source, level, nil, nil) }

// rawParagraphs skips inline parsing, half of the time of parsing.
type rawParagraphs struct{}

func (rawParagraphs) Transform(node *ast.Paragraph, reader text.Reader, _ parser.Context) {
	// Before an underline the paragraph may become a heading, which needs it unchanged.
	if line, _ := reader.PeekLine(); line != nil && len(bytes.Trim(line, "=-\n \t")) == 0 {
		return
	}
	if parent := node.Parent(); parent != nil && node.Lines().Len() > 0 {
		raw := &rawParagraph{}
		raw.SetLines(node.Lines())
		raw.SetPos(node.Pos())
		parent.ReplaceChild(parent, node, raw)
	}
}

// parse returns the top-level blocks of source, which cover all of it. A window whose last block may continue in the
// next one ends before that block.
func (m *markdownReader) parse(source string) []block {
	var blocks []block
	for start := 0; start < len(source); {
		end := windowEnd(source, start)
		window := source[start:end]
		var parsed []block
		if tooDeep(window) {
			parsed = paragraphs(window, 0, kindProse)
		} else {
			parsed = m.siblings(m.blocks.Parse(text.NewReader([]byte(window))), []byte(window), 0, len(window))
		}
		last := len(parsed) - 1
		switch isLong := last >= 0 && parsed[last].Start <= windowSize/8; {
		case end == len(source) || last < 0:
		case isLong && parsed[last].Kind == kindTable:
			for end < len(source) && source[end] == '|' { // its other rows belong to the same header
				end = lineEnd(source, end)
			}
			parsed[last].End = end - start
		case !isLong && last > 0:
			end = start + parsed[last].Start
			parsed = parsed[:last]
		}
		shift(parsed, start)
		if len(source) >= largeSource {
			parsed = joined(parsed, len(blocks))
		}
		blocks = append(blocks, parsed...)
		start = end
	}
	return blocks
}

// joined joins short blocks. After mostHeadings blocks, headings are short blocks, too.
func joined(blocks []block, before int) []block {
	var kept []block
	for _, b := range blocks {
		last := len(kept) - 1
		b.Children = joined(b.Children, 0)
		if b.Kind == kindHeading && before+len(kept) >= mostHeadings {
			b = block{Kind: kindProse, Start: b.Start, End: b.End}
		}
		if last >= 0 && b.Kind != kindHeading && kept[last].Kind != kindHeading &&
			b.End-kept[last].Start <= shortestPiece {
			kept[last] = block{Kind: kindProse, Start: kept[last].Start, End: b.End}
		} else {
			kept = append(kept, b)
		}
	}
	return slices.Clip(kept)
}

func shift(blocks []block, by int) {
	for i := range blocks {
		b := &blocks[i]
		b.Start, b.End, b.Body = b.Start+by, b.End+by, b.Body+by
		shift(b.Children, by)
	}
}

// siblings converts the children of a node to blocks that fill start to end.
func (m *markdownReader) siblings(parent ast.Node, source []byte, start, end int) []block {
	var nodes []ast.Node
	var starts []int
	last := start
	for node := parent.FirstChild(); node != nil; node = node.NextSibling() {
		if node.Type() != ast.TypeBlock || node.Pos() < 0 {
			continue
		}
		at := bytes.LastIndexByte(source[:min(node.Pos(), len(source))], '\n') + 1
		if len(nodes) == 0 {
			at = start
		}
		if at < last || at > end || (len(nodes) > 0 && at == last) {
			continue // on the same line as the block before
		}
		nodes, starts, last = append(nodes, node), append(starts, at), at
	}
	blocks := make([]block, len(nodes))
	for i, node := range nodes {
		stop := end
		if i+1 < len(nodes) {
			stop = starts[i+1]
		}
		blocks[i] = m.block(node, source, starts[i], stop)
	}
	return blocks
}

func (m *markdownReader) block(node ast.Node, source []byte, start, end int) block {
	b := block{Kind: kindProse, Start: start, End: end}
	switch node := node.(type) {
	case *ast.Heading:
		if _, top := node.Parent().(*ast.Document); top {
			b.Kind, b.Level = kindHeading, node.Level
			b.Title, b.Slug = m.heading(node, source)
		}
	case *ast.FencedCodeBlock:
		b.Kind = kindCode
		b.Body = end
		if i := bytes.IndexByte(source[start:end], '\n'); i >= 0 {
			b.Body = start + i + 1
		}
	case *ast.CodeBlock, *ast.HTMLBlock:
		b.Kind = kindLines
	case *ast.Paragraph, *rawParagraph:
		if header, body := tableRows(source[start:end]); body > 0 {
			return tableBlock(b, header, body)
		}
	case *ast.List, *ast.ListItem, *ast.Blockquote:
		if end-start > shortestCut { // smaller ones are never cut
			b.Children = m.siblings(node, source, start, end)
		}
		if len(b.Children) > 0 {
			b.Kind = kindContainer
		}
	}
	return b
}

// tableBlock returns a table, or a container if a paragraph precedes its header.
func tableBlock(b block, header, body int) block {
	table := block{Kind: kindTable, Start: b.Start + header, End: b.End, Body: b.Start + body}
	if header == 0 {
		return table
	}
	b.Kind = kindContainer
	b.Children = []block{{Kind: kindProse, Start: b.Start, End: table.Start}, table}
	return b
}

var delimiterRow = pattern.Lazy(`^[ \t>]*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)

// tableRows returns where the header and the rows of a GFM table in a paragraph begin. Without a table, rows is 0.
func tableRows(paragraph []byte) (header, rows int) {
	if bytes.IndexByte(paragraph, '|') < 0 {
		return 0, 0
	}
	previous := 0
	for start := 0; start < len(paragraph); {
		end := lineEnd(paragraph, start)
		line := bytes.TrimRight(paragraph[start:end], "\n")
		if start > 0 && bytes.IndexByte(line, '-') >= 0 && bytes.IndexByte(line, '|') >= 0 &&
			bytes.IndexByte(paragraph[previous:start], '|') >= 0 && delimiterRow().Match(line) {
			return previous, end
		}
		previous, start = start, end
	}
	return 0, 0
}

func lineEnd[T ~string | ~[]byte](source T, start int) int {
	for i := start; i < len(source); i++ {
		if source[i] == '\n' {
			return i + 1
		}
	}
	return len(source)
}

var headingID = pattern.Lazy(`\s*\{#([\w.-]{1,100})[^{}]{0,100}\}\s*$`)

// heading returns the text of a heading without markup, and its {#anchor}.
func (m *markdownReader) heading(node *ast.Heading, source []byte) (title, slug string) {
	var raw strings.Builder
	for i := range node.Lines().Len() {
		line := node.Lines().At(i)
		raw.Write(line.Value(source))
		raw.WriteByte(' ')
		if raw.Len() > 4*longestHeading {
			break
		}
	}
	title = oneLine(raw.String(), longestHeading)
	if match := headingID().FindStringSubmatchIndex(title); match != nil {
		slug, title = title[match[2]:match[3]], title[:match[0]]
	}
	return m.plain(title), slug
}

// plain removes the inline markup from one line of Markdown.
func (m *markdownReader) plain(line string) string {
	if !strings.ContainsAny(line, "*_[]<>&\\`!") {
		return line
	}
	source := []byte("# " + line)
	var out strings.Builder
	document := m.inline.Parse(text.NewReader(source))
	_ = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.Text:
			out.Write(node.Segment.Value(source))
		case *ast.String:
			out.Write(node.Value)
		case *ast.AutoLink:
			out.Write(node.Label(source))
		}
		return ast.WalkContinue, nil
	})
	plain := html.UnescapeString(string(util.UnescapePunctuations([]byte(out.String()))))
	if strings.TrimSpace(plain) == "" {
		return line
	}
	return oneLine(plain, longestHeading)
}

// windowEnd returns where the window from start ends: after a line if possible.
func windowEnd(source string, start int) int {
	if len(source)-start <= windowSize {
		return len(source)
	}
	limit := start + windowSize
	if line := strings.LastIndexByte(source[start:limit], '\n') + 1; line > windowSize/8 {
		return start + line
	}
	for !utf8.RuneStart(source[limit]) {
		limit--
	}
	return limit
}

// fenceMarker returns the backticks or tildes at the beginning of a line if they are a code fence.
func fenceMarker(line string) string {
	if line == "" || line[0] != '`' && line[0] != '~' {
		return ""
	}
	marker := line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	if len(marker) < 3 {
		return ""
	}
	return marker
}

// nesting matches the markers of lists and quotes at the beginning of a line.
var nesting = pattern.Lazy(`^(?:[ \t>]|[-*+][ \t\n]|[0-9]+[.)]?)*`)

// tooDeep reports whether a line nests more lists and quotes than allowed. Such Markdown is split as plain paragraphs:
// parsing it takes time and stack by its depth.
func tooDeep(source string) bool {
	for line := range strings.Lines(source) {
		markers, columns := 0, 0
		for _, c := range nesting().FindString(line) {
			switch {
			case c == ' ':
				columns++
			case c == '\t':
				columns += 4
			case c < '0' && c != '\n' || c == '>':
				markers++
			}
		}
		if markers > deepestNesting || markers > 0 && columns > 4*deepestNesting {
			return true
		}
	}
	return false
}

// paragraphs splits text at blank lines.
func paragraphs(source string, offset int, kind blockKind) []block {
	var blocks []block
	start, blank, shortest := 0, false, 0
	if len(source) >= largeSource {
		shortest = shortestPiece
	}
	for i := 0; i < len(source); {
		end := lineEnd(source, i)
		empty := strings.TrimSpace(source[i:end]) == ""
		if blank && !empty && i-start >= shortest {
			blocks = append(blocks, block{Kind: kind, Start: offset + start, End: offset + i})
			start = i
		}
		blank = empty
		i = end
	}
	if start < len(source) {
		blocks = append(blocks, block{Kind: kind, Start: offset + start, End: offset + len(source)})
	}
	return blocks
}
