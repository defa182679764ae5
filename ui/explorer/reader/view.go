package reader

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Heights of the pane below which the header is shortened.
const (
	minHeaderHeight = 10
	minTitleHeight  = 4
	minLinkWidth    = 8 // columns
	mostNames       = 2 // of authors
)

// View returns the pane: exactly height lines of exactly width columns.
func (r *Reader) View(width, height int, th theme.Theme) []string {
	if height <= 0 {
		return nil
	}
	if width <= 0 {
		return make([]string, height)
	}
	r.fit(width, height, th)
	key := frameKey{r.version, width, height, th.Name, r.ExpandKey, r.WholeKey}
	return r.frame.Get(key, func() []string { return r.draw(key) })
}

// fit updates the layout for the size of the pane.
func (r *Reader) fit(width, height int, th theme.Theme) {
	if to := shapeWidth(width); to != r.shape.width || th.Name != r.shape.theme {
		r.shape, r.theme, r.dirty = shape{to, th.Name, r.raw}, th, true
		r.version++
	}
	if body := height - len(r.header(height)); body != r.body {
		r.body, r.dirty = body, true
		r.version++
	}
	r.update()
	if r.seekPending && r.shown && r.body > 0 {
		r.seekPending = false
		r.seekMatch()
	}
}

// seekMatch scrolls to the first highlight of the best passage if it is not on the first screen.
func (r *Reader) seekMatch() {
	r.count()
	if len(r.matches) == 0 {
		return
	}
	best := r.bestStart()
	first := slices.IndexFunc(r.matches,
		func(m match) bool { return m.piece.unit.start+m.piece.spans[m.span][0] >= best })
	if line := r.matches[max(0, first)].line; line >= r.top+r.body-1 {
		r.scrollTo(line - r.body/3)
		r.moved = false // by a person
	}
}

// bestStart returns where the best passage begins in the text as it is shown.
func (r *Reader) bestStart() int {
	best := r.document.BestPassage
	if best[0] <= 0 || best[1] <= best[0] || best[1] > len(r.document.Content) {
		return 0
	}
	return len(paint.Text(client.Sanitize(r.document.Content[:best[0]])))
}

