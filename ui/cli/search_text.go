package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"go.mau.fi/util/exslices"

	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/pattern"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/explorer/paint"
	"quarry/ui/passage"
	"quarry/ui/target"
)

const (
	passageLines = 6   // of a result that are shown
	widestText   = 100 // columns; longer lines are hard to read
	textIndent   = 4
)

// searchText lays results out for a person.
func (a *app) searchText(outcomes []outcome, explain bool, choice target.Choice) string {
	var b strings.Builder
	width := max(10, min(a.io.columns(), widestText+textIndent))
	for i, o := range outcomes {
		if len(outcomes) > 1 {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(a.style.Title.Render(ansi.Truncate(text.OneLine(o.query.text), width, "…")) + "\n\n")
		}
		if o.err != nil {
			b.WriteString(a.style.Error.Render("failed: ") + text.OneLine(o.err.Error()) + "\n")
			continue
		}
		further := passage.Further(o.response.Results)
		for j, result := range o.response.Results {
			if j > 0 {
				b.WriteString("\n")
			}
			if j == further {
				b.WriteString(a.style.Muted.Render("── "+passage.FurtherResults+" ──") + "\n\n")
			}
			b.WriteString(a.resultText(result, o.query.words, width, len(o.response.Searched) > 1))
		}
		b.WriteString(a.footer(o.response, width, explain, choice))
	}
	return b.String()
}

// resultText renders one result: number and title, source, headings, passage, link. If several
// servers were searched, it names the server.
func (a *app) resultText(r wire.SearchResult, words []string, width int, several bool) string {
	var b strings.Builder
	number := "[" + passage.Citation(r) + "]"
	indent := strings.Repeat(" ", max(textIndent, ansi.StringWidth(number)+1))
	room := max(1, width-len(indent))
	short := func(line string) string { return ansi.Truncate(line, room, "…") }
	title, muted := a.style.Title.Render(short(passage.Title(r))), a.style.Muted.Render
	fmt.Fprintf(&b, "%s%s%s\n", a.style.Number.Render(number), indent[ansi.StringWidth(number):], title)
	path := text.OneLine(strings.Join(r.HeadingPath, " › "))
	lines := []string{short(a.about(r, several)), muted(short(path)), muted(short(passage.Related(r)))}
	lines = append(lines, a.passage(r, words, room)...)
	lines = append(lines, muted(text.OneLine(cmp.Or(text.OrEmpty(r.Link), r.Ref))))
	for _, line := range lines {
		if line != "" {
			b.WriteString(strings.TrimRight(indent+line, " ") + "\n")
		}
	}
	return b.String()
}

// about lists source, age and authors, if known.
func (a *app) about(r wire.SearchResult, several bool) string {
	source, from := a.style.Source.Render(wire.SourceName(r.SourceType)), ""
	if several {
		from = "from " + text.OneLine(r.Origin)
	}
	age := passage.Age(text.OrEmpty(r.UpdatedAt), a.now())
	return text.Join(" · ", source, age, text.OneLine(strings.Join(r.Authors, ", ")), from)
}

