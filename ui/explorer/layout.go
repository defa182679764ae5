package explorer

import "quarry/ui/explorer/results"

// Breakpoints of the layout, in cells.
const (
	minWidth, minHeight   = 20, 4
	bareWidth, bareHeight = 50, 10 // below either: one-line rows and no borders
	stackWidth            = 80     // from here on the reader may be below the list
	stackHeight           = 30     // rows, at least, for that
	sideWidth             = 120    // from here on it is beside the list
	// Of the list beside the reader, at least: 80 characters of a passage, and its place.
	listWidth = 62
	// From here on a pinned passage is beside both; otherwise the list makes way for it.
	threeWidth              = 160
	panelHeight             = 16     // below, a panel gets all but the query and the keys
	frameWidth, frameHeight = 81, 16 // below either, lines above and below a pane take the place of its border
	stripHeight             = 16     // from here on the sources have a line
	oneLine, twoLines       = 12, 20 // rows of the screen from which on a result has that many lines below its title
)

// Arrangement is how list and reader share the screen.
type Arrangement int

const (
	TooSmall Arrangement = iota // nothing can be shown
	Bare                        // one at a time, without borders
	Single                      // one at a time
	Stacked                     // the reader below the list
	Side                        // the reader beside the list
)

// Rect is a part of the screen, in cells.
type Rect struct{ X, Y, W, H int }

// Shape is what the layout depends on besides the size.
type Shape struct {
	Chips    bool // there are filters, or there is something to say about them
	Reading  bool // the reader is wanted where only one of the two fits
	Zoomed   bool // the focused pane alone
	Empty    bool // there is nothing to read
	Pinned   bool // a passage is pinned beside the one that is read
	OnPinned bool // Reading is about the pinned one
	Panel    bool // something lies over the panes, and needs the room
	Notes    int  // lines above the results
	Wide     int  // columns that the person moved the divider by; rows when stacked
}

// Rects are the parts of the screen. A part that is not shown has no height.
type Rects struct {
	Arrangement Arrangement
	Framed      bool // the query and the panes have a border all around
	QueryFrame  Rect
	Query       Rect // the line that is typed into
	Chips       Rect
	Strip       Rect // sources
	Body        Rect // the panes: overlays may take it
	ListFrame   Rect
	Notes       Rect // above the results
	List        Rect
	Density     results.Density // of the rows of the list
	ReaderFrame Rect
	Reader      Rect
	PinnedFrame Rect
	Pinned      Rect
	Bar         Rect // keys and messages
}

// arrange decides how list and reader share a terminal.
func arrange(width, height int) Arrangement {
	switch {
	case width < minWidth || height < minHeight:
		return TooSmall
	case width < bareWidth || height < bareHeight:
		return Bare
	case width >= sideWidth:
		return Side
	case width >= stackWidth && height >= stackHeight:
		return Stacked
	}
	return Single
}

// Layout cuts the screen into rectangles. It is the only place that reckons with positions.
func Layout(width, height int, shape Shape) Rects {
	r := Rects{Arrangement: arrange(width, height)}
	if r.Arrangement == TooSmall {
		return r
	}
	bare := r.Arrangement == Bare
	r.Framed = r.Arrangement == Stacked || width >= frameWidth && height >= frameHeight
	top, bottom := 0, height
	take := func(wanted bool, lines int) Rect {
		if !wanted {
			return Rect{Y: top, W: width}
		}
		top += lines
		return Rect{Y: top - lines, W: width, H: lines}
	}
	if r.Framed {
		r.QueryFrame = take(true, 3)
		r.Query = Rect{X: 2, Y: 1, W: width - 4, H: 1}
	} else {
		r.QueryFrame = take(true, 1)
		r.Query = Rect{X: 1, W: width - 1, H: 1}
	}
	cramped := shape.Panel && height < panelHeight
	r.Chips = take(!cramped && shape.Chips && height >= 6, 1)
	r.Strip = take(!bare && height >= stripHeight, 1)
	if height >= 5 {
		bottom--
		r.Bar = Rect{Y: bottom, W: width, H: 1}
	}
	r.Body = Rect{Y: top, W: width, H: max(0, bottom-top)}
	r.share(shape)
	r.Density = r.density(height)
	return r
}

