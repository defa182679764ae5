package line

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// look is what a drawn line depends on.
type look struct {
	version     uint64
	width       int
	theme       string
	placeholder string
	masked      bool
}

// View returns the line, width columns wide, and the column of the cursor. Text that is too long scrolls with the
// cursor; an ellipsis marks hidden text. An empty line shows the placeholder; masked text shows a dot for each cluster.
func (e *Editor) View(width int, th theme.Theme, placeholder string, masked bool) (line string, cursorX int) {
	if width <= 0 {
		return "", 0
	}
	drawn := e.drawn.Get(look{e.version, width, th.Name, placeholder, masked}, func() paint.Input {
		return e.draw(width, th, placeholder, masked)
	})
	return drawn.Text, drawn.CursorX
}

func (e *Editor) draw(width int, th theme.Theme, placeholder string, masked bool) paint.Input {
	if e.now.text == "" {
		e.scroll = 0
		return paint.Input{Text: paint.Fit(th.Placeholder.Render(paint.Line(placeholder)), width)}
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
	return paint.Input{Text: paint.Fit(text, width), CursorX: cursorX}
}

// Fits reports whether the whole text and the cursor after it fit in a width.
func (e *Editor) Fits(width int) bool {
	w := newWindow(e.now, width, false)
	return w.back(w.count(), 0) == 0
}

const (
	ellipsis = "…"
	// narrow is the width below which there is no ellipsis.
	narrow = 8
)

// window selects the clusters to draw. It measures only those near the cursor.
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

func (w window) count() int { return len(w.starts) - 1 }

// cell returns a cluster as it is drawn.
func (w window) cell(i int) (painted string, width int) {
	if w.masked {
		return "•", 1
	}
	return paintCluster(w.text[w.starts[i]:w.starts[i+1]])
}

// paintCluster returns a cluster as it is drawn, never empty: a box stands for invisible text. White space becomes a
// space.
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

// room returns the columns for clusters if first is the first one. One column is for the cursor at the end, or the
// ellipsis.
func (w window) room(first int) int {
	if first > 0 {
		return w.width - 1 - w.mark
	}
	return w.width - 1
}

// back returns the first cluster such that all clusters from it up to end fit, with some columns to spare.
func (w window) back(end, columns int) int {
	for ; end > 0; end-- {
		_, width := w.cell(end - 1)
		if columns += width; columns > w.room(end-1) {
			break
		}
	}
	return end
}

// first returns the first cluster to draw: the same as before, unless the cursor is out of view or columns are unused.
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

// cells draws the clusters from first on, and reports whether clusters before and after them are hidden.
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
