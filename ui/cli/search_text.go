package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

const (
	passageLines = 6   // of a result that are shown
	widestText   = 100 // columns; longer lines are hard to read
	textIndent   = 4
)

// searchText lays results out for a person.
func (a *app) searchText(outcomes []outcome, explain bool, target Target) string {
	var text strings.Builder
	width := max(10, min(a.io.columns(), widestText+textIndent))
	for i, o := range outcomes {
		if len(outcomes) > 1 {
			if i > 0 {
				text.WriteString("\n")
			}
			text.WriteString(a.style.Title.Render(ansi.Truncate(oneLine(o.query.text), width, "…")) + "\n\n")
		}
		if o.err != nil {
			text.WriteString(a.style.Error.Render("failed: ") + oneLine(o.err.Error()) + "\n")
			continue
		}
		for j, result := range o.response.Results {
			if j > 0 {
				text.WriteString("\n")
			}
			text.WriteString(a.resultText(result, o.query.words, width))
		}
		text.WriteString(a.footer(o.response, width, explain, target))
	}
	return text.String()
}

// resultText is one result: number and title, where it comes from, where it stands, the passage, the link.
func (a *app) resultText(r wire.SearchResult, words []string, width int) string {
	var text strings.Builder
	number := "[" + citation(r) + "]"
	indent := strings.Repeat(" ", max(textIndent, ansi.StringWidth(number)+1))
	room := max(1, width-len(indent))
	title := a.style.Title.Render(ansi.Truncate(titleOf(r), room, "…"))
	fmt.Fprintf(&text, "%s%s%s\n", a.style.Number.Render(number), indent[ansi.StringWidth(number):], title)
	fmt.Fprintf(&text, "%s%s\n", indent, ansi.Truncate(a.about(r), room, "…"))
	if path := strings.Join(r.HeadingPath, " › "); path != "" {
		fmt.Fprintf(&text, "%s%s\n", indent, a.style.Muted.Render(ansi.Truncate(oneLine(path), room, "…")))
	}
	for i, line := range a.passage(r, words, room) {
		if i == 0 && len(r.HeadingPath) > 0 && headingText(line) == oneLine(r.HeadingPath[len(r.HeadingPath)-1]) {
			continue // stands above already
		}
		text.WriteString(strings.TrimRight(indent+line, " ") + "\n")
	}
	link := deref(r.Link)
	if link == "" {
		link = r.Ref
	}
	if link != "" {
		fmt.Fprintf(&text, "%s%s\n", indent, a.style.Muted.Render(oneLine(link)))
	}
	return text.String()
}

// headingText is what a line of Markdown says when it is a heading; empty for any other.
func headingText(line string) string {
	plain := ansi.Strip(line)
	text := strings.TrimLeft(plain, "#")
	if text == plain {
		return ""
	}
	return strings.TrimSpace(text)
}

func titleOf(r wire.SearchResult) string {
	if title := oneLine(r.Title); title != "" {
		return title
	}
	return "(untitled)"
}

// about is source, age and authors, as far as the server told them.
func (a *app) about(r wire.SearchResult) string {
	parts := []string{a.style.Source.Render(client.SourceName(r.SourceType))}
	if age := ageOf(deref(r.UpdatedAt), a.now()); age != "" {
		parts = append(parts, age)
	}
	if len(r.Authors) > 0 {
		parts = append(parts, oneLine(strings.Join(r.Authors, ", ")))
	}
	return strings.Join(parts, " · ")
}

// ageOf says how long ago a moment was; empty for a moment that cannot be read.
func ageOf(moment string, now time.Time) string {
	then, err := wire.ParseTime(moment)
	if err != nil {
		return ""
	}
	days := int(now.Sub(then) / (24 * time.Hour))
	switch {
	case days < -1:
		return then.Format(time.DateOnly)
	case days < 1:
		return "today"
	case days < 2:
		return "yesterday"
	case days < 14:
		return fmt.Sprintf("%d days ago", days)
	case days < 60:
		return fmt.Sprintf("%d weeks ago", days/7)
	case days < 730:
		return fmt.Sprintf("%d months ago", days/30)
	}
	return fmt.Sprintf("%d years ago", days/365)
}