// share gives the body to list and readers.
func (r *Rects) share(shape Shape) {
	body, none := r.Body, Rect{X: r.Body.X, Y: r.Body.Y}
	r.ListFrame = body
	switch {
	case r.Arrangement <= Single || shape.Zoomed || shape.Empty && r.Arrangement == Stacked:
		if shape.OnPinned {
			r.PinnedFrame, r.ListFrame = body, none
		} else if shape.Reading {
			r.ReaderFrame, r.ListFrame = body, none
		}
	case shape.Pinned && r.Arrangement == Side && body.W >= threeWidth:
		r.ListFrame, r.ReaderFrame = split(body, Side, bounded(body.W/4+shape.Wide, 30, body.W-2*40))
		r.ReaderFrame, r.PinnedFrame = halves(r.ReaderFrame, Side, 0)
	case shape.Pinned && shape.Reading:
		r.ListFrame = none
		r.ReaderFrame, r.PinnedFrame = halves(body, r.Arrangement, shape.Wide)
	case r.Arrangement == Side:
		r.ListFrame, r.ReaderFrame = split(body, Side, bounded(max(body.W*9/20, listWidth)+shape.Wide, 30, body.W-40))
	case r.Arrangement == Stacked:
		r.ListFrame, r.ReaderFrame = split(body, Stacked, bounded(body.H*2/5+shape.Wide, 8, body.H-10))
	}
	r.List, r.Reader, r.Pinned = r.inside(r.ListFrame, 0), r.inside(r.ReaderFrame, 1), r.inside(r.PinnedFrame, 1)
	r.Notes = Rect{X: r.List.X, Y: r.List.Y, W: r.List.W}
	if r.Arrangement != Bare && r.List.H > 6 {
		r.Notes.H = min(shape.Notes, r.List.H/2)
	}
	r.List.Y, r.List.H = r.List.Y+r.Notes.H, r.List.H-r.Notes.H
}

// halves cuts the room of two readers, with the divider moved by so many columns or rows.
func halves(room Rect, arrangement Arrangement, moved int) (first, second Rect) {
	if arrangement == Stacked {
		return split(room, Stacked, bounded(room.H/2+moved, 8, room.H-8))
	}
	return split(room, Side, bounded(room.W/2+moved, 40, room.W-40))
}

// split cuts a room into so many rows, where they are stacked, or else columns, and the rest.
func split(room Rect, arrangement Arrangement, size int) (first, second Rect) {
	first, second = room, room
	if arrangement == Stacked {
		first.H, second.Y, second.H = size, room.Y+size, room.H-size
	} else {
		first.W, second.X, second.W = size, room.X+size, room.W-size
	}
	return first, second
}

// inside returns what the border of a pane leaves, without some columns at both sides.
func (r *Rects) inside(frame Rect, pad int) Rect {
	above, below := 1, 1
	if r.Framed {
		pad++
	}
	if r.Arrangement == Bare { // what was found, without a line
		below = 0
	}
	if frame.H <= above+below {
		return frame
	}
	return Rect{X: frame.X + pad, Y: frame.Y + above, W: frame.W - 2*pad, H: frame.H - above - below}
}

// density is how much of each result a screen of that height shows.
func (r *Rects) density(height int) results.Density {
	switch {
	case r.Arrangement == Bare || height < oneLine && !(r.Framed || r.Arrangement == Side):
		return results.TitlesOnly
	case height >= twoLines:
		return results.TwoLines
	}
	return results.OneLine
}

func bounded(n, least, most int) int { return max(least, min(n, most)) }
