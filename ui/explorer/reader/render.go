package reader

import (
	"strconv"
	"strings"

	"charm.land/glamour/v2/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// renderUnit renders the Markdown of a unit for a width in columns. What cannot be rendered stays plain.
func renderUnit(u unit, width int, th theme.Theme) (l *layout) {
	plain := func() *layout {
		l := plainLayout(u, measureOf(width))
		l.rendered = true // it will not get any better
		return l
	}
	if len(u.text) > maxUnit || hasWideTable(u.text) {
		return plain()
	}
	defer func() {
		if recover() != nil { // a renderer that stumbles over a document must not take the program with it
			l = plain()
		}
	}()
	r := newRenderer(u, width, th)
	r.blocks(r.parse(), 0)
	lines := trimBlank(r.out.lines)
	if len(lines) == 0 || len(lines) == 1 && lines[0].text == "" {
		return plain()
	}
	return newLayout(compact(lines), true)
}

// mostColumns is how many columns a table may have. The parser fills up every row to them: a few kilobytes can be written
// that become millions of cells.
const mostColumns = 64

func hasWideTable(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > mostColumns && strings.Count(line, "|") > mostColumns && strings.Trim(line, "|-: \n>*+") == "" {
			return true
		}
	}
	return false
}

// renderer renders one unit. It walks the blocks of the document itself, so that lists, quotes and code keep their
// indentation on every line, and has glamour render what stands in them.
type renderer struct {
	source  []byte // the text, and behind it what was made up for glamour
	length  int    // of the text
	spans   []wire.Span
	files   bool // links to files may be opened
	signals signals
	out     *typesetter

	theme theme.Theme
	pens  pens
	style ansi.StyleConfig
	leafs map[bool]leafRenderer // by whether they are for quotes
	quote int                   // how many quotes the block stands in
}

func newRenderer(u unit, width int, th theme.Theme) *renderer {
	r := &renderer{
		source: []byte(u.text), length: len(u.text), spans: u.spans, files: u.files, theme: th, pens: pensOf(th, false),
		style: th.Glamour(), leafs: map[bool]leafRenderer{},
	}
	r.out = newTypesetter(u.text, &r.signals, width)
	return r
}

func (r *renderer) parse() ast.Node {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.DefinitionList))
	return markdown.Parser().Parse(text.NewReader(r.source))
}

const (
	deepest   = 12 // nested blocks that are indented; deeper ones stand as the last of these
	narrowest = 16 // columns that indentation leaves for text
)

// blocks renders the children of a block.
func (r *renderer) blocks(parent ast.Node, depth int) {
	for node := parent.FirstChild(); node != nil; {
		following := node.NextSibling() // rendering moves nodes
		if depth == 0 || node.PreviousSibling() != nil && node.HasBlankPreviousLines() {
			r.out.space()
		}
		r.block(node, depth)
		node = following
	}
}

func (r *renderer) block(node ast.Node, depth int) {
	switch n := node.(type) {
	case *ast.Heading:
		r.leaf(n, r.measure())
	case *ast.Paragraph, *ast.TextBlock, *extast.DefinitionTerm:
		r.paragraph(node)
	case *extast.Table:
		r.table(n)
	case *ast.List:
		r.list(n, depth)
	case *ast.Blockquote:
		r.quote++
		r.nested(n, depth, lead{r.pens.border.Write("│") + " ", 2}, lead{r.pens.border.Write("│") + " ", 2})
		r.quote--
	case *extast.DefinitionList:
		r.blocks(n, depth+1)
	case *extast.DefinitionDescription:
		r.nested(n, depth, lead{"  ", 2}, lead{"  ", 2})
	case *ast.FencedCodeBlock:
		r.code(n, string(n.Language(r.source)))
	case *ast.CodeBlock:
		r.code(n, "")
	case *ast.HTMLBlock:
		r.html(n)
	case *ast.ThematicBreak:
		r.out.feed(r.pens.border.Write(strings.Repeat("─", min(24, r.measure()))), r.measure())
	}
}

// nested renders the children of a block with something before every line.
func (r *renderer) nested(node ast.Node, depth int, first, rest lead) {
	if depth < deepest && r.out.room()-rest.width >= narrowest {
		defer r.out.indent(first, rest)()
	}
	r.blocks(node, depth+1)
}

func (r *renderer) list(list *ast.List, depth int) {
	number := list.Start
	last := number + list.ChildCount() - 1
	for node := list.FirstChild(); node != nil; {
		following := node.NextSibling()
		if node.PreviousSibling() != nil && node.HasBlankPreviousLines() {
			r.out.space()
		}
		bullet := lead{"• ", 2}
		switch done, isTask := task(node); {
		case isTask && done:
			bullet = lead{"[x] ", 4}
		case isTask:
			bullet = lead{"[ ] ", 4}
		case list.IsOrdered():
			text := strconv.Itoa(number) + string(list.Marker) + " "
			text = paint.Blank(len(strconv.Itoa(last))-len(strconv.Itoa(number))) + text
			bullet = lead{text, len(text)}
		}
		bullet.text = r.pens.muted.Write(strings.TrimRight(bullet.text, " ")) + " "
		r.nested(node, depth, bullet, lead{paint.Blank(bullet.width), bullet.width})
		number++
		node = following
	}
}

// task tells whether a list item is a task, and done; it takes the box away.
func task(item ast.Node) (done, isTask bool) {
	first := item.FirstChild()
	if first == nil || first.FirstChild() == nil {
		return false, false
	}
	box, isTask := first.FirstChild().(*extast.TaskCheckBox)
	if !isTask {
		return false, false
	}
	first.RemoveChild(first, box)
	return box.IsChecked, true
}

// measure is how wide running text may be here.
func (r *renderer) measure() int { return max(1, min(r.out.room(), widestText)) }

// paragraph renders running text, whatever kind of block holds it.
func (r *renderer) paragraph(node ast.Node) {
	paragraph := ast.NewParagraph()
	paragraph.SetLines(node.Lines())
	term := node.Kind() == extast.KindDefinitionTerm
	if term {
		strong := ast.NewEmphasis(2)
		moveChildren(strong, node)
		paragraph.AppendChild(paragraph, strong)
	} else {
		moveChildren(paragraph, node)
	}
	r.leaf(paragraph, r.measure())
}

func moveChildren(to, from ast.Node) {
	for child := from.FirstChild(); child != nil; child = from.FirstChild() {
		to.AppendChild(to, child)
	}
}
