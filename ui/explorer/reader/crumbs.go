package reader

import (
	"slices"
	"sort"
	"strings"

	"quarry/ui/explorer/paint"
)

// crumbsOf returns the source or the outer place of a document, its place in that, and headings.
func crumbsOf(d Document, headings []string) []string {
	var parts []string
	name, below := d.By.Path(d.SearchResult)
	for _, part := range slices.Concat([]string{name}, below, headings) {
		if part = clean(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// crumbLine returns the breadcrumb. Where it is too long, what follows the source is left out: the innermost is the
// nearest.
func (r *Reader) crumbLine(width int) string {
	const below = " › "
	crumbs := r.crumbs
	if at := r.placeAtTop(); at.piece != nil {
		crumbs = r.crumbsAt(at)
	}
	if len(crumbs) == 0 {
		return paint.Blank(width)
	}
	source, path := crumbs[0], crumbs[1:]
	style := r.theme.Source
	if value := r.document.By.Value(r.document.SearchResult); value != "" { // as in the list
		source = strings.TrimLeft(r.document.By.Glyph(r.theme, value)+" "+source, " ")
		style = r.document.By.Style(r.theme, value)
	}
	line, left := style.Render(source), width-paint.Width(source)
	if len(path) == 0 {
		return paint.Fit(line, width)
	}
	shown := strings.Join(path, below)
	for len(path) > 1 && paint.Width(below+shown) > left {
		path = path[1:]
		shown = "…" + below + strings.Join(path, below)
	}
	return paint.Fit(line+r.theme.Muted.Render(below+shown), width)
}

// section is the part of a text below one of its headings.
type section struct {
	piece   *piece
	heading int // index; -1 for what comes before the first one
}

// crumbsAt returns the breadcrumb of the first text in sight, which may be a heading. It keeps the last one: most of
// scrolling is within a section.
func (r *Reader) crumbsAt(at place) []string {
	own := at.piece.headings()
	for _, h := range own {
		if h.from > at.from && r.lineOf(h) == r.top+at.row {
			at.from = h.from
		}
	}
	of := section{at.piece, sort.Search(len(own), func(i int) bool { return own[i].from > at.from }) - 1}
	if r.section != of {
		r.section, r.sectionCrumbs = of, crumbsOf(r.document, r.headingsAbove(at))
	}
	return r.sectionCrumbs
}

// headingsAbove returns the headings above a place, as far as they are known.
func (r *Reader) headingsAbove(at place) []string {
	text, path := r.found, r.document.HeadingPath // of the best passage
	if !slices.Contains(r.found, at.piece) {
		text, path = []*piece{at.piece}, at.piece.path // of the beginning
	}
	above, named, reached := []Heading(nil), []Heading(nil), false
	var chain []Heading
	for _, p := range text {
		for _, h := range p.headings() {
			reached = reached || p == at.piece && h.from > at.from
			chain = append(parents(chain, h), h)
			if !reached {
				above = chain
			}
			if len(path) > 0 && named == nil && letters(h.Text) == letters(path[len(path)-1]) {
				named = r.withoutTitle(chain)
			}
		}
		reached = reached || p == at.piece
	}
	above = r.withoutTitle(above)
	if len(above) == 0 && named == nil {
		return path
	}
	outside := path[:max(0, len(path)-max(1, len(named)))]
	if len(above) > 0 && len(named) > 0 {
		outside = outside[:max(0, len(outside)-max(0, named[0].Level-above[0].Level))]
	}
	headings := slices.Clone(outside)
	for _, h := range above {
		headings = append(headings, h.Text)
	}
	return headings
}

// parents returns those of a chain of headings that a heading is below.
func parents(chain []Heading, h Heading) []Heading {
	end := len(chain)
	for end > 0 && chain[end-1].Level >= h.Level {
		end--
	}
	return slices.Clip(chain[:end])
}

// withoutTitle returns a chain of headings without the title of the document, which is shown elsewhere.
func (r *Reader) withoutTitle(chain []Heading) []Heading {
	if len(chain) > 0 && chain[0].Level == 1 && letters(chain[0].Text) == letters(r.document.Title) {
		return chain[1:]
	}
	return chain
}
