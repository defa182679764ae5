package panel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	search  Explained
	details bool // what the stages report of themselves is shown
}

// Show explains a search, from the beginning.
func (w *Why) Show(search Explained) { *w = Why{search: search} }

// ToggleDetails shows or hides what the stages report of themselves, which is for those who tune a server.
func (w *Why) ToggleDetails() { *w = Why{search: w.search, details: !w.details} }

// Title implements Panel.
func (w *Why) Title(_ int, th theme.Theme) (title, beside string) {
	return th.Title.Render("Why these results"), ""
}

// View implements Panel.
func (w *Why) View(width, height int, th theme.Theme) Body {
	w.Set(width, height, look{width, th.Name}, func() []string {
		return explanation{th, max(1, width), w.details}.all(w.search)
	})
	return w.Body()
}

// explanation renders a search as lines.
type explanation struct {
	th      theme.Theme
	width   int
	details bool
}

func (e explanation) all(in Explained) []string {
	if in.Response == nil {
		return []string{e.th.Muted.Render("no search yet")}
	}
	head := fmt.Sprintf("“%s” in %s · %s", in.Text, in.Where, text.Duration(in.Took))
	lines := Wrapped(head, 0, e.width, e.th.Muted)
	if in.After != "" {
		lines = append(lines, paint.Wrap(e.th.Muted.Render("follow-up to “"+paint.Short(in.After, 60)+"”"), e.width)...)
	}
	return slices.Concat(lines, []string{""}, e.queries(in), e.filters(in), e.stages(in.Response.Stages, in.Took),
		e.notes(in.Response.Notes), e.ranks(in.Response))
}

// section is a heading with its lines, or with what is said when there are none.
func (e explanation) section(heading, none string, lines []string) []string {
	if len(lines) == 0 {
		if none == "" {
			return nil
		}
		lines = []string{"  " + e.th.Muted.Render(none)}
	}
	return append(append([]string{e.th.Title.Render(heading)}, lines...), "")
}

func (e explanation) queries(in Explained) []string {
	var lines []string
	for _, query := range in.Response.Queries {
		const before = 18 // columns
		said := Wrapped(query.Query, before, e.width, e.th.Text)
		if len(said) > 0 {
			said[0] = "  " + e.th.Number.Render(fmt.Sprintf("%4.2f", query.Weight)) + "  " +
				e.th.Muted.Render(paint.Fit(query.Kind, 9)) + said[0][before-1:]
		}
		lines = append(lines, said...)
	}
	heading := "Queries and weights"
	if in.Instant {
		heading += " (while typing: lexical only)"
	}
	return e.section(heading, "not reported by this server", lines)
}

func (e explanation) filters(in Explained) []string {
	var lines []string
	if len(in.Response.Stages) == 0 { // such a server does not report how it searched
		for _, filter := range in.Filters {
			lines = append(lines, "  "+e.th.Chip.Render(paint.Line(filter))+e.th.Muted.Render("  set by you"))
		}
		lines = append(lines, Wrapped("filters set by an agent or a model are not reported", 2, e.width, e.th.Muted)...)
	}
	for _, filter := range in.Response.AppliedFilters {
		by := "you"
		if filter.SetBy != "user" {
			by = "the " + paint.Line(filter.SetBy)
		}
		field := filter.Field
		if filter.Negated {
			field = "not " + field
		}
		lines = append(lines, "  "+e.th.Chip.Render(paint.Line(field)+" "+paint.Line(filter.Value))+
			e.th.Muted.Render("  set by "+by))
	}
	return e.section("Filters", "none", lines)
}

// stages lists the stages, and the rest of the time that the search took: they add up to it.
func (e explanation) stages(stages []wire.Stage, took time.Duration) []string {
	longest, rest := 0.0, float64(took)/float64(time.Millisecond)
	for _, stage := range stages {
		longest, rest = max(longest, stage.MS), rest-stage.MS
	}
	if len(stages) > 0 && rest >= 1 {
		longest = max(longest, rest)
		stages = append(slices.Clip(stages), wire.Stage{Name: "other", MS: rest, Outcome: "outside the stages",
			Detail: "connection, waiting, screen"})
	}
	const widestBar, besideBar = 16, 34
	barWidth := max(0, min(widestBar, e.width-besideBar))
	var lines []string
	for _, stage := range stages {
		line := "  " + e.th.Text.Render(paint.Fit(paint.Line(stage.Name), 11)) +
			paint.Fit(e.th.Bar.Render(Bar(stage.MS, longest, barWidth)), barWidth) +
			e.th.Text.Render(fmt.Sprintf(" %8.1f ms  ", stage.MS))
		outcome, detail := e.th.Success, ""
		if e.details {
			detail = stage.Detail
		}
		switch stage.Outcome {
		case wire.OutcomeSkipped, "outside the stages":
			outcome = e.th.Muted
		case wire.OutcomeFailed, wire.OutcomeTimeout:
			outcome, detail = e.th.Error, stage.Detail
		}
		line += outcome.Render(paint.Line(stage.Outcome))
		if beside := " · " + paint.Line(detail); detail != "" && paint.Width(line+beside) <= e.width {
			lines = append(lines, line+e.th.Muted.Render(beside))
			continue
		}
		lines = append(lines, line)
		lines = append(lines, Wrapped(detail, 13, e.width, e.th.Muted)...)
	}
	return e.section("Stages", "not reported by this server", lines)
}

func (e explanation) notes(notes []wire.Note) []string {
	var lines []string
	for _, note := range notes {
		lines = append(lines, Wrapped(text.Shorten(note.Text, 400), 2, e.width-2, e.th.Text)...)
	}
	return e.section("Notes", "", lines)
}

// ranks returns the rank of each result in each query.
func (e explanation) ranks(response *wire.SearchResponse) []string {
	var lines []string
	reported := false
	for _, result := range response.Results {
		title := e.th.Number.Render("["+passage.Citation(result)+"] ") +
			e.th.Text.Render(paint.Line(passage.Title(result)))
		if result.SourceType != "" {
			title += e.th.Muted.Render(" · " + wire.SourceName(result.SourceType))
		}
		lines = append(lines, "  "+paint.Fit(title, e.width-2))
		lines = append(lines, Wrapped(passage.Related(result), 6, e.width, e.th.Muted)...)
		if len(result.Ranks) == 0 {
			continue
		}
		reported = true
		lines = append(lines, Wrapped(rankText(result.Ranks), 6, e.width, e.th.Muted)...)
	}
	if !reported {
		lines = nil
	}
	return e.section("Ranks per query", "not reported", lines)
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
