// Package strip is the line under the query that shows the sources of what matched, with counts, and in which they are
// chosen.
package strip

import (
	"slices"
	"strings"

	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
)

// Source is a source of the strip.
type Source struct {
	Value   string // as queries name it
	Name    string // for display
	Count   int    // of matching documents
	Counted bool
	Active  bool // the query is limited to it

	Excluded bool // the query excludes it
}

// Strip is the line. Its first cell stands for all sources, its last one for those that there is no room for.
type Strip struct {
	sources []Source
	at      int // cell with the cursor; 0 is all sources
	shown   int // sources on the line, as drawn last
	hits    []hit

	version uint64
	look    look
	line    string
}

type look struct {
	version     uint64
	width       int
	theme, hint string
	focused     bool
	at          int
}

// hit is where a cell was drawn: the columns [from, to).
type hit struct{ from, to, cell int }

// Set shows sources, those with most matches first. An excluded one that was not counted stays in sight.
func (s *Strip) Set(sources []Source) {
	slices.SortStableFunc(sources, func(a, b Source) int {
		if first, second := a.Excluded && a.Count == 0, b.Excluded && b.Count == 0; first != second {
			if first {
				return -1
			}
			return 1
		}
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return strings.Compare(a.Name, b.Name)
	})
	if slices.Equal(sources, s.sources) {
		return
	}
	under := s.at
	if under > 0 && under <= len(s.sources) { // the cursor follows its source
		value := s.sources[under-1].Value
		under = 1 + slices.IndexFunc(sources, func(source Source) bool { return source.Value == value })
	}
	s.sources, s.at = sources, min(under, len(sources))
	s.version++
}

// Move moves the cursor by cells.
func (s *Strip) Move(by int) { s.at = max(0, min(s.at+by, s.last())) }

// MoveTo moves the cursor to the cell in a column of the line drawn last. It reports whether there is one.
func (s *Strip) MoveTo(x int) bool {
	for _, h := range s.hits {
		if x >= h.from && x < h.to {
			s.at = h.cell
			return true
		}
	}
	return false
}

// last is the last cell that the cursor can be on.
func (s *Strip) last() int {
	if s.shown < len(s.sources) {
		return s.shown + 1
	}
	return len(s.sources)
}

// Rest reports whether the cursor is on the cell for the sources that there is no room for.
func (s *Strip) Rest() bool { return s.at > s.shown }

// Chosen is the source under the cursor; false on the cells for all and for the others.
func (s *Strip) Chosen() (source string, ok bool) {
	if s.at < 1 || s.at > s.shown {
		return "", false
	}
	return s.sources[s.at-1].Value, true
}

// Toggled returns the sources that the query is limited to once the one under the cursor was chosen, or given up if it
// was chosen before; none of them for all sources.
func (s *Strip) Toggled() []string {
	var values []string
	for i, source := range s.sources {
		if source.Active != (i+1 == s.at) && s.at > 0 {
			values = append(values, source.Value)
		}
	}
	return values
}

const (
	wideEnough = 81 // columns from which on there is more room between cells
	hintWidth  = 50 // columns from which on there is room for a hint
)

// View draws the line, width columns wide, with a hint at its right.
func (s *Strip) View(width int, th theme.Theme, focused bool, hint string) string {
	if width < hintWidth {
		hint = ""
	}
	wanted := look{s.version + 1, width, th.Name, hint, focused, s.at}
	if s.look != wanted {
		s.line = s.draw(max(0, width), th, focused, hint)
		s.at = min(s.at, s.last())
		wanted.at = s.at
		s.look = wanted
	}
	return s.line
}

func (s *Strip) draw(width int, th theme.Theme, focused bool, hint string) string {
	var line strings.Builder
	s.hits, s.shown = s.hits[:0], 0
	x, gap := 0, 0
	if width >= wideEnough {
		gap = 1
		line.WriteByte(' ')
		x++
	}
	room := width - paint.Width(hint) - 2
	put := func(cell int, drawn string, columns int) {
		if s.hits = append(s.hits, hit{x, x + columns, cell}); focused && cell == s.at {
			drawn = th.Key.Render("[") + drawn + th.Key.Render("]")
		} else {
			drawn = " " + drawn + " "
		}
		line.WriteString(drawn + paint.Blank(gap))
		x += columns + gap
	}
	all := s.all()
	if len(s.sources) > 0 && paint.Width(all)+2 <= room {
		put(0, styled(all, !slices.ContainsFunc(s.sources, func(source Source) bool { return source.Active }), th), paint.Width(all)+2)
	}
	for i, source := range s.sources {
		rest, label := "", labelOf(source, th)
		if more := len(s.sources) - i - 1; more > 0 {
			rest = restOf(more)
		}
		columns := paint.Width(label) + 2
		if x+columns+gap+paint.Width(rest) > room {
			break
		}
		put(i+1, cellOf(source, label, th), columns)
		s.shown++
	}
	if more := len(s.sources) - s.shown; more > 0 && x+len(restOf(more)) <= room {
		put(s.shown+1, th.Muted.Render(strings.TrimSpace(restOf(more))), len(restOf(more)))
	}
	return paint.Fit(line.String(), width-paint.Width(hint)-1) + th.Muted.Render(hint) + " "
}

// all is the text of the cell for all sources.
func (s *Strip) all() string {
	sum, counted := 0, true
	for _, source := range s.sources {
		sum, counted = sum+source.Count, counted && source.Counted
	}
	if !counted {
		return "All"
	}
	return "All " + text.Number(sum)
}

// restOf is the cell for sources that there is no room for.
func restOf(n int) string { return " +" + text.Number(n) + " " }

func labelOf(source Source, th theme.Theme) string {
	label := th.SourceGlyph(source.Value) + " " + paint.Line(strings.TrimPrefix(source.Name, "Google "))
	if source.Counted && !(source.Excluded && source.Count == 0) {
		label += " " + text.Number(source.Count)
	}
	if source.Excluded {
		label = "not " + label
	}
	return label
}

func cellOf(source Source, label string, th theme.Theme) string {
	switch {
	case source.Active:
		return styled(label, true, th)
	case source.Excluded || source.Counted && source.Count == 0:
		return th.Disabled.Render(label)
	}
	at := strings.LastIndexByte(label, ' ')
	if !source.Counted {
		at = len(label)
	}
	return th.SourceStyle(source.Value).Render(label[:at]) + th.Muted.Render(label[at:])
}

// styled fills the cell of what is active.
func styled(label string, active bool, th theme.Theme) string {
	if active {
		return paint.PenOf(th.Chip).Write(label)
	}
	return th.Text.Render(label)
}
