package results

import (
	"strconv"

	"charm.land/lipgloss/v2"

	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// shape is how rows are laid out.
type shape struct {
	width   int
	indent  int  // columns before the text of a row: bar and number
	passage int  // lines for where a passage comes from and what it says; 0 when a row is one line in all
	about   bool // rows of one line have room for source and age
}

func shapeOf(width, height, number int) shape {
	s := shape{width: width, indent: 1 + number + 1, passage: 1, about: width >= aboutWidth}
	switch {
	case width < roomyWidth || height < roomyHeight:
		s.passage = 0
	case height >= twoLines:
		s.passage = 2
	}
	return s
}

// room is how many columns the text of a row has. One stays free on the right.
func (s shape) room() int { return s.width - s.indent - 1 }

// numberWidth is how many columns the widest citation number takes, brackets included.
func numberWidth(l *List) int {
	widest := len("[1]")
	for _, item := range l.items {
		if item.CitationID != nil {
			widest = max(widest, len(strconv.Itoa(*item.CitationID))+len("[]"))
		}
	}
	return widest
}

// look is what every row's lines depend on.
type look struct {
	shape
	theme   string
	stale   bool
	focused bool
}

// canvas keeps the lines of the rows that were drawn in the present look.
type canvas struct {
	look look
	pens pens
	rows map[drawnRow][]string
}

type drawnRow struct {
	at       int
	selected bool
}

// mostKept is how many rows are kept in all before the canvas starts again.
const mostKept = 400

// prepare makes ready for a look.
func (c *canvas) prepare(wanted look, th *theme.Theme) {
	if c.look != wanted {
		*c = canvas{wanted, pensOf(th, wanted), map[drawnRow][]string{}}
	}
}

func (c *canvas) clear() { clear(c.rows) }

// pens are the styles of a list, ready for use.
type pens struct {
	number, title, text, muted, match paint.Pen
	dimTitle, dimText                 paint.Pen // of what the selector left out
	rule, bar                         paint.Pen
	barGlyph                          string
	chosen                            lipgloss.Style
	source                            func(source string) paint.Pen
}

func pensOf(th *theme.Theme, l look) pens {
	p := pens{
		number: paint.PenOf(th.Number), title: paint.PenOf(th.Title), text: paint.PenOf(th.Text),
		muted: paint.PenOf(th.Muted), match: paint.PenOf(th.Match),
		dimTitle: paint.PenOf(th.Text), dimText: paint.PenOf(th.Muted),
		rule: paint.PenOf(th.Border), bar: paint.PenOf(th.Border), barGlyph: "│", chosen: th.Selected,
	}
	sources := make(map[string]paint.Pen)
	style := th.SourceStyle
	p.source = func(source string) paint.Pen {
		pen, known := sources[source]
		if !known {
			pen = paint.PenOf(style(source))
			sources[source] = pen
		}
		return pen
	}
	if l.focused {
		p.bar, p.barGlyph = paint.PenOf(th.BorderFocused), "▌"
	}
	if l.stale {
		old := paint.PenOf(th.Stale)
		p.number, p.title, p.text, p.muted, p.match, p.dimTitle, p.dimText = old, old, old, old, old, old, old
		p.source = func(string) paint.Pen { return old }
	}
	return p
}
