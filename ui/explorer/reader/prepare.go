package reader

import (
	"cmp"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	maxDepth = 12 // levels of nested quotes and lists that are indented
	minText  = 16 // columns that indentation leaves for text
	indented = 2  // columns that Glamour indents a level by
)

// prepare rewrites the children of a block for Glamour. Every text begins with a note; tables and code become notes.
// room is the width in columns; gap puts a blank line before the first child.
func (r *renderer) prepare(parent ast.Node, depth, room int, gap bool) {
	flat := depth >= maxDepth || room-indented < minText
	for node := parent.FirstChild(); node != nil; {
		if node.PreviousSibling() != nil {
			gap = depth == 0 || node.HasBlankPreviousLines()
		}
		following := node.NextSibling()
		switch n := node.(type) {
		case *ast.Blockquote:
			if flat {
				following = unwrap(parent, n)
				break
			}
			r.prepare(n, depth+1, room-indented, gap)
		case *ast.List:
			if item, inItem := parent.(*ast.ListItem); inItem && flat {
				appendItems(item, n)
				break
			}
			r.prepare(n, depth+1, room-indented, gap)
		case *extast.DefinitionList:
			following = listOf(n)
			parent.ReplaceChild(parent, n, following)
		case *ast.ListItem:
			if !n.HasChildren() {
				n.AppendChild(n, ast.NewTextBlock())
			}
			r.prepare(n, depth, room, gap)
		default:
			if leaf := r.leaf(parent, node); leaf != nil {
				r.begin(leaf, gap)
			}
		}
		node = following
	}
}

// unwrap replaces a quote that is nested too deeply by its children, and returns the first of the nodes in its place.
func unwrap(parent ast.Node, quote *ast.Blockquote) ast.Node {
	following := cmp.Or(quote.FirstChild(), quote.NextSibling())
	for child := quote.FirstChild(); child != nil; child = quote.FirstChild() {
		parent.InsertBefore(parent, quote, child)
	}
	parent.RemoveChild(parent, quote)
	return following
}

// appendItems moves the items of a list that is nested too deeply behind the item that it belongs to.
func appendItems(item *ast.ListItem, list *ast.List) {
	outer := item.Parent()
	for child := list.LastChild(); child != nil; child = list.LastChild() {
		outer.InsertAfter(outer, item, child)
	}
	item.RemoveChild(item, list)
}

// listOf makes a list of a definition list, which Glamour does not indent: an item for each term, with its definitions.
func listOf(definitions *extast.DefinitionList) ast.Node {
	list := ast.NewList('-')
	list.SetBlankPreviousLines(definitions.HasBlankPreviousLines())
	for child := definitions.FirstChild(); child != nil; child = child.NextSibling() {
		if child.Kind() != extast.KindDefinitionTerm && list.HasChildren() {
			moveChildren(list.LastChild(), child)
			continue
		}
		item, term := ast.NewListItem(indented), ast.NewTextBlock()
		item.SetBlankPreviousLines(child.HasBlankPreviousLines())
		term.AppendChild(term, strong(child))
		item.AppendChild(item, term)
		list.AppendChild(list, item)
	}
	return list
}

// strong moves the children of a node into a bold one.
func strong(from ast.Node) ast.Node {
	bold := ast.NewEmphasis(2)
	moveChildren(bold, from)
	return bold
}

// leaf prepares the text of a block without blocks in it, and returns the block that takes its place; nil for none.
func (r *renderer) leaf(parent, node ast.Node) ast.Node {
	switch n := node.(type) {
	case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
		inline{renderer: r, breaks: breaksOf(node, r.source)}.children(node)
		return node
	case *ast.HTMLBlock:
		if shown := r.html(n); shown != "" {
			return r.replace(parent, node, shown)
		}
	case *ast.ThematicBreak:
		return r.replace(parent, node, r.pens.border.Write(strings.Repeat("─", 24)))
	case *extast.Table, *ast.FencedCodeBlock, *ast.CodeBlock:
		r.blocks = append(r.blocks, node)
		return r.replace(parent, node, note(placeBlock, len(r.blocks)-1))
	}
	parent.RemoveChild(parent, node)
	return nil
}

// replace puts a paragraph in the place of a block.
func (r *renderer) replace(parent, node ast.Node, content string) ast.Node {
	paragraph := ast.NewParagraph()
	paragraph.AppendChild(paragraph, r.made(content))
	paragraph.SetBlankPreviousLines(node.HasBlankPreviousLines())
	parent.ReplaceChild(parent, node, paragraph)
	return paragraph
}

// begin notes the start of a block. Glamour runs the paragraphs of a list item together: all but the first begin a line.
func (r *renderer) begin(block ast.Node, gap bool) {
	kind := startBlock
	if block.Parent().Kind() == ast.KindListItem && block.PreviousSibling() != nil {
		kind = newLine
	}
	first := block.FirstChild()
	if first != nil && first.Kind() == extast.KindTaskCheckBox { // Glamour looks for it at the beginning
		first = first.NextSibling()
	}
	block.InsertBefore(block, first, r.made(note(kind, flag(gap))))
}
