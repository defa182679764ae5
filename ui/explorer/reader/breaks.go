package reader

import (
	"bytes"
	"sort"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"quarry/ui/explorer/paint"
)

// lineBreaks tells which line ends of a paragraph mean something. Markdown has none mean anything, but what comes from
// chats and trackers is written by people for whom they do. A line end stays unless the line was full: the author broke
// it where the next word had no room.
type lineBreaks struct {
	lines *text.Segments
	full  int // columns of the longest line
}

// fewColumns is the length below which a line was not broken for its length.
const fewColumns = 50

func breaksOf(paragraph ast.Node, source []byte) lineBreaks {
	breaks := lineBreaks{lines: paragraph.Lines()}
	if breaks.lines == nil {
		return breaks
	}
	for i := range breaks.lines.Len() {
		segment := breaks.lines.At(i)
		breaks.full = max(breaks.full, paint.Width(string(bytes.TrimSpace(segment.Value(source)))))
	}
	return breaks
}

// kept tells whether the line that ends after a byte of the source keeps its end.
func (b lineBreaks) kept(source []byte, at int) bool {
	if b.lines == nil {
		return false
	}
	i := sort.Search(b.lines.Len(), func(i int) bool { return b.lines.At(i).Stop >= at })
	if i+1 >= b.lines.Len() {
		return false
	}
	line, following := b.lines.At(i), b.lines.At(i+1)
	word, _, _ := bytes.Cut(bytes.TrimSpace(following.Value(source)), []byte(" "))
	width := paint.Width(string(bytes.TrimSpace(line.Value(source))))
	return b.full < fewColumns || width+1+paint.Width(string(word)) <= b.full
}
