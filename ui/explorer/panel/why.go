package panel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
)

// Explained is a search and what is known of how it was asked for.
type Explained struct {
	Text     string // the query as it was typed
	After    string // the question that it follows up; empty: none
	Where    string // was searched
	Response *wire.SearchResponse
	Took     time.Duration
	Instant  bool // asked while typing
	// Filters are those of the query as they were typed, for a server that does not report which applied.
	Filters []string
}

// Why explains the shown results: the queries that ran, the filters and who set them, the stages with their times, and
// where each query ranked each result.
type Why struct {
	Static
	Text
	search Explained
}

// Show explains a search, from the beginning.
func (w *Why) Show(search Explained) { *w = Why{search: search} }

// Title implements Panel.
func (w *Why) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render("Why these results"), ""
}

// View implements Panel.
func (w *Why) View(width, height int, th theme.Theme) Body {
	w.Set(width, height, look{width, th.Name}, func() []string { return tell{th: th, width: max(1, width)}.all(w.search) })
	return w.Body()
}

// tell writes what is known as lines.
type tell struct {
	th    theme.Theme
	width int
}

func (t tell) all(in Explained) []string {
	if in.Response == nil {
		return []string{t.th.Muted.Render("no search yet")}
	}
	lines := []string{t.th.Muted.Render("“" + paint.Line(in.Text) + "” in " + in.Where + " · " + in.Took.Round(time.Millisecond).String())}
	if in.After != "" {
		lines = append(lines, paint.Wrap(t.th.Muted.Render("follow-up to “"+strings.TrimRight(paint.FitLine(in.After, 60), " ")+"”"), t.width)...)
	}
	lines = append(lines, "")
	lines = append(lines, t.queries(in)...)
	lines = append(lines, t.filters(in)...)
	lines = append(lines, t.stages(in.Response.Stages)...)
	lines = append(lines, t.notes(in.Response.Notes)...)
	return append(lines, t.ranks(in.Response)...)
}

// section is a heading with its lines, or with what is said when there are none.
func (t tell) section(heading, none string, lines []string) []string {
	if len(lines) == 0 {
		if none == "" {
			return nil
		}
		lines = []string{"  " + t.th.Muted.Render(none)}
	}
	return append(append([]string{t.th.Title.Render(heading)}, lines...), "")
}

func (t tell) queries(in Explained) []string {
	var lines []string
	for _, query := range in.Response.Queries {
		lines = append(lines, "  "+t.th.Number.Render(fmt.Sprintf("%4.2f", query.Weight))+"  "+
			t.th.Muted.Render(paint.Fit(query.Kind, 9))+" "+t.th.Text.Render(paint.Line(query.Query)))
	}
	heading := "Queries and weights"
	if in.Instant {
		heading += " (while typing: lexical only)"
	}
	return t.section(heading, "not reported by this server", lines)
}

func (t tell) filters(in Explained) []string {
	var lines []string
	if len(in.Response.Stages) == 0 { // such a server does not report how it searched
		for _, filter := range in.Filters {
			lines = append(lines, "  "+paint.PenOf(t.th.Chip).Write(paint.Line(filter))+t.th.Muted.Render("  set by you"))
		}
		for _, part := range wrapped("filters set by an agent or a model are not reported", t.width-2, t.th.Muted) {
			lines = append(lines, "  "+part)
		}
	}
	for _, filter := range in.Response.AppliedFilters {
		by := "you"
		if filter.SetBy != "user" {
			by = "the " + paint.Line(filter.SetBy)
		}
		lines = append(lines, "  "+paint.PenOf(t.th.Chip).Write(paint.Line(filter.Field)+" "+paint.Line(filter.Value))+
			t.th.Muted.Render("  set by "+by))
	}
	return t.section("Filters", "none", lines)
}

func (t tell) stages(stages []wire.Stage) []string {
	longest := 0.0
	for _, stage := range stages {
		longest = max(longest, stage.MS)
	}
	const barWidth = 16
	var lines []string
	for _, stage := range stages {
		line := "  " + t.th.Text.Render(paint.Fit(paint.Line(stage.Name), 11)) +
			paint.Fit(t.th.Bar.Render(Bar(stage.MS, longest, barWidth)), barWidth) + t.th.Text.Render(fmt.Sprintf(" %8.1f ms  ", stage.MS))
		outcome := t.th.Success
		switch stage.Outcome {
		case wire.OutcomeSkipped:
			outcome = t.th.Muted
		case wire.OutcomeFailed, wire.OutcomeTimeout:
			outcome = t.th.Error
		}
		line += outcome.Render(paint.Line(stage.Outcome))
		detail := t.th.Muted.Render(" · " + paint.Line(stage.Detail))
		switch {
		case stage.Detail == "":
			lines = append(lines, line)
		case paint.Width(line)+paint.Width(detail) <= t.width:
			lines = append(lines, line+detail)
		default:
			lines = append(lines, line)
			for _, part := range wrapped(stage.Detail, t.width-13, t.th.Muted) {
				lines = append(lines, paint.Blank(13)+part)
			}
		}
	}
	return t.section("Stages", "not reported by this server", lines)
}

func (t tell) notes(notes []wire.Note) []string {
	var lines []string
	for _, note := range notes {
		for _, line := range wrapped(text.Shorten(note.Text, 400), t.width-4, t.th.Text) {
			lines = append(lines, "  "+line)
		}
	}
	return t.section("Notes", "", lines)
}

// ranks tell where each query put each result.
func (t tell) ranks(response *wire.SearchResponse) []string {
	var lines []string
	reported := false
	for _, result := range response.Results {
		title := t.th.Number.Render("["+passage.Citation(result)+"] ") + t.th.Text.Render(paint.Line(passage.Title(result)))
		if result.SourceType != "" {
			title += t.th.Muted.Render(" · " + client.SourceName(result.SourceType))
		}
		lines = append(lines, "  "+paint.Fit(title, t.width-2))
		if len(result.Ranks) == 0 {
			continue
		}
		reported = true
		lines = append(lines, "      "+t.th.Muted.Render(rankText(result.Ranks)))
	}
	if !reported {
		return t.section("Ranks per query", "not reported", nil)
	}
	return t.section("Ranks per query", "", lines)
}

func rankText(ranks map[string]int) string {
	queries := slices.SortedFunc(maps.Keys(ranks), func(a, b string) int {
		return cmp.Or(cmp.Compare(ranks[a], ranks[b]), strings.Compare(a, b))
	})
	for i, query := range queries {
		queries[i] = fmt.Sprintf("%d. for “%s”", ranks[query], paint.Line(query))
	}
	return strings.Join(queries, " · ")
}
