package reader

import "sort"

// place is what the person is looking at, in terms of the text: it stays when lines are laid out anew.
type place struct {
	piece *piece
	from  int // byte of the piece's text
	row   int // where it stands, in lines below the top
}

// Down scrolls by lines, up for negative ones. It tells whether anything moved, as all of these do.
func (r *Reader) Down(lines int) bool { return r.scrollTo(r.top + lines) }

// Up is Down the other way.
func (r *Reader) Up(lines int) bool { return r.Down(-lines) }

// HalfPage scrolls by halves of what is visible.
func (r *Reader) HalfPage(halves int) bool { return r.Down(halves * max(1, r.body/2)) }

// Page scrolls by what is visible, less one line that tells where one was.
func (r *Reader) Page(pages int) bool { return r.Down(pages * max(1, r.body-1)) }

// Top scrolls to the beginning.
func (r *Reader) Top() bool { return r.scrollTo(0) }

// Bottom scrolls to the end.
func (r *Reader) Bottom() bool {
	r.settle()
	return r.scrollTo(r.lines)
}

// Percent tells how much of the text stands above the last visible line, from 0 to 100; 100 when all of it is visible.
func (r *Reader) Percent() int {
	r.settle()
	if r.maxTop() == 0 {
		return 100
	}
	return r.top * 100 / r.maxTop()
}

func (r *Reader) maxTop() int { return max(0, r.lines-r.body) }

// scrollTo moves a line to the top, as far as the text reaches.
func (r *Reader) scrollTo(top int) bool {
	r.settle()
	before := r.top
	r.top = max(0, top)
	if r.shape.width > 0 {
		r.top = min(r.top, r.maxTop())
	}
	if r.top == before {
		return false
	}
	r.place = r.look()
	r.version++
	return true
}

// holdPlace remembers what is at the top before the body changes, unless it is remembered already.
func (r *Reader) holdPlace() {
	r.settle()
	if r.place.piece == nil {
		r.place = r.look()
	}
}

// restorePlace brings what is remembered back to where it stood.
func (r *Reader) restorePlace() {
	if p := r.place.piece; p != nil && r.inBody(p) {
		r.top = p.start + lineOf(p.layout.lines, r.place.from) - r.place.row
	}
	r.top = max(0, min(r.top, r.maxTop()))
}

func (r *Reader) inBody(p *piece) bool {
	for i := range r.blocks {
		if r.blocks[i].piece == p {
			return true
		}
	}
	return false
}

// look finds the first text at or below the top of the view, or the last one above it.
func (r *Reader) look() place {
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

// lineOf finds the line that shows a byte of the text.
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

// blockAt finds the block that a line of the body belongs to.
func (r *Reader) blockAt(at int) int {
	return max(0, sort.Search(len(r.blocks), func(i int) bool { return r.blocks[i].start > at })-1)
}

// topPiece is the piece that the text at the top of the view belongs to.
func (r *Reader) topPiece() *piece {
	if r.shape.width == 0 {
		return nil
	}
	return r.look().piece
}
