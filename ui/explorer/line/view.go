package line

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// drawing is the line as it was drawn last, and what it was drawn for.
type drawing struct {
	key     drawingKey
	line    string
	cursorX int
	full    bool
}

type drawingKey struct {
	version     uint64
	width       int
	theme       string
	placeholder string
	masked      bool
}

// View draws the line, width columns wide, and tells the column of the cursor in it. Text that is too long scrolls
// under the cursor; an ellipsis stands where some is hidden. An empty line shows the placeholder; masked text shows a
// dot for each cluster.
func (e *Editor) View(width int, th theme.Theme, placeholder string, masked bool) (line string, cursorX int) {
	if width <= 0 {
		return "", 0
	}
	key := drawingKey{e.version, width, th.Name, placeholder, masked}
	if !e.drawn.full || e.drawn.key != key {
		line, cursorX = e.draw(width, th, placeholder, masked)
		e.drawn = drawing{key, line, cursorX, true}
	}
	return e.drawn.line, e.drawn.cursorX
}

func (e *Editor) draw(width int, th theme.Theme, placeholder string, masked bool) (line string, cursorX int) {
	if e.now.text == "" {
		e.scroll = 0
		return paint.Fit(th.Placeholder.Render(paint.Line(placeholder)), width), 0
	}
	w := newWindow(e.now, width, masked)
	first := w.first(e.scroll)
	e.scroll = w.starts[first]
	before, shown, after, cursorX := w.cells(first)
	text := th.Text.Render(shown)
	if before {
		text = th.Placeholder.Render(ellipsis) + text
	}
	if after {
		text += th.Placeholder.Render(ellipsis)
	}
	return paint.Fit(text, width), cursorX
}

// Fits tells whether the whole text and the cursor behind it have room in so many columns.
func (e *Editor) Fits(width int) bool {
	w := newWindow(e.now, width, false)
	return w.back(w.count(), 0) == 0
}

const (
	ellipsis = "…"
	// narrow is the width below which no column is spent on an ellipsis.
	narrow = 8
)

// window chooses which clusters of a text are drawn. Only those near the cursor are ever measured.
type window struct {
	text   string
	starts []int // where clusters begin, and the end of the text
	cursor int   // index of the cluster after the cursor
	width  int
	mark   int // columns of an ellipsis
	masked bool
}

func newWindow(s state, width int, masked bool) window {
	starts := make([]int, 0, len(s.text)+1)
	for clusters := graphemes.FromString(s.text); clusters.Next(); {
		starts = append(starts, clusters.Start())
	}
	starts = append(starts, len(s.text))
	cursor, _ := slices.BinarySearch(starts, s.cursor)
	w := window{text: s.text, starts: starts, cursor: cursor, width: width, masked: masked}
	if width >= narrow {
		w.mark = 1
	}
	return w
}

// count is the number of clusters.
func (w window) count() int { return len(w.starts) - 1 }

// cell is a cluster as it is painted.
func (w window) cell(i int) (painted string, width int) {
	if w.masked {
		return "•", 1
	}
	return paintCluster(w.text[w.starts[i]:w.starts[i+1]])
}

// paintCluster never gives an empty text: what would not be seen shows as a box. A space stays one, whatever hangs on it.
func paintCluster(cluster string) (painted string, width int) {
	if len(cluster) == 1 {
		return cluster, 1
	}
	if space := len(cluster) - len(strings.TrimLeftFunc(cluster, unicode.IsSpace)); space > 0 {
		painted = " " + paint.Line(cluster[space:])
	} else {
		painted = paint.Line(cluster)
	}
	if width = paint.Width(painted); width > 0 {
		return painted, width
	}
	return "□", 1
}

// room is how many columns there are for clusters from a first one on: one always stays free, for the cursor behind the
// end or for the ellipsis.
func (w window) room(first int) int {
	if first > 0 {
		return w.width - 1 - w.mark
	}
	return w.width - 1
}

// back is the first cluster from which all clusters before end, and some more columns, have room.
func (w window) back(end, columns int) int {
	for ; end > 0; end-- {
		_, width := w.cell(end - 1)
		if columns += width; columns > w.room(end-1) {
			break
		}
	}
	return end
}

// first is the first cluster to draw: the one at the offset where drawing began last, unless the cursor went out of
// sight or room would be wasted.
func (w window) first(scroll int) int {
	first, found := slices.BinarySearch(w.starts, scroll)
	if !found {
		first--
	}
	first = min(first, w.count())
	if first > w.cursor {
		first = w.back(w.cursor, w.width-w.width/4)
	}
	width := 0
	if w.cursor < w.count() {
		_, width = w.cell(w.cursor)
	}
	first = max(first, w.back(w.cursor, width))
	return min(first, w.back(w.count(), 0))
}

// cells paints the clusters from a first one on, and tells whether there are hidden ones before and after them.
func (w window) cells(first int) (before bool, shown string, after bool, cursorX int) {
	var out strings.Builder
	x := 0
	if before = first > 0 && w.mark > 0; before {
		x = w.mark
	}
	lastStart, i := 0, first
	for ; i < w.count(); i++ {
		painted, width := w.cell(i)
		if x+width > w.width {
			break
		}
		if i == w.cursor {
			cursorX = x
		}
		lastStart = out.Len()
		out.WriteString(painted)
		x += width
	}
	if i == w.cursor {
		cursorX = min(x, w.width-1)
	}
	after = i < w.count() && w.mark > 0
	shown = out.String()
	if after && x == w.width {
		shown = shown[:lastStart]
	}
	return before, shown, after, cursorX
}
