package reader

import (
	"fmt"
	"slices"
	"strings"

	"quarry/client"
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
)

type pens struct {
	match, current, muted, title, key, border, source paint.Pen
}

type pensKey struct {
	theme   string
	focused bool
}

func pensOf(th theme.Theme, focused bool) pens {
	border := th.Border
	if focused {
		border = th.BorderFocused
	}
	return pens{
		match: paint.PenOf(th.Match), current: paint.PenOf(th.MatchCurrent), muted: paint.PenOf(th.Muted),
		title: paint.PenOf(th.Title), key: paint.PenOf(th.Key), border: paint.PenOf(border), source: paint.PenOf(th.Source),
	}
}

// View returns the pane: exactly height lines of exactly width columns.
func (r *Reader) View(width, height int, th theme.Theme, focused bool) []string {
	if height <= 0 {
		return nil
	}
	if width <= 0 {
		return make([]string, height)
	}
	r.fit(width, height, th)
	key := frameKey{r.version, width, height, th.Name, focused, r.ExpandKey}
	return r.frame.Lines(key, func() []string { return r.draw(key) })
}

// fit updates the layout for the size of the pane.
func (r *Reader) fit(width, height int, th theme.Theme) {
	if to := shapeWidth(width); to != r.shape.width || th.Name != r.shape.theme {
		r.shape, r.theme, r.dirty = shape{to, th.Name, r.raw}, th, true
		r.version++
	}
	if body := height - r.headerLines(height); body != r.body {
		r.body, r.dirty = body, true
		r.version++
	}
	r.update()
	if r.seekPending && r.shown && r.body > 0 {
		r.seekPending = false
		r.seekMatch()
	}
}

// seekMatch scrolls to the first highlight if it is not on the first screen.
func (r *Reader) seekMatch() {
	r.count()
	if len(r.matches) > 0 && r.matches[0].line >= r.top+r.body-1 {
		r.scrollTo(r.matches[0].line - r.body/3)
	}
}

func (r *Reader) draw(key frameKey) []string {
	width, height := key.width, key.height
	if r.pensFor != (pensKey{key.theme, key.focused}) {
		r.pens, r.pensFor = pensOf(r.theme, key.focused), pensKey{key.theme, key.focused}
	}
	lines := make([]string, 0, height)
	lines = append(lines, r.header(width, height)...)
	block := r.blockAt(r.top)
	for at := r.top; len(lines) < height; at++ {
		for block+1 < len(r.blocks) && r.blocks[block+1].start <= at {
			block++
		}
		if !r.shown || at >= r.lines || block >= len(r.blocks) {
			lines = append(lines, paint.Blank(width))
			continue
		}
		lines = append(lines, r.bodyLine(&r.blocks[block], at, width))
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
	if l.width > width {
		return paint.Fit(text, width)
	}
	return text + paint.Blank(width-l.width)
}

// marked returns a line's text with styled highlights. A highlight loses its other styles, so that all look the same; the
// text after it gets its styles back.
func (r *Reader) marked(l *line, p *piece) string {
	var out strings.Builder
	out.Grow(len(l.text) + 24*len(l.marks))
	at := 0
	for i, m := range l.marks {
		pen := r.pens.match
		if (matchID{p, m.span}) == r.current {
			pen = r.pens.current
		}
		out.WriteString(l.text[at:m.from])
		if m.reset {
			out.WriteString(endStyle)
		}
		out.WriteString(pen.Write(withoutStyles(l.text[m.from:m.to])))
		at = m.to
		if end := at + len(endStyle); strings.HasPrefix(l.text[at:], endStyle) && (i+1 == len(l.marks) || end <= l.marks[i+1].from) {
			at = end // restoring the style would only end it again
			continue
		}
		out.WriteString(m.pen)
	}
	out.WriteString(l.text[at:])
	return out.String()
}

const endStyle = "\x1b[m"

// withoutStyles removes the styles from a text, but not the links.
func withoutStyles(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		_, s, _ = strings.Cut(after, "m")
	}
}

// seamLine returns a line between pieces.
func (r *Reader) seamLine(s seam, width int) string {
	switch s {
	case resultStart:
		return r.pens.muted.Write("╌╌ search result ╌╌")
	case resultEnd:
		return r.pens.muted.Write("╌╌ end of search result ╌╌")
	case extent:
		return r.extentLine(width)
	}
	return ""
}

// extentLine returns how much of the document is missing, and the key to get it or the reason why there is none.
func (r *Reader) extentLine(width int) string {
	above, below := r.missingChunks()
	var parts []string
	if above > 0 {
		parts = append(parts, fmt.Sprintf("%d above", above))
	}
	switch {
	case below > 0:
		parts = append(parts, fmt.Sprintf("%d below", below))
	case below < 0:
		parts = append(parts, "maybe more below")
	}
	if len(parts) == 0 {
		parts = append(parts, "only this passage")
	}
	text := r.pens.muted.Write("╌╌ " + strings.Join(parts, " · ") + " ╌╌")
	if !r.document.CanExpand {
		why := r.pens.muted.Write(clean(r.document.WhyNot))
		if paint.Width(text)+2+paint.Width(why) > width {
			return why // it says as much
		}
		return text + "  " + why
	}
	key := r.ExpandKey
	if key == "" {
		key = "e"
	}
	return text + "  " + r.pens.key.Write(key) + r.pens.muted.Write(" expand")
}

