package panel

import (
	"strconv"
	"strings"
	"time"

	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/dimension"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
	"quarry/ui/state"
)

// Collection lists the passages that were marked, each with its source and the query that found it, and the chosen one
// in full below them. The zero value is empty.
type Collection struct {
	Static
	passages []state.Passage
	Choice
	now time.Time
	by  dimension.Dimension
}

// Set shows passages, with the choice as near as possible to where it was.
func (p *Collection) Set(passages []state.Passage, by dimension.Dimension, now time.Time) {
	p.passages, p.by, p.now = passages, by, now
	p.Of(len(passages))
}

// Chosen is the place of the passage that the choice is on; false when there are none.
func (p *Collection) Chosen() (index int, ok bool) {
	return p.At, p.At < len(p.passages)
}

// Title implements Panel.
func (p *Collection) Title(_ int, th theme.Theme) (title, beside string) {
	stale := 0
	beside = text.Count(len(p.passages), "passage")
	for _, one := range p.passages {
		stale += min(1, len(one.Stale))
	}
	if stale > 0 {
		beside += " · " + text.Number(stale) + " changed or gone"
	}
	return th.Title.Render("Collection"), th.Muted.Render(beside)
}

// View implements Panel.
func (p *Collection) View(width, height int, th theme.Theme) Body {
	if len(p.passages) == 0 {
		return Body{Lines: Wrapped("The collection is empty. Mark passages in the results to collect them.", 0,
			width, th.Muted)}
	}
	lines := 2
	if height < 8 {
		lines = 1
	}
	below := p.details(width, height, th)
	var body Body
	from, to := p.Window(max(1, (height-len(below))/lines))
	for i := from; i < to; i++ {
		body.Lines = append(body.Lines, p.passage(i, width, th)[:lines]...)
	}
	body.ThumbFrom, body.ThumbTo = Thumb(0, lines*(to-from), lines*from, lines*len(p.passages))
	body.Lines = append(body.Lines, below...)
	return body
}

// passage are the lines of a passage: its title, and where and by which query it was found.
func (p *Collection) passage(at, width int, th theme.Theme) []string {
	const gap = 2
	one, chosen := p.passages[at], at == p.At
	digits := len(strconv.Itoa(len(p.passages)))
	number := strconv.Itoa(at + 1)
	indent := 1 + digits + gap
	age := passage.ShortAge(text.OrEmpty(one.UpdatedAt), p.now)
	room := max(0, width-1-indent-1)
	title := paint.Beside(th.Text.Render(paint.Line(passage.Title(one.SearchResult))), th.Muted.Render(age),
		leastName, room)
	first := " " + paint.Blank(digits-len(number)) + th.Number.Render(number) + paint.Blank(gap) + title + " "
	value := p.by.Value(one.SearchResult)
	about := p.by.Style(th, value).Render(paint.Line(p.by.Label(th, value)))
	if heading := passage.Under(one.SearchResult); heading != "" {
		about += th.Muted.Render(" › " + paint.Line(heading))
	}
	if one.Stale != "" {
		about += th.Warning.Render(" · " + one.Stale + " since it was marked")
	}
	if one.Query != "" {
		about += th.Muted.Render(" · “" + paint.Line(one.Query) + "”")
	}
	if one.Note != "" {
		about += th.Text.Render(" · " + paint.Line(one.Note))
	}
	second := paint.Blank(indent) + paint.Fit(about, room) + " "
	return []string{Row(first, chosen, width, th), Row(second, chosen, width, th)}
}

// details are the note and the beginning of the chosen passage, where there is room below the list.
func (p *Collection) details(width, height int, th theme.Theme) []string {
	const least = 14
	if height < least || width < 20 {
		return nil
	}
	one, most := p.passages[p.At], height/3
	lines := []string{th.Border.Render(strings.Repeat("─", width))}
	lines = append(lines, Wrapped(one.Note, 0, width, th.Warning)...)
	for _, line := range passage.Excerpt(one.SearchResult, nil, most, width) {
		lines = append(lines, Wrapped(line.Lead+line.Text, 0, width, th.Muted)...)
	}
	lines = lines[:min(len(lines), most)]
	for len(lines) < most {
		lines = append(lines, "")
	}
	return lines
}
