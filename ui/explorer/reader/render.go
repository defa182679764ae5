package reader

import (
	"bytes"
	"fmt"
	"strings"

	"charm.land/glamour/v2/ansi"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmrenderer "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"quarry/theme"
)

// renderUnit renders the Markdown of a unit for a width in columns. Text that cannot be rendered stays plain.
func renderUnit(u unit, width int, th theme.Theme) (l *layout) {
	plain := func() *layout {
		l := plainLayout(u, textWidth(width))
		l.rendered = true // another attempt would fail as well
		return l
	}
	if len(u.text) > maxUnit || hasWideTable(u.text) {
		return plain()
	}
	defer func() {
		if recover() != nil { // a document that the renderer cannot handle must not end the program
			l = plain()
		}
	}()
	r := newRenderer(u, th)
	lines := trimBlank(r.render(max(1, width)))
	if len(lines) == 0 || len(lines) == 1 && lines[0].text == "" {
		return plain()
	}
	return newLayout(append([]line(nil), lines...), true)
}

// maxColumns is the number of columns that a table may have. The parser fills every row up to the width of the head: a few
// kilobytes can become millions of cells.
const maxColumns = 64

func hasWideTable(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > maxColumns && strings.Count(line, "|") > maxColumns && strings.Trim(line, "|-: \n>*+") == "" {
			return true
		}
	}
	return false
}

// renderer renders one unit with Glamour. Glamour lays out the blocks and styles the text. The typesetter wraps what it
// prints and places tables and code, which Glamour renders by themselves.
type renderer struct {
	source []byte // the unit's text, followed by the text that is made up for Glamour
	length int    // of the unit's text
	unit   unit
	blocks []ast.Node // tables and code
	theme  theme.Theme
	pens   pens
	style  ansi.StyleConfig
}

func newRenderer(u unit, th theme.Theme) *renderer {
	return &renderer{
		source: []byte(u.text), length: len(u.text), unit: u, theme: th, pens: pensOf(th, false), style: th.Glamour(),
	}
}

func (r *renderer) render(width int) []line {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.DefinitionList))
	document := markdown.Parser().Parse(text.NewReader(r.source))
	r.prepare(document, 0, width, false)
	t := newTypesetter(r, width)
	t.set(r.print(document, 0), nil, nil)
	return t.lines
}

// print returns what Glamour prints for a document, unwrapped where width is 0.
func (r *renderer) print(document ast.Node, width int) string {
	options := ansi.Options{
		WordWrap: width, InlineTableLinks: true, PreserveNewLines: true, ChromaFormatter: r.theme.ChromaFormatter(), Styles: r.style,
	}
	glamour := gmrenderer.NewRenderer(gmrenderer.WithNodeRenderers(util.Prioritized(ansi.NewRenderer(options), 1)))
	var out bytes.Buffer
	if err := glamour.Render(&out, r.source, document); err != nil {
		panic(fmt.Sprintf("rendering: %v", err)) // renderUnit recovers
	}
	return out.String()
}

func documentOf(block ast.Node) ast.Node {
	document := ast.NewDocument()
	document.AppendChild(document, block)
	return document
}

func moveChildren(to, from ast.Node) {
	for child := from.FirstChild(); child != nil; child = from.FirstChild() {
		to.AppendChild(to, child)
	}
}