// passage is the part of a result's content that matches best, wrapped, with the query's words marked.
func (a *app) passage(r wire.SearchResult, words []string, room int) []string {
	marks := highlightsOf(r, words)
	content, marks := excerpt(r, marks, room)
	marked := a.mark(content, marks)
	var lines []string
	for line := range strings.Lines(marked) {
		line = strings.TrimRight(line, "\n")
		plain := strings.TrimSpace(ansi.Strip(line))
		if plain == "" || len(lines) == 0 && isTableRule(plain) {
			continue
		}
		lines = append(lines, strings.Split(wrapped(line, room), "\n")...)
		if len(lines) > passageLines {
			lines = lines[:passageLines]
			last := &lines[passageLines-1]
			*last = cutAtWord(*last, max(0, room-2)) + " …"
			break
		}
	}
	return lines
}

// isTableRule tells the line below the head of a table, which says nothing without the head.
func isTableRule(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "--") && strings.Trim(line, "|-: ") == ""
}

// cutAtWord cuts a styled line to a width, between two words where there is more than one.
func cutAtWord(line string, width int) string {
	if ansi.StringWidth(line) <= width {
		return line
	}
	kept := ansi.Strip(ansi.Truncate(line, width, ""))
	rest := strings.TrimPrefix(ansi.Strip(line), kept)
	if space := strings.LastIndexByte(kept, ' '); space > 0 && !strings.HasPrefix(rest, " ") {
		width = ansi.StringWidth(kept[:space])
	}
	return ansi.Truncate(line, width, "")
}

// wrapped breaks styled text at spaces, and inside what is longer than a line. The first pass leaves some words with a
// dash one column too wide; the second breaks those.
func wrapped(text string, width int) string {
	var lines strings.Builder
	writer := lipgloss.NewWrapWriter(&lines)
	_, _ = io.WriteString(writer, ansi.Hardwrap(ansi.Wrap(text, width, ""), width, true)) // a builder takes everything
	_ = writer.Close()
	return lines.String()
}

// highlightsOf takes the server's highlights, or finds the query's words where there are none.
func highlightsOf(r wire.SearchResult, words []string) []wire.Span {
	if len(r.Highlights) > 0 {
		return r.Highlights
	}
	return findWords(r.Content, words)
}

// excerpt starts at the line of the best passage, or of the first match, when the beginning is too far before it to be
// shown with it; it returns the marks relative to itself.
func excerpt(r wire.SearchResult, marks []wire.Span, room int) (string, []wire.Span) {
	start := 0
	switch {
	case r.BestPassage[1] > r.BestPassage[0]:
		start = r.BestPassage[0]
	case len(marks) > 0:
		start = marks[0][0]
	}
	content := r.Content
	if start < 0 || start > len(content) || shownFromTop(content[:start], room) {
		start = 0
	}
	start = strings.LastIndexByte(content[:start], '\n') + 1
	for start > 0 && strings.Count(content[start:], "\n") < passageLines-1 {
		start = strings.LastIndexByte(content[:start-1], '\n') + 1
	}
	for start < len(content) && !utf8.RuneStart(content[start]) {
		start++
	}
	content = content[start:]
	if enough := 8 * room * passageLines; len(content) > enough {
		content = string(clipBytes([]byte(content), enough))
	}
	content = strings.ReplaceAll(content, "\t", " ")
	var moved []wire.Span
	for _, mark := range marks {
		if mark[0] >= start && mark[1] <= start+len(content) && mark[0] < mark[1] {
			moved = append(moved, wire.Span{mark[0] - start, mark[1] - start})
		}
	}
	return content, moved
}

// shownFromTop says whether what follows a beginning still lies in the upper half of the lines that are shown.
func shownFromTop(beginning string, room int) bool {
	return len(beginning) < room*passageLines/2 && strings.Count(beginning, "\n") < passageLines/2
}

// mark styles every span, word by word and never across a line, so that wrapping does not tear a style apart.
func (a *app) mark(content string, marks []wire.Span) string {
	slices.SortFunc(marks, func(x, y wire.Span) int { return x[0] - y[0] })
	var text strings.Builder
	at := 0
	for _, mark := range marks {
		if mark[0] < at || mark[1] > len(content) {
			continue
		}
		text.WriteString(content[at:mark[0]])
		for i, word := range strings.FieldsFunc(content[mark[0]:mark[1]], unicode.IsSpace) {
			if i > 0 {
				text.WriteString(" ")
			}
			text.WriteString(a.style.Match.Render(word))
		}
		at = mark[1]
	}
	text.WriteString(content[at:])
	return text.String()
}

