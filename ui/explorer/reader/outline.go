package reader

import (
	"slices"
	"sort"
	"strings"

	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Heading is a heading of the document.
type Heading struct {
	wire.OutlineHeading
	piece *piece // that contains it; nil if it is not in the body
	from  int    // byte of the piece's text where its first letter is
}

// Same reports whether two headings are the same one of the document.
func (h Heading) Same(other Heading) bool {
	return h.piece == other.piece && h.from == other.from &&
		(h.piece != nil || h.OutlineHeading == other.OutlineHeading)
}

// Named reports whether the anchor of a link names the heading: it has the same letters.
func (h Heading) Named(anchor string) bool {
	return letters(anchor) != "" && letters(anchor) == letters(h.Text)
}

// Headings returns the headings of the document: those of an outline that the server sent, or those of the text in the
// body without one. current is the index of the heading of the first text in view.
func (r *Reader) Headings(outline []wire.OutlineHeading) (headings []Heading, current int) {
	r.update()
	known := slices.Concat(exslices.CastFunc(r.shownPieces(), (*piece).headings)...) // of the text in the body
	if len(outline) == 0 {
		headings = known
	} else {
		headings = r.located(outline, known)
	}
	first, line := r.document.ChunkStart, 0 // of the first text in view
	if p := r.topPiece(); p != nil {
		first, line = p.first, r.top+r.placeAtTop().row
	}
	for i, h := range headings {
		if h.piece == nil && h.ChunkInd < first || h.piece != nil && r.lineOf(h) <= line {
			current = i
		}
	}
	return headings, current
}

// lineOf returns the line of the body that shows a heading.
func (r *Reader) lineOf(h Heading) int {
	if h.piece.layout == nil { // not drawn yet
		return 0
	}
	return h.piece.start + lineOf(h.piece.layout.lines, h.from)
}

// Reach returns the range of chunks to fetch for a heading that is not in the body, with some text below it, such that
// no gap is left. ok is false if the heading is there.
func (r *Reader) Reach(h Heading) (from, to int, ok bool) {
	first, last := r.shownChunks()
	switch {
	case h.piece != nil || !r.document.CanExpand:
		return 0, 0, false
	case h.ChunkInd < first:
		return h.ChunkInd, first - 1, true
	}
	return last + 1, h.ChunkInd + step, h.ChunkInd > last
}

// GoTo scrolls to a heading in the body.
func (r *Reader) GoTo(h Heading) {
	if h.piece == nil || !r.contains(h.piece) {
		return
	}
	r.seekPending, r.moved = false, true
	r.place = place{piece: h.piece, from: h.from}
	r.changed()
	r.update()
}

// headings returns the headings in the text of a piece.
func (p *piece) headings() []Heading {
	if !p.outlined {
		p.own, p.outlined = headingsOf(p.text), true
		for i := range p.own {
			p.own[i].ChunkInd, p.own[i].piece = p.first, p
		}
	}
	return p.own
}

// located returns the headings of an outline with their places in the body: at the heading with the same letters, or at
// the beginning of the piece that the outline names. Both lists are in the order of the document.
func (r *Reader) located(outline []wire.OutlineHeading, known []Heading) []Heading {
	headings := make([]Heading, len(outline))
	pieces := r.shownPieces()
	for i, entry := range outline {
		headings[i].OutlineHeading = entry
		for len(pieces) > 0 && pieces[0].last < entry.ChunkInd {
			pieces = pieces[1:]
		}
		for len(known) > 0 && known[0].piece.last < entry.ChunkInd {
			known = known[1:]
		}
		if len(pieces) == 0 || pieces[0].first > entry.ChunkInd {
			continue
		}
		headings[i].piece, headings[i].from = pieces[0], firstLetter(pieces[0].text)
		wanted := letters(entry.Text)
		for at, h := range known {
			if h.piece.first > entry.ChunkInd {
				break
			}
			if letters(h.Text) == wanted {
				headings[i].piece, headings[i].from = h.piece, h.from
				known = known[at+1:]
				break
			}
		}
	}
	return headings
}

// shownPieces returns the pieces in the body.
func (r *Reader) shownPieces() []*piece { return slices.Concat(r.above, r.found, r.below) }

// laidOut returns those that have lines.
func (r *Reader) laidOut() []*piece {
	return slices.DeleteFunc(r.shownPieces(), func(p *piece) bool { return p.layout == nil })
}

// headingsOf returns the headings of a Markdown text, outside of quotes and lists.
func headingsOf(text string) []Heading {
	var headings []Heading
	fence, above, aboveAt := "", "", 0 // the line above, if a heading may be underlined there
	for at := 0; at < len(text); {
		start, end := at, lineEnd(text, at)
		at = end
		line := strings.TrimRight(text[start:end], " \n")
		inside := fence != ""
		fence = passage.FenceAfter(fence, strings.TrimLeft(line, " "))
		if inside || fence != "" {
			above = ""
			continue
		}
		content := strings.TrimLeft(line, " ")
		if len(line)-len(content) > 3 { // code
			content = ""
		}
		level, title, titleAt := passage.HeadingLevel(content), "", start
		switch {
		case level > 0:
			title = strings.Trim(content, "# ")
		case above != "" && strings.Trim(content, "=") == "" && content != "":
			level, title, titleAt = 1, above, aboveAt
		case above != "" && strings.Trim(content, "-") == "" && len(content) > 1:
			level, title, titleAt = 2, above, aboveAt
		}
		above, aboveAt = "", start
		if level == 0 && content != "" && !strings.ContainsRune("#>-*+|<", rune(content[0])) {
			above = content
		}
		if letter := strings.IndexFunc(text[titleAt:end], isLetter); level > 0 && letter >= 0 {
			h := Heading{from: titleAt + letter}
			h.Level, h.Text = level, passage.Plain(title)
			headings = append(headings, h)
		}
	}
	return headings
}

// letters returns the letters and digits of a heading in lower case.
func letters(heading string) string { return text.Letters(passage.Plain(heading)) }

// crumbsOf returns the source or the outer place of a document, its place in that, and headings.
func crumbsOf(d Document, headings []string) []string {
	name, below := d.By.Path(d.SearchResult)
	parts := exslices.CastFunc(slices.Concat([]string{name}, below, headings), clean)
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
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
		source = r.document.By.Marked(r.theme, value, source)
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
	return slices.Concat(outside, exslices.CastFunc(above, func(h Heading) string { return h.Text }))
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
