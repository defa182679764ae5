package reader

import (
	"bufio"
	"bytes"
	"fmt"

	"charm.land/glamour/v2/ansi"
	"github.com/yuin/goldmark/ast"
	gmrenderer "github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"quarry/ui/explorer/paint"
)

// leafKey tells the renderers of one job apart: glamour knows its width and styles only from its making.
type leafKey struct {
	width  int
	quoted bool
}

type leafRenderer = gmrenderer.Renderer

// leaf has glamour render a block that holds no other blocks, at most width columns wide.
func (r *renderer) leaf(node ast.Node, width int) {
	r.prepare(node)
	document := ast.NewDocument()
	document.AppendChild(document, node)
	var printed bytes.Buffer
	writer := bufio.NewWriter(&printed)
	if err := r.glamour(width).Render(writer, r.source, document); err != nil {
		panic(fmt.Sprintf("rendering: %v", err)) // caught by renderUnit
	}
	_ = writer.Flush() // a buffer takes everything
	r.out.feed(printed.String())
}

// glamour gives the renderer for a width. glamour's renderers keep state: these belong to one job.
func (r *renderer) glamour(width int) leafRenderer {
	key := leafKey{width, r.quote > 0}
	made, found := r.leafs[key]
	if !found {
		style := r.style
		if key.quoted {
			style.Document.StylePrimitive = merged(style.Document.StylePrimitive, style.BlockQuote.StylePrimitive)
		}
		wrap := true
		made = gmrenderer.NewRenderer(gmrenderer.WithNodeRenderers(util.Prioritized(ansi.NewRenderer(ansi.Options{
			WordWrap: width, TableWrap: &wrap, InlineTableLinks: true, PreserveNewLines: true, Styles: style,
		}), 1)))
		r.leafs[key] = made
	}
	return made
}

// merged is a style with what another one sets for colour and weight.
func merged(base, over ansi.StylePrimitive) ansi.StylePrimitive {
	if over.Color != nil {
		base.Color = over.Color
	}
	if over.Italic != nil {
		base.Italic = over.Italic
	}
	if over.Faint != nil {
		base.Faint = over.Faint
	}
	return base
}

// textWidth is about how wide the text of a cell will be on one line.
func (r *renderer) textWidth(cell ast.Node) int {
	width := 0
	_ = ast.Walk(cell, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Text:
			width += paint.Width(string(n.Value(r.source)))
		case *ast.AutoLink:
			width += paint.Width(shortLink(string(n.Label(r.source)), longestLink))
		case *ast.CodeSpan:
			width += len([]rune(r.style.Code.Prefix + r.style.Code.Suffix))
		case *ast.RawHTML:
			width += 4
		}
		return ast.WalkContinue, nil
	})
	return width
}
