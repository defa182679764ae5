package reader

import (
	"strings"

	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

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
func (r *Reader) MoveSelection(direction int) bool {
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
		return r.Down(direction) // to what is left at the ends
	}
	r.selected = all[to]
	r.version++
	r.reveal()
	return true
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