// findWords finds words of a query in a text, whatever their case: where they begin a word, or anywhere in scripts that
// put no spaces between words. Words of one or two letters say too little to be shown, unless there are no others.
func findWords(content string, words []string) []wire.Span {
	var begin, anywhere []string
	for _, word := range words {
		switch {
		case strings.IndexFunc(word, isIdeograph) >= 0:
			anywhere = append(anywhere, word)
		case len(word) > 2 || len(words) == 1:
			begin = append(begin, word)
		}
	}
	var spans []wire.Span
	for start, end := range wordsOf(content) {
		word := content[start:end]
		if at := indexAny(word, anywhere); at[1] > 0 {
			spans = append(spans, wire.Span{start + at[0], start + at[1]})
			continue
		}
		lower := strings.ToLower(word)
		if slices.ContainsFunc(begin, func(wanted string) bool { return strings.HasPrefix(lower, wanted) }) {
			spans = append(spans, wire.Span{start, end})
		}
	}
	return spans
}

// indexAny is where the first of the words is found inside a text; an empty span when none is.
func indexAny(text string, words []string) wire.Span {
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			return wire.Span{at, at + len(word)}
		}
	}
	return wire.Span{}
}

// isIdeograph tells the letters of scripts without spaces between words.
func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// wordsOf yields the byte ranges of the runs of letters and digits.
func wordsOf(text string) func(yield func(start, end int) bool) {
	return func(yield func(int, int) bool) {
		start := -1
		for i, r := range text {
			inside := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
			switch {
			case inside && start < 0:
				start = i
			case !inside && start >= 0:
				if !yield(start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

// footer tells what else there is and how to read on.
func (a *app) footer(response *wire.SearchResponse, width int, explain bool, target Target) string {
	var text strings.Builder
	results := response.Results
	if len(results) == 0 {
		return ""
	}
	told := fmt.Sprintf("%d results", len(results))
	if len(results) == 1 {
		told = "1 result"
	}
	if fromQuarry(response) && response.TotalMatches > len(results) {
		told += fmt.Sprintf(", %d documents match", response.TotalMatches)
	}
	if len(response.Searched) > 0 {
		told += " in " + strings.Join(searchedNames(response.Searched, target), ", ")
	}
	line := func(line string) { text.WriteString(a.style.Muted.Render(line) + "\n") }
	text.WriteString("\n")
	line(ansi.Truncate(told, width, "…"))
	if results[0].Ref != "" { // whole, however narrow the terminal: half a command cannot be run
		line("read on: quarry read " + config.ShellQuote(results[0].Ref) + " --around 2" + a.targetFlags())
	}
	if explain {
		for _, detail := range explained(response) {
			line(ansi.Truncate(detail, width, "…"))
		}
	}
	return text.String()
}

// searchedNames names where was searched. A server that no profile stands for has an address and no name.
func searchedNames(searched []string, target Target) []string {
	names := slices.Clone(searched)
	for i, name := range names {
		if name == target.Profile && target.Kind == KindRemote && slices.Contains(unnamedTargets(), name) {
			names[i] = target.ServerURL
		}
	}
	return names
}

// unnamedTargets are the labels of servers that stand in no configuration.
func unnamedTargets() []string { return []string{"environment", "server", "onyx-cli"} }

// targetFlags repeats the flags that chose the target, for a command to run next.
func (a *app) targetFlags() string {
	switch {
	case a.flags.sample:
		return " --sample"
	case a.flags.library != "":
		return " --library " + config.ShellQuote(a.flags.library)
	case a.flags.profile != "":
		return " --profile " + config.ShellQuote(a.flags.profile)
	case a.flags.server != "":
		return " --server " + config.ShellQuote(a.flags.server)
	}
	return ""
}

// explained lists the stages and queries of a search.
func explained(response *wire.SearchResponse) []string {
	var lines []string
	for _, query := range response.Queries {
		lines = append(lines, fmt.Sprintf("query (%s, weight %g): %s", query.Kind, query.Weight, oneLine(query.Query)))
	}
	for _, filter := range response.AppliedFilters {
		lines = append(lines, fmt.Sprintf("filter %s = %s (set by %s)", filter.Field, oneLine(filter.Value), filter.SetBy))
	}
	for _, stage := range response.Stages {
		line := fmt.Sprintf("%s: %s, %.1f ms", stage.Name, stage.Outcome, stage.MS)
		if detail := oneLine(stage.Detail); detail != "" {
			line += ": " + detail
		}
		lines = append(lines, line)
	}
	return lines
}