// headerLines returns the height of the header.
func (r *Reader) headerLines(height int) int {
	switch {
	case !r.shown || height < minTitleHeight:
		return 0
	case height < minHeaderHeight:
		return 1
	case r.crumbs == "":
		return 3
	}
	return 4
}

func (r *Reader) header(width, height int) []string {
	var lines []string
	switch r.headerLines(height) {
	case 0:
		return nil
	case 1:
		return []string{r.titleLine(width)}
	case 3:
		lines = []string{r.titleLine(width)}
	default:
		lines = []string{r.titleLine(width), paint.Fit(r.crumbLine(), width)}
	}
	return append(lines, r.aboutLine(width), r.rule(width))
}

// titleLine returns the title, with owner and age at its right if they fit beside the whole title.
func (r *Reader) titleLine(width int) string {
	title := clean(r.document.Title)
	if title == "" {
		title = "(untitled)"
	}
	beside, _ := r.ownerAndAge(width)
	if beside == "" {
		return paint.Fit(r.pens.title.Write(strings.TrimRight(paint.Fit(title, width), " ")), width)
	}
	room := width - paint.Width(beside) - 2
	return paint.Fit(r.pens.title.Write(title), room) + "  " + r.pens.muted.Write(beside)
}

// ownerAndAge returns the text beside the title: owner and age, the age alone, or nothing; and whether it has the owner.
func (r *Reader) ownerAndAge(width int) (beside string, owner bool) {
	age := ""
	if !r.now.IsZero() {
		age = passage.ShortAge(text.OrEmpty(r.document.UpdatedAt), r.now)
	}
	room := width - paint.Width(clean(r.document.Title)) - 2
	if len(r.document.Authors) > 0 {
		name := strings.TrimRight(paint.Fit(clean(r.document.Authors[0]), 20), " ")
		if beside = strings.Trim(name+" · "+age, " ·"); name != "" && paint.Width(beside) <= room {
			return beside, true
		}
	}
	if paint.Width(age) <= room {
		return age, false
	}
	return "", false
}

// crumbsOf returns the source and the headings of the passage.
func crumbsOf(d Document) string {
	var parts []string
	if source := clean(client.SourceName(d.SourceType)); source != "" && d.SourceType != "" {
		parts = append(parts, source)
	}
	for _, heading := range d.HeadingPath {
		if heading = clean(heading); heading != "" {
			parts = append(parts, heading)
		}
	}
	return strings.Join(parts, " › ")
}

func (r *Reader) crumbLine() string {
	source, path, more := strings.Cut(r.crumbs, " › ")
	pen := r.pens.source
	if r.document.SourceType != "" { // as in the list
		source = theme.SourceGlyph(r.document.SourceType) + " " + source
		pen = paint.PenOf(r.theme.SourceStyle(r.document.SourceType))
	}
	line := pen.Write(source)
	if more {
		line += r.pens.muted.Write(" › " + path)
	}
	return line
}

// aboutLine returns date, authors and link.
func (r *Reader) aboutLine(width int) string {
	var parts []string
	if day := clean(passage.Day(text.OrEmpty(r.document.UpdatedAt))); day != "" {
		parts = append(parts, day)
	}
	if _, owner := r.ownerAndAge(width); owner {
		if others := namesOf(r.document.Authors[1:]); others != "" {
			parts = append(parts, "with "+others)
		}
	} else {
		parts = append(parts, namesOf(r.document.Authors))
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	line := r.pens.muted.Write(strings.Join(parts, " · "))
	separator := ""
	if len(parts) > 0 {
		separator = " · "
	}
	if room := width - paint.Width(line) - paint.Width(separator); room >= minLinkWidth {
		address := text.OrEmpty(r.document.Link)
		if link := clean(address); link != "" {
			shown := r.pens.muted.Write(strings.TrimRight(paint.Fit(shortLink(link, room), room), " "))
			if r.document.FileLinks || !isFile(address) {
				shown = paint.Hyperlink(address, shown)
			}
			line += r.pens.muted.Write(separator) + shown
		}
	}
	return paint.Fit(line, width)
}

// namesOf returns the first names, and the number of others.
func namesOf(authors []string) string {
	const most = 2
	names := clean(strings.Join(authors[:min(most, len(authors))], ", "))
	if more := len(authors) - most; more > 0 {
		names += fmt.Sprintf(" +%d", more)
	}
	return names
}

// rule returns the line below the header, with the position in the document and among the matches.
func (r *Reader) rule(width int) string {
	var parts []string
	if at := r.position(); at != "" {
		parts = append(parts, at)
	}
	switch current, total := r.Match(); {
	case current > 0:
		parts = append(parts, fmt.Sprintf("%d/%d", current, total))
	case total == 1:
		parts = append(parts, "1 match")
	case total > 1:
		parts = append(parts, fmt.Sprintf("%d matches", total))
	}
	if r.raw {
		parts = append(parts, "raw")
	}
	label := strings.Join(parts, " · ")
	if label == "" || width < len(label)+8 {
		return r.pens.border.Write(strings.Repeat("─", width))
	}
	dashes := width - paint.Width(label) - 4
	return r.pens.border.Write(strings.Repeat("─", dashes)) + " " + r.pens.muted.Write(label) + " " + r.pens.border.Write("──")
}

// clean makes foreign text safe for one line of the header.
func clean(s string) string { return paint.Line(client.Sanitize(s)) }
