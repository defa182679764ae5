package reader

import (
	"time"

	"quarry/client/wire"
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// Reader is the pane that shows one document. The zero value shows nothing.
type Reader struct {
	// ExpandKey is the name of the key that fetches more of the document, "e" when empty.
	ExpandKey string

	document Document
	crumbs   string // where the passage stands
	shown    bool
	now      time.Time
	raw      bool

	above, found, below []*piece // in the order of the document
	noneAbove           bool     // the server has nothing more there, whatever the counts say
	noneBelow           bool

	blocks []block // what the body consists of, from top to bottom
	lines  int     // of all blocks
	shape  shape   // what they are laid out for
	body   int     // rows that the body has
	dirty  bool    // blocks or layouts must be made anew

	top     int // line at the top of the body
	place   place
	seek    bool // what matched is still to be brought into sight
	current matchID
	matches []match
	counted bool // matches is right

	cache  cache
	issued map[jobKey]bool // jobs that were handed out and not answered yet

	version uint64
	frame   paint.Cache[frameKey]
	theme   theme.Theme
	pens    pens
	pensFor pensKey
}

// piece is a unit in the body, with its lines for the present shape.
type piece struct {
	unit
	layout *layout
	shape  shape
	start  int // its first line in the body
}

// shape is what a layout depends on, besides the text.
type shape struct {
	width int // columns; 0 before the first View
	theme string
	raw   bool
}

type frameKey struct {
	version       uint64
	width, height int
	theme         string
	focused       bool
	expandKey     string
}

// Show puts another document into the reader, at its beginning.
func (r *Reader) Show(d Document) {
	r.document, r.shown = d, true
	r.crumbs = crumbsOf(d)
	from := unit{first: d.ChunkStart, last: d.ChunkEnd, files: d.FileLinks}
	r.above, r.below = nil, nil
	r.found = piecesOf(unitsOf(d.Content, d.Highlights, d.Words, from))
	r.noneAbove, r.noneBelow = false, false
	r.top, r.place, r.current = 0, place{}, matchID{}
	clear(r.issued)
	r.seek = true
	r.rebuild()
}

// Clear empties the reader.
func (r *Reader) Clear() {
	if !r.shown {
		return
	}
	r.Show(Document{})
	r.shown = false
}

// SetNow sets the moment that ages are told from. Without one no age is shown.
func (r *Reader) SetNow(now time.Time) {
	now = now.Truncate(time.Hour) // ages are told in days
	if !now.Equal(r.now) {
		r.now = now
		r.version++
	}
}

// SetRaw shows the Markdown as it was written, or the rendering.
func (r *Reader) SetRaw(raw bool) {
	if raw != r.raw {
		r.raw = raw
		r.changed()
	}
}

// Raw tells whether the Markdown is shown as it was written.
func (r *Reader) Raw() bool { return r.raw }

// changed notes that the lines must be laid out again.
func (r *Reader) changed() {
	r.dirty, r.counted = true, false
	r.version++
}

// settle lays out what changed, and keeps the place.
func (r *Reader) settle() {
	if r.shape.width == 0 {
		return
	}
	wanted := shape{r.shape.width, r.shape.theme, r.raw}
	if !r.dirty && wanted == r.shape {
		return
	}
	r.shape, r.dirty, r.counted = wanted, false, false
	r.lines = 0
	for i := range r.blocks {
		b := &r.blocks[i]
		b.start = r.lines
		if b.piece == nil {
			r.lines++
			continue
		}
		r.layOut(b.piece)
		b.piece.start = r.lines
		r.lines += len(b.piece.layout.lines)
	}
	r.restorePlace()
}

// layOut gives a piece its lines: rendered ones if they are at hand, else the text as it was written.
func (r *Reader) layOut(p *piece) {
	if p.shape == r.shape && p.layout != nil && p.layout.rendered {
		return
	}
	if !r.raw {
		if rendered, ok := r.cache.get(r.jobKey(p)); ok {
			p.layout, p.shape = rendered, r.shape
			return
		}
	}
	if p.shape != r.shape || p.layout == nil {
		p.layout, p.shape = plainLayout(p.unit, measureOf(r.shape.width)), r.shape
	}
}

func piecesOf(units []unit) []*piece {
	made := make([]*piece, len(units))
	for i, u := range units {
		made[i] = &piece{unit: u}
	}
	return made
}

func (r *Reader) piecesOfChunk(chunk wire.Chunk) []*piece {
	from := unit{first: chunk.ChunkInd, last: chunk.ChunkInd, files: r.document.FileLinks}
	return piecesOf(unitsOf(chunk.Text(), nil, r.document.Words, from))
}

// widestText is the longest line of running text in columns: longer ones are hard to read.
const widestText = 100

// shapeWidth is the width that a pane's text is laid out for: even, so that dragging a border renders half as often.
func shapeWidth(width int) int {
	if width > 1 {
		width &^= 1
	}
	return width
}

// measureOf is the width of running text in a pane.
func measureOf(width int) int { return min(width, widestText) }
