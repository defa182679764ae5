package reader

import "sort"

// place is a position in the text. It stays valid when the layout changes.
type place struct {
	piece *piece
	from  int // byte of the piece's text
	row   int // lines below the top of the view
}

// Down scrolls by lines, up for negative ones. Like the other methods that scroll, it reports whether anything moved.
func (r *Reader) Down(lines int) bool { return r.scrollTo(r.top + lines) }

// Up scrolls up by lines.
func (r *Reader) Up(lines int) bool { return r.Down(-lines) }

// HalfPage scrolls by half pages.
func (r *Reader) HalfPage(halves int) bool { return r.Down(halves * max(1, r.body/2)) }

// Page scrolls by pages; one line stays visible.
func (r *Reader) Page(pages int) bool { return r.Down(pages * max(1, r.body-1)) }

// Top scrolls to the beginning.
func (r *Reader) Top() bool { return r.scrollTo(0) }

// Bottom scrolls to the end.
func (r *Reader) Bottom() bool {
	r.update()
	return r.scrollTo(r.lines)
}

// Percent returns the scroll position from 0 to 100; 100 if all text is visible.
func (r *Reader) Percent() int {
	r.update()
	if r.maxTop() == 0 {
		return 100
	}
	return r.top * 100 / r.maxTop()
}

func (r *Reader) maxTop() int { return max(0, r.lines-r.body) }

// scrollTo moves a line to the top, or as near as the text allows.
func (r *Reader) scrollTo(top int) bool {
	r.update()
	before := r.top
	r.top = max(0, top)
	if r.shape.width > 0 {
		r.top = min(r.top, r.maxTop())
	}
	if r.top == before {
		return false
	}
	r.place = r.placeAtTop()
	r.version++
	return true
}

// savePlace saves the place at the top before the body changes, unless one is saved already.
func (r *Reader) savePlace() {
	r.update()
	if r.place.piece == nil {
		r.place = r.placeAtTop()
	}
}

// restorePlace scrolls to the saved place.
func (r *Reader) restorePlace() {
	if p := r.place.piece; p != nil && r.contains(p) {
		r.top = p.start + lineOf(p.layout.lines, r.place.from) - r.place.row
	}
	r.top = max(0, min(r.top, r.maxTop()))
}

func (r *Reader) contains(p *piece) bool {
	for i := range r.blocks {
		if r.blocks[i].piece == p {
			return true
		}
	}
	return false
}

// placeAtTop returns the first text at or below the top of the view, or the last one above it.
func (r *Reader) placeAtTop() place {
	first := r.blockAt(r.top)
	for i := first; i < len(r.blocks); i++ {
		p := r.blocks[i].piece
		if p == nil || p.layout == nil {
			continue
		}
		for at := max(0, r.top-p.start); at < len(p.layout.lines); at++ {
			if from := p.layout.lines[at].from; from >= 0 {
				return place{p, from, p.start + at - r.top}
			}
		}
	}
	for i := min(first, len(r.blocks)-1); i >= 0; i-- {
		p := r.blocks[i].piece
		if p == nil || p.layout == nil {
			continue
		}
		for at := len(p.layout.lines) - 1; at >= 0; at-- {
			if from := p.layout.lines[at].from; from >= 0 {
				return place{p, from, p.start + at - r.top}
			}
		}
	}
	return place{}
}

// lineOf returns the line that shows a byte of the text.
func lineOf(lines []line, from int) int {
	at, seen := 0, false
	for i := range lines {
		if lines[i].from < 0 {
			continue
		}
		if lines[i].from > from && seen {
			break
		}
		at, seen = i, true
	}
	return at
}

// blockAt returns the index of the block at a line of the body.
func (r *Reader) blockAt(at int) int {
	return max(0, sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].start > at })-1)
}

// topPiece returns the piece at the top of the view.
func (r *Reader) topPiece() *piece {
	if r.shape.width == 0 {
		return nil
	}
	return r.placeAtTop().piece
}
