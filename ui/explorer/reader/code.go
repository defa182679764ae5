package reader

import (
	"slices"

	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark/ast"
)

// maxHighlighted is the size of the longest code that is coloured, in bytes.
const maxHighlighted = 8 << 10

// code sets a code block: indented, coloured where its language is known, and continued on the next line, with a mark,
// where a line is too long. Glamour prints it without notes, which its lexers would take for code.
func (t *typesetter) code(block ast.Node, first, rest []cell) {
	indent := t.cells("  ")
	first, rest = slices.Concat(first, indent), slices.Concat(rest, indent)
	more := slices.Concat(rest, t.cells(t.pens.muted.Write("›")+" "))
	printed := t.read(t.print(documentOf(t.codeFor(block)), 0))
	blank, begun := 0, false
	for i, segment := range block.Lines().Sliced(0, block.Lines().Len()) {
		line := printed[min(i+1, len(printed)-1)] // Glamour begins with a blank line
		if isBlank(line) {
			blank++
			continue
		}
		for ; begun && blank > 0; blank-- {
			t.emit(rest, nil)
		}
		blank, begun = 0, true
		locate(line, segment.Start-segment.Padding)
		if width := t.width - widthOf(rest); widthOf(line) > width {
			t.wrap(line, width-widthOf(more[len(rest):]), first, more)
		} else {
			t.emit(first, line)
		}
		first = rest
	}
}

// codeFor returns code as Glamour is to render it. Without a language that it knows Glamour would guess one.
func (r *renderer) codeFor(block ast.Node) ast.Node {
	fenced, isFenced := block.(*ast.FencedCodeBlock)
	if isFenced && len(block.Lines().Value(r.source)) <= maxHighlighted && lexers.Get(string(fenced.Language(r.source))) != nil {
		return block
	}
	plain := ast.NewFencedCodeBlock(r.made("text"))
	plain.SetLines(block.Lines())
	return plain
}

// locate sets the places in the source of the cells of a line of code.
func locate(line []cell, at int) {
	for i := range line {
		line[i].at = at
		at += len(line[i].text)
	}
}

func isBlank(line []cell) bool {
	return !slices.ContainsFunc(line, func(c cell) bool { return c.text != " " })
}
