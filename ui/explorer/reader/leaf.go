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

type leafRenderer = gmrenderer.Renderer

// leaf has glamour render a block that holds no other blocks, at most width columns wide.
func (r *renderer) leaf(node ast.Node, width int) {
	r.prepare(node)
	document := ast.NewDocument()
	document.AppendChild(document, node)
	var printed bytes.Buffer
	writer := bufio.NewWriter(&printed)
	if err := r.glamour().Render(writer, r.source, document); err != nil {
		panic(fmt.Sprintf("rendering: %v", err)) // caught by renderUnit
	}
	_ = writer.Flush() // a buffer takes everything
	r.out.feed(printed.String(), width)
}

// glamour gives the renderer for running text, or for that in quotes. Its renderers keep state: these belong to one job.
// It is not to wrap, because it would take the signals for text.
func (r *renderer) glamour() leafRenderer {
	quoted := r.quote > 0
	made, found := r.leafs[quoted]
	if !found {
		style := r.style
		if quoted {
			style.Document.StylePrimitive = merged(style.Document.StylePrimitive, style.BlockQuote.StylePrimitive)
		}
		options := ansi.Options{InlineTableLinks: true, PreserveNewLines: true, Styles: style}
		made = gmrenderer.NewRenderer(gmrenderer.WithNodeRenderers(util.Prioritized(ansi.NewRenderer(options), 1)))
		r.leafs[quoted] = made
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
