// Package reader is the pane that shows one search result: rendered Markdown with highlighted matches, and the chunks
// around it once they were fetched. It does no I/O and starts no goroutines: Want and RenderJob return the work to do,
// and Add, SetWhole and Apply take the results.
package reader

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"time"

	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Reader is the pane that shows one document. The zero value is empty.
type Reader struct {
	// ExpandKey and WholeKey are the names of the keys that fetch more of the document and all of it; "" for none.
	ExpandKey, WholeKey string

	document Document
	crumbs   []string // source, place in it and headings of the passage

	section       section // that is read
	sectionCrumbs []string
	shown         bool
	now           time.Time
	raw           bool

	above, found, below []*piece // in document order
	endAbove            bool     // the server has no more chunks there, whatever ChunkCount says
	endBelow            bool

	blocks []block // of the body, from top to bottom
	lines  int     // of all blocks
	shape  shape   // that the blocks are laid out for
	body   int     // height of the body
	dirty  bool    // the layout is out of date

	top         int // first visible line of the body
	left        int // columns of wide tables that are out of view at the left
	place       place
	seekPending bool // the first match must be scrolled into view
	moved       bool // scrolled by the person, since the document is shown
	current     matchID
	selected    selection
	matches     []match
	counted     bool // matches is up to date

	cache   *cache          // may be shared with another reader
	pending map[jobKey]bool // jobs without a result yet
	links   int             // numbered so far, in the order in which pieces were rendered

	version uint64
	frame   paint.Cache[frameKey, []string]
	theme   theme.Theme
}

// piece is a unit in the body, with its lines for the current shape.
type piece struct {
	unit
	layout    *layout
	shape     shape
	start     int // its first line in the body
	firstLink int // number of its first link; 0 before it was rendered

	path     []string  // headings of a fetched chunk
	own      []Heading // in the text
	outlined bool      // own is known
}

// shape is everything that a layout depends on besides the text.
type shape struct {
	width int // columns; 0 before the first View
	theme string
	raw   bool
}

type frameKey struct {
	version       uint64
	width, height int
	theme         string
	expandKey     string
	wholeKey      string
}

// Show shows another document, from its beginning.
func (r *Reader) Show(d Document) {
	r.document, r.shown = d, true
	r.crumbs, r.section = crumbsOf(d, d.HeadingPath), section{}
	from := r.unitOf(d.ChunkStart, d.ChunkEnd)
	r.above, r.below = nil, nil
	r.found = piecesOf(unitsOf(d.Content, d.Highlights, d.Words, from))
	r.endAbove, r.endBelow = false, false
	r.top, r.left, r.place, r.current, r.links = 0, 0, place{}, matchID{}, 0
	r.selected = selection{}
	clear(r.pending)
	r.seekPending, r.moved = true, false
	r.rebuild()
}

// Scrolled reports whether the person scrolled the document, or had more of it shown.
func (r *Reader) Scrolled() bool { return r.moved || len(r.above)+len(r.below) > 0 }

// Clear empties the reader.
func (r *Reader) Clear() {
	if !r.shown {
		return
	}
	r.Show(Document{})
	r.shown = false
}

// SetNow sets the current time. Without it no ages are shown.
func (r *Reader) SetNow(now time.Time) {
	now = now.Truncate(time.Hour) // the smallest unit of an age is a day
	if !now.Equal(r.now) {
		r.now = now
		r.version++
	}
}

// SetRaw shows the Markdown source, or the rendering.
func (r *Reader) SetRaw(raw bool) {
	if raw != r.raw {
		r.raw = raw
		r.changed()
	}
}

// Raw reports whether the Markdown source is shown.
func (r *Reader) Raw() bool { return r.raw }

// changed marks the layout as out of date.
func (r *Reader) changed() {
	r.dirty, r.counted = true, false
	r.version++
}

// update renews the layout if it is out of date, and keeps the place.
func (r *Reader) update() {
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
		r.setLayout(b.piece)
		b.piece.start = r.lines
		r.lines += len(b.piece.layout.lines)
	}
	r.restorePlace()
}

