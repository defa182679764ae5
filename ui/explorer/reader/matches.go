package reader

import (
	"slices"
	"sort"
	"strings"

	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

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

// Match returns the number of the current highlight, from 1 or 0 for none, and how many there are.
func (r *Reader) Match() (current, total int) {
	r.update()
	r.count()
	return 1 + slices.IndexFunc(r.matches, func(m match) bool { return m.matchID == r.current }), len(r.matches)
}

// StepMatch moves to the highlight after the current one, or to the first one on the screen, and from the last to the
// first; with -1 backwards.
func (r *Reader) StepMatch(by int) {
	r.update()
	r.count()
	if len(r.matches) == 0 {
		return
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
	at := sort.Search(len(r.matches), func(i int) bool { return r.matches[i].line >= edge })
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

// selection is the paragraph that is selected to be copied.
type selection struct {
	piece       *piece // nil for none
	paint.Range        // of the piece's text
}

// Select selects the paragraph of the current match, or else the first one in view; false ends the selection.
func (r *Reader) Select(on bool) {
	r.update()
	r.version++
	r.selected = selection{}
	if !on {
		return
	}
	at := r.currentPlace()
	if at.piece == nil {
		at = r.placeAtTop()
	}
	if at.piece == nil {
		return
	}
	for _, paragraph := range paragraphs(at.piece.text) {
		if paragraph.Start <= at.from {
			r.selected = selection{at.piece, paragraph}
		}
	}
}

// Selecting reports whether a paragraph is selected.
func (r *Reader) Selecting() bool { return r.selected.piece != nil }

// Selected returns the Markdown of the selected paragraph.
func (r *Reader) Selected() string {
	if r.selected.piece == nil {
		return ""
	}
	return strings.Trim(r.selected.piece.text[r.selected.Start:r.selected.End], "\n")
}

// MoveSelection selects the next paragraph that is shown, or with -1 the one before, and scrolls to it.
func (r *Reader) MoveSelection(direction int) {
	r.update()
	var all []selection
	current := 0
	for _, p := range r.shownPieces() {
		for _, paragraph := range paragraphs(p.text) {
			candidate := selection{p, paragraph}
			if candidate == r.selected {
				current = len(all)
			}
			if from, to := candidate.lines(); from < to || candidate == r.selected {
				all = append(all, candidate)
			}
		}
	}
	to := current + direction
	if to < 0 || to >= len(all) {
		r.Down(direction) // to what is left at the ends
		return
	}
	r.selected = all[to]
	r.version++
	r.reveal()
}

// reveal scrolls as little as shows the selected paragraph, or its beginning.
func (r *Reader) reveal() {
	from, to := r.selected.lines()
	switch {
	case from < r.top || to-from > r.body:
		r.scrollTo(from)
	case to > r.top+r.body:
		r.scrollTo(to - r.body)
	}
}

// lines returns the lines of the body that show a selection, the last one excluded; none before the first View.
func (s selection) lines() (from, to int) {
	if s.piece == nil || s.piece.layout == nil {
		return 0, 0
	}
	for at, l := range s.piece.layout.lines {
		if l.from >= s.Start && l.from < s.End {
			if to == 0 {
				from = s.piece.start + at
			}
			to = s.piece.start + at + 1
		}
	}
	return from, to
}

// paragraphs returns the parts of a text between blank lines outside of fenced code.
func paragraphs(text string) []paint.Range {
	var all []paint.Range
	start, fence := -1, ""
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		line := text[at:end]
		fence = passage.FenceAfter(fence, strings.Trim(line, " \n"))
		switch blank := fence == "" && strings.TrimSpace(line) == ""; {
		case blank && start >= 0:
			all = append(all, paint.Range{Start: start, End: at})
			start = -1
		case !blank && start < 0:
			start = at
		}
		at = end
	}
	if start >= 0 {
		all = append(all, paint.Range{Start: start, End: len(text)})
	}
	return all
}