func (r *Reader) draw(key frameKey) []string {
	width, height := key.width, key.height
	lines := make([]string, 0, height)
	for _, line := range r.header(height) {
		lines = append(lines, line(width))
	}
	selectedFrom, selectedTo := r.selected.lines()
	block := r.blockAt(r.top)
	for at := r.top; len(lines) < height; at++ {
		for block+1 < len(r.blocks) && r.blocks[block+1].start <= at {
			block++
		}
		if !r.shown || at >= r.lines || block >= len(r.blocks) {
			lines = append(lines, paint.Blank(width))
			continue
		}
		b, shown := &r.blocks[block], at
		if b.piece != nil && at == r.top {
			if head := headAbove(b.piece.layout.lines, at-b.start); head >= 0 {
				shown = b.start + head
			}
		}
		line := r.bodyLine(b, shown, width)
		if at >= selectedFrom && at < selectedTo {
			line = r.theme.Selected.Under(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// bodyLine draws one line of the body.
func (r *Reader) bodyLine(b *block, at, width int) string {
	if b.piece == nil {
		return paint.Fit(r.seamLine(b.seam, width), width)
	}
	l := &b.piece.layout.lines[at-b.start]
	text := l.text
	if len(l.marks) > 0 {
		text = r.marked(l, b.piece)
	}
	switch {
	case l.grid != nil && l.grid.width > width:
		return r.scrolled(text, l.grid, width)
	case l.width > width:
		return paint.Fit(text, width)
	}
	return text + paint.Blank(width-l.width)
}

// marked returns a line's text with styled highlights. A highlight loses its styles but the background, so that all
// look the same; the text after it gets its styles back.
func (r *Reader) marked(l *line, p *piece) string {
	var out strings.Builder
	out.Grow(len(l.text) + 24*len(l.marks))
	at := 0
	for i, m := range l.marks {
		style := r.theme.Match
		if (matchID{p, m.span}) == r.current {
			style = r.theme.MatchCurrent
		}
		out.WriteString(l.text[at:m.from])
		if m.reset {
			out.WriteString(endStyle)
		}
		out.WriteString(m.back + style.Render(anyStyle().ReplaceAllString(l.text[m.from:m.to], "")))
		at = m.to
		if end := at + len(endStyle); strings.HasPrefix(l.text[at:], endStyle) &&
			(i+1 == len(l.marks) || end <= l.marks[i+1].from) {
			at = end // restoring the style would only end it again
			continue
		}
		out.WriteString(m.pen)
	}
	out.WriteString(l.text[at:])
	return out.String()
}

const endStyle = "\x1b[m"

var anyStyle = pattern.Lazy(`\x1b\[[^m]*m`)

// seamLine returns a line between pieces.
func (r *Reader) seamLine(s seam, width int) string {
	switch s {
	case resultStart:
		return r.theme.Muted.Render("— search result —")
	case resultEnd:
		return r.theme.Muted.Render("— end of search result —")
	case missingAbove:
		return r.seam(width, "more above")
	case missingBelow:
		return r.seamBelow(width)
	}
	return ""
}

// seamBelow says what of the document is not shown below, for seam.
func (r *Reader) seamBelow(width int) string {
	switch above, below := r.missingChunks(); {
	case below > 0:
		return r.seam(width, "more below")
	case below < 0:
		return r.seam(width, "there may be more below")
	case above == 0:
		return r.seam(width, "only this passage")
	}
	return ""
}

// seam says that a part of the document is not shown, with the keys to get it or the reason why there are none. How
// much it is follows from the position in the border.
func (r *Reader) seam(width int, what string) string {
	line, muted := "— "+what, r.theme.Muted
	if !r.document.CanExpand {
		why := clean(r.document.WhyNot)
		if _, remedy, found := strings.Cut(why, "; "); found && paint.Width(why) > width {
			why = remedy
		}
		if paint.Width(line)+len(" · ")+paint.Width(why) > width {
			return muted.Render(why) // it says as much
		}
		return muted.Render(strings.TrimSuffix(line+" · "+why, " · "))
	}
	out := muted.Render(line)
	for _, key := range [][2]string{{r.ExpandKey, "more"}, {r.WholeKey, "all"}} {
		if key[0] != "" {
			out += muted.Render(" · ") + r.theme.Key.Render(key[0]) + muted.Render(" "+key[1])
		}
	}
	return out + muted.Render(" —")
}

// More names the key that fetches more of the document; "" where all is shown, or nothing else can be.
func (r *Reader) More() string {
	if above, below := r.missingChunks(); above == 0 && below == 0 || !r.document.CanExpand || r.ExpandKey == "" {
		return ""
	}
	return r.ExpandKey + " more"
}

// Gutter returns the lines, of so many that stand for the whole document, that the passage takes; none where it is all
// of the document, or its place in it is not known.
func (r *Reader) Gutter(height int) (from, to int) {
	count := r.document.ChunkCount
	if !r.shown || count <= 0 || height <= 0 || r.document.ChunkEnd-r.document.ChunkStart+1 >= count {
		return 0, 0
	}
	from = min(r.document.ChunkStart*height/count, height-1)
	return from, max(from+1, min((r.document.ChunkEnd+1)*height/count, height))
}

// header returns what draws the lines above the body, as many as there is room for.
func (r *Reader) header(height int) []func(width int) string {
	lines := []func(int) string{r.crumbLine, r.aboutLine, r.relatedLine}
	if len(r.crumbs) == 0 {
		lines = lines[1:]
	}
	switch {
	case !r.shown || height < minTitleHeight:
		return nil
	case height < minHeaderHeight:
		return lines[:1]
	}
	return lines
}

// Title returns the title of the document on one line.
func (r *Reader) Title() string { return paint.Line(passage.Title(r.document.SearchResult)) }

// aboutLine returns authors, date, age, matches and link. Where they are too long, the age is left out, which the date
// tells too, then authors.
func (r *Reader) aboutLine(width int) string {
	updated := text.OrEmpty(r.document.UpdatedAt)
	age := passage.ShortAge(updated, r.now)
	if r.now.IsZero() || age == passage.Day(updated) { // of the future that is the date again
		age = ""
	}
	date, matches := day(updated), r.matchText()
	parts := text.Join(" · ", namesOf(r.document.Authors, mostNames), date, age, matches)
	for names := mostNames; names > 0 && paint.Width(parts) > width; names-- {
		parts = text.Join(" · ", namesOf(r.document.Authors, names), date, matches)
	}
	line := r.theme.Muted.Render(parts)
	separator := strings.Repeat(" · ", min(1, len(parts)))
	if room := width - paint.Width(line) - paint.Width(separator); room >= minLinkWidth {
		address := text.OrEmpty(r.document.Link)
		if link := clean(address); link != "" {
			shown := r.theme.Muted.Render(strings.TrimRight(paint.Fit(shortLink(link, room), room), " "))
			if r.document.FileLinks || !isFile(address) {
				shown = paint.Hyperlink(address, shown)
			}
			line += r.theme.Muted.Render(separator) + shown
		}
	}
	return paint.Fit(line, width)
}

// relatedLine returns the newer version of the document and the documents with copies of the passage.
func (r *Reader) relatedLine(width int) string {
	return paint.Fit(r.theme.Title.Render(clean(passage.Related(r.document.SearchResult))), width)
}

// day returns the date of a time as people write it. Other text stays as it is.
func day(moment string) string {
	if t, err := wire.ParseTime(moment); err == nil {
		return t.Format("2 Jan 2006")
	}
	return clean(moment)
}

// matchText returns the number of matches, or which of them is the current one.
func (r *Reader) matchText() string {
	switch current, total := r.Match(); {
	case current > 0:
		return fmt.Sprintf("match %d of %d", current, total)
	case total > 0:
		return text.Count(total, "match")
	}
	return ""
}

// namesOf returns so many first names, and the number of others.
func namesOf(authors []string, most int) string {
	names := clean(strings.Join(authors[:min(most, len(authors))], ", "))
	if more := len(authors) - most; more > 0 {
		names += fmt.Sprintf(" +%d", more)
	}
	return names
}

// clean makes foreign text safe for one line of the header.
func clean(s string) string { return paint.Line(client.Sanitize(s)) }
