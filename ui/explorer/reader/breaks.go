package reader

import (
	"bytes"
	"sort"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"quarry/ui/explorer/paint"
)

// lineBreaks decides which line ends of a paragraph to keep. Markdown ignores them, but authors of chats and tickets
// expect them to stay. A line end is dropped only if the line was full: the next word had no room on it.
type lineBreaks struct {
	lines *text.Segments
	full  int // columns of the longest line
}

// shortLine is the width below which no line was broken because it was full.
const shortLine = 50

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

// kept reports whether to keep the line end at a byte of the source.
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
	return b.full < shortLine || width+1+paint.Width(string(word)) <= b.full
}
