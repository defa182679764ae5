package reader

// matchID identifies a highlight, which may span several lines.
type matchID struct {
	piece *piece
	span  int
}

// match is a visible highlight and the line of the body where it begins.
type match struct {
	matchID
	line int
}

// NextMatch moves to the highlight after the current one, or to the first one on the screen, and from the last to the
// first. It reports whether there is any.
func (r *Reader) NextMatch() bool { return r.stepMatch(1) }

// PrevMatch is NextMatch backwards.
func (r *Reader) PrevMatch() bool { return r.stepMatch(-1) }

// Match returns the number of the current highlight, from 1 or 0 for none, and how many there are.
func (r *Reader) Match() (current, total int) {
	r.update()
	r.count()
	for i, m := range r.matches {
		if m.matchID == r.current {
			return i + 1, len(r.matches)
		}
	}
	return 0, len(r.matches)
}

func (r *Reader) stepMatch(by int) bool {
	r.update()
	r.count()
	if len(r.matches) == 0 {
		return false
	}
	to := r.startMatch(by)
	if current, _ := r.Match(); current > 0 && r.visible(r.matches[current-1].line) {
		to = current - 1 + by
	}
	to = (to + len(r.matches)) % len(r.matches)
	r.current = r.matches[to].matchID
	if line := r.matches[to].line; !r.visible(line) {
		r.scrollTo(line - r.body/3)
	}
	r.version++
	return true
}

// currentPlace returns the place of the current highlight, if it is in view.
func (r *Reader) currentPlace() place {
	r.count()
	for _, m := range r.matches {
		if m.matchID == r.current && r.visible(m.line) {
			return place{piece: m.piece, from: m.piece.spans[m.span][0]}
		}
	}
	return place{}
}

// startMatch returns the index of the first highlight at or below the top of the view; backwards, of the last one above
// its end.
func (r *Reader) startMatch(by int) int {
	edge := r.top
	if by < 0 {
		edge = r.top + r.body
	}
	at := 0
	for at < len(r.matches) && r.matches[at].line < edge {
		at++
	}
	if by < 0 {
		at--
	}
	return at
}

func (r *Reader) visible(line int) bool {
	return line >= r.top && line < r.top+r.body && !r.underHead(line)
}

// count collects the highlights in the lines.
func (r *Reader) count() {
	if r.counted {
		return
	}
	r.counted = true
	r.matches = r.matches[:0]
	for _, p := range r.laidOut() {
		seen := make([]bool, len(p.spans))
		for at := range p.layout.lines {
			for _, m := range p.layout.lines[at].marks {
				if m.span < len(seen) && !seen[m.span] {
					seen[m.span] = true
					r.matches = append(r.matches, match{matchID{p, m.span}, p.start + at})
				}
			}
		}
	}
}
