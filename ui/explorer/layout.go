package explorer

// Breakpoints of the layout, in cells.
const (
	minWidth, minHeight   = 20, 4
	bareWidth, bareHeight = 50, 10 // below either: one-line rows and no borders
	stackWidth            = 80     // from here on the reader may be below the list
	stackHeight           = 30     // rows, at least, for that
	sideWidth             = 120    // from here on it is beside the list
	panelHeight           = 16     // below, a panel gets all but the query and the keys
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
	Chips   bool // there are filters
	Banner  bool
	Reading bool // the reader is wanted where only one of the two fits
	Zoomed  bool // the focused pane alone
	Empty   bool // there is nothing to read
	Panel   bool // something lies over the panes, and needs the room
	Failed  bool // something failed while there are results: the reason and remedy are above them
	Wide    int  // columns that the person moved the divider by; rows when stacked
}

// Rects are the parts of the screen. A part that is not shown has no height.
type Rects struct {
	Arrangement Arrangement
	Query       Rect // the box
	Chips       Rect
	Banner      Rect
	TopRule     Rect
	Body        Rect // all between the rules: overlays may take it
	Summary     Rect // what was found, above the list
	List        Rect
	Divider     Rect // between list and reader: a column and a space, or a row when stacked
	Reader      Rect
	BottomRule  Rect
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
	top, bottom := 0, height
	take := func(wanted bool) Rect {
		if !wanted {
			return Rect{Y: top, W: width}
		}
		top++
		return Rect{Y: top - 1, W: width, H: 1}
	}
	r.Query = take(true)
	cramped := shape.Panel && height < panelHeight
	r.Chips = take(!cramped && (!bare || shape.Chips && height >= 6))
	r.Banner = take(!cramped && shape.Banner && height >= 8)
	r.TopRule = take(!cramped && !bare)
	if height >= 5 {
		bottom--
		r.Bar = Rect{Y: bottom, W: width, H: 1}
	}
	if !bare && !cramped {
		bottom--
		r.BottomRule = Rect{Y: bottom, W: width, H: 1}
	}
	r.Body = Rect{Y: top, W: width, H: max(0, bottom-top)}
	r.share(shape)
	return r
}

// share gives the body to list and reader.
func (r *Rects) share(shape Shape) {
	body := r.Body
	list := body
	switch {
	case r.Arrangement <= Single || shape.Zoomed || shape.Empty && r.Arrangement == Stacked:
		if shape.Reading {
			r.Reader, list = body, Rect{X: body.X, Y: body.Y}
		}
	case r.Arrangement == Side:
		list.W = bounded(body.W*9/20+shape.Wide, 30, body.W-40)
		r.Divider = Rect{X: list.W, Y: body.Y, W: 2, H: body.H}
		r.Reader = Rect{X: list.W + 2, Y: body.Y, W: body.W - list.W - 2, H: body.H}
	case r.Arrangement == Stacked:
		list.H = bounded(body.H*2/5+shape.Wide, 6, body.H-8)
		r.Divider = Rect{Y: body.Y + list.H, W: body.W, H: 1}
		r.Reader = Rect{Y: body.Y + list.H + 1, W: body.W, H: body.H - list.H - 1}
	}
	if list.H > 0 {
		r.Summary = Rect{X: list.X, Y: list.Y, W: list.W, H: 1}
		if r.Arrangement != Bare && list.H > 8 {
			r.Summary.H = 2 // an empty line, or what is to be noted
			if shape.Failed {
				r.Summary.H = min(6, list.H/2)
			}
		}
		list.Y, list.H = list.Y+r.Summary.H, max(0, list.H-r.Summary.H)
	}
	r.List = list
}

func bounded(n, least, most int) int { return max(least, min(n, most)) }