// setLayout sets the lines of a piece: rendered ones from the cache, else the source.
func (r *Reader) setLayout(p *piece) {
	if p.shape == r.shape && p.layout != nil && p.layout.rendered {
		return
	}
	if !r.raw {
		key := r.jobKey(p)
		key.firstLink = cmp.Or(key.firstLink, r.links+1)
		if rendered, ok := r.rendered().Get(key); ok {
			r.number(p, key.firstLink, rendered)
			p.layout, p.shape = rendered, r.shape
			return
		}
	}
	if p.shape != r.shape || p.layout == nil {
		p.layout, p.shape = plainLayout(p.unit, textWidth(r.shape.width)), r.shape
	}
}

// number gives the links of a piece their numbers, which it keeps.
func (r *Reader) number(p *piece, firstLink int, rendered *layout) {
	if p.firstLink == 0 && firstLink == r.links+1 {
		p.firstLink = firstLink
		r.links += len(rendered.links)
	}
}

// unitOf returns a unit without text, for some chunks of the document.
func (r *Reader) unitOf(first, last int) unit {
	return unit{first: first, last: last, files: r.document.FileLinks, base: text.OrEmpty(r.document.Link),
		interactive: true}
}

func piecesOf(units []unit) []*piece {
	return exslices.CastFunc(units, func(u unit) *piece { return &piece{unit: u} })
}

func (r *Reader) piecesOfChunk(chunk wire.Chunk) []*piece {
	from := r.unitOf(chunk.ChunkInd, chunk.ChunkInd)
	pieces := piecesOf(unitsOf(chunk.Text(), chunk.Highlights, r.document.Words, from))
	for _, p := range pieces {
		p.path = chunk.HeadingPath
	}
	return pieces
}

// maxTextWidth is the width of running text in columns: longer lines are hard to read.
const maxTextWidth = 100

// shapeWidth rounds the width of a pane to an even one, so that dragging a border renders half as often.
func shapeWidth(width int) int {
	if width > 1 {
		width &^= 1
	}
	return width
}

func textWidth(width int) int { return min(width, maxTextWidth) }

// Document is a search result, as far as the server described it.
type Document struct {
	wire.SearchResult
	By        dimension.Dimension // what the breadcrumb begins with
	Words     []string            // of a server that marks nothing: highlighted where there are no Highlights
	CanExpand bool                // the server can send the chunks around the passage
	WhyNot    string              // why it cannot, in a few words
	FileLinks bool                // links to files may be opened, because the library is on this machine
}

// unit is a text that is rendered by itself: a passage, a chunk, or a part of one that is too large to render at once.
type unit struct {
	id    contentID
	text  string // cleaned for the screen; all offsets refer to it
	start int    // of the text in the whole that it is a part of
	spans []wire.Span
	first int // chunks that it belongs to
	last  int
	base  string // address of the document
	files bool   // its links to files may be opened
	// In an interactive unit links are numbered, and tables that are too wide scroll sideways.
	interactive bool
}

// contentID is a hash of a text and its highlights.
type contentID [16]byte

// maxUnit is the size of the largest unit in bytes.
const maxUnit = 16 << 10

// unitsOf cleans a text for the screen and splits it into units. It highlights words if spans is empty.
func unitsOf(content string, spans []wire.Span, words []string, from unit) []unit {
	content, spans = client.SanitizeSpans(content, spans...)
	if len(spans) == 0 {
		spans = passage.FindWords(content, words)
	}
	content, spans = paint.TextSpans(content, spans)
	spans = passage.Shown(content, spans) // else rendering would change how many there are
	content = passage.WithoutComments(content)
	var units []unit
	for _, piece := range pieces(content, maxUnit) {
		u := from
		u.text, u.start = content[piece.Start:piece.End], piece.Start
		u.spans = paint.SpansWithin(spans, piece)
		u.id = identify(u)
		units = append(units, u)
	}
	return units
}

func identify(u unit) contentID {
	hash := sha256.New()
	fmt.Fprintln(hash, len(u.text), u.files, u.interactive, u.base, u.spans)
	hash.Write([]byte(u.text))
	return contentID(hash.Sum(nil)[:16])
}