// passage is the part of a result's content that matches best, wrapped, with the query's words marked.
func (a *app) passage(r wire.SearchResult, words []string, room int) []string {
	shown := passage.Excerpt(r, words, passageLines, room)
	above := append(exslices.CastFunc(r.HeadingPath, text.OneLine), text.OneLine(passage.Title(r)))
	for len(shown) > 1 && slices.Contains(above, shown[0].Text) {
		shown = shown[1:] // printed above: the title, a heading, or the line that names a message's author
	}
	var lines []string
	for _, line := range shown {
		if line.Text == "" {
			continue
		}
		lead, style := line.Lead, theme.Style{}
		if len(lead) > room/4 {
			lead = strings.TrimLeft(lead, " ")
		}
		if line.Kind == passage.Headline {
			style = a.style.Title
		}
		content := strings.ReplaceAll(line.Text, "\t", " ")
		for _, part := range paint.WrapSpans(content, room-len(lead)) {
			marks := paint.SpansWithin(line.Marks, part)
			lines = append(lines, lead+paint.Marked(content[part.Start:part.End], marks, style, a.style.Match))
			lead = paint.Blank(len(lead))
		}
		if len(lines) > passageLines {
			lines = lines[:passageLines]
			last := &lines[passageLines-1]
			*last = cutAtWord(*last, max(0, room-2)) + " …"
			break
		}
	}
	return lines
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

// footer renders the counts and the command that reads on.
func (a *app) footer(response *wire.SearchResponse, width int, explain bool, choice target.Choice) string {
	var b strings.Builder
	results := response.Results
	if len(results) == 0 {
		return ""
	}
	matching := 0
	for _, r := range results {
		if passage.Lack(r) == "" {
			matching++
		}
	}
	counts := text.Count(matching, "result")
	if matching < len(results) {
		counts += ", " + text.Count(len(results)-matching, "further result")
	}
	if fromQuarry(response) && response.TotalMatches > matching {
		counts += ", " + passage.Total(response) + " match"
	}
	if len(response.Searched) > 0 {
		counts += " in " + strings.Join(searchedNames(response.Searched, choice), ", ")
	}
	line := func(line string) { b.WriteString(a.style.Muted.Render(line) + "\n") }
	b.WriteString("\n")
	line(ansi.Truncate(counts, width, "…"))
	if results[0].Ref != "" { // whole, however narrow the terminal: half a command cannot be run
		ref := config.ShellQuote(results[0].ShortestRef())
		line("read on: quarry read " + ref + " --around 2" + a.readFlags(results[0], choice))
	}
	if explain {
		for _, detail := range explained(response) {
			line(ansi.Truncate(detail, width, "…"))
		}
	}
	return b.String()
}

// searchedNames returns the names of what was searched. A server without a profile is named by its address.
func searchedNames(searched []string, choice target.Choice) []string {
	names := slices.Clone(searched)
	for i, name := range names {
		if name == choice.Profile && choice.Kind == target.KindRemote && !choice.IsNamed() {
			names[i] = choice.ServerURL
		}
	}
	return names
}

// readFlags returns the flags to read a result, which name its profile if that is not the target.
func (a *app) readFlags(result wire.SearchResult, choice target.Choice) string {
	if len(choice.Beside()) > 0 && result.Origin != choice.Profile {
		return " --profile " + config.ShellQuote(result.Origin)
	}
	return a.targetFlags()
}

// targetFlags repeats the flags that chose the target, for a command to run next.
func (a *app) targetFlags() string {
	if a.flags.Sample {
		return " --sample"
	}
	return repeatFlag("library", a.namedLibrary()) + repeatFlag("profile", a.flags.Profile) +
		repeatFlag("server", a.flags.Server)
}

// commandInHint matches the commands that hints name without their arguments.
var commandInHint = pattern.Lazy(
	`quarry (sync --check|status|sources|agents|document-sets|validate-config|admin [a-z-]+ list)\b`)

// withTarget returns the hint of a failure. Its commands have the flags that chose the target; sync takes no profile.
func (a *app) withTarget(failure *Failure) string {
	flags := a.targetFlags()
	if strings.Contains(failure.Do, flags) || a.flags.Library == "" && strings.Contains(failure.Do, "quarry sync") {
		return failure.Do
	}
	return commandInHint().ReplaceAllStringFunc(failure.Do, func(command string) string { return command + flags })
}

// repeatFlag writes a flag that was given, for a command to run next.
func repeatFlag(name, value string) string {
	if value == "" {
		return ""
	}
	return " --" + name + " " + config.ShellQuote(value)
}

// explained lists the stages and queries of a search.
func explained(response *wire.SearchResponse) []string {
	lines := exslices.CastFunc(response.Queries, func(query wire.ExecutedQuery) string {
		return fmt.Sprintf("query (%s, weight %g): %s", query.Kind, query.Weight, text.OneLine(query.Query))
	})
	for _, filter := range response.AppliedFilters {
		equals := "="
		if filter.Negated {
			equals = "!="
		}
		lines = append(lines,
			fmt.Sprintf("filter %s %s %s (set by %s)", filter.Field, equals, text.OneLine(filter.Value), filter.SetBy))
	}
	for _, stage := range response.Stages {
		line := fmt.Sprintf("%s: %s, %.1f ms", stage.Name, stage.Outcome, stage.MS)
		if detail := text.OneLine(stage.Detail); detail != "" {
			line += ": " + detail
		}
		lines = append(lines, line)
	}
	return lines
}

// agentAnswer is what a language model reads of a search: a short block a result, and the next step in the last line. A
// document is described once, and a passage is shown once, also when several queries find it.
func (a *app) agentAnswer(outcomes []outcome, choice target.Choice) answer {
	return answer{sizes: resultCounts(outcomes), value: func(c cut) any {
		var blocks passage.Blocks
		written := eachResult(outcomes, c, func(o outcome, r wire.SearchResult) string {
			excerpt := passage.Short(r, o.query.words, passage.BlockExcerpt)
			if c.content >= 0 {
				excerpt = text.Clip(excerpt, c.content)
			}
			blocks.Origins = len(o.response.Searched) > 1
			return blocks.Block(passage.Best(r), excerpt)
		})
		last := a.nextStep(outcomes, choice)
		if c.note != nil {
			short := *c.note
			short.FullResponsePath = nil
			last += " " + short.line()
		}
		return written + last + "\n"
	}}
}

// nextStep is what a reader of the results can do, in one line.
func (a *app) nextStep(outcomes []outcome, choice target.Choice) string {
	found := false
	for _, o := range outcomes {
		for _, r := range o.results() {
			if r.Ref != "" {
				return "next: quarry read REF --around 1" + a.readFlags(r, choice) + ", or search in other words"
			}
			found = true
		}
	}
	if found {
		return "next: open a link, or search in other words; this server shows no more of a document"
	}
	return "next: search in other words or with fewer filters; quarry sources" + a.targetFlags() +
		" lists what can be searched"
}
