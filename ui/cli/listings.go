package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	grid "charm.land/lipgloss/v2/table"
	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/target"
)

// listingCommands returns the commands that list what can be searched.
func (a *app) listingCommands() []*cobra.Command {
	lists := func(row any) traits { return traits{class: reads, guests: true, json: prints(row)} }
	return []*cobra.Command{
		a.listing("sources", "List the sources that can be searched", lists([]sourceRow{}), a.printSources),
		a.listing("agents", "List the agents that can be used", lists([]agentRow{}), a.printAgents),
		a.listing("document-sets", "List the document sets that can be searched", lists([]setRow{}), a.printSets),
		a.tagsCommand(),
	}
}

// listing returns a command that lists something of the target.
func (a *app) listing(use, short string, is traits,
	show func(ctx context.Context, c *client.Client, choice target.Choice, arguments []string)) *cobra.Command {
	return a.targetCommand(use, short, is, func(ctx context.Context, choice target.Choice, arguments []string) {
		a.with(ctx, a.onTarget(choice),
			func(ctx context.Context, c *client.Client) { show(ctx, c, choice, arguments) })
	})
}

// wantsJSON reports whether a listing is JSON: asked for, or without a terminal.
func (a *app) wantsJSON() bool { return a.flags.JSON || !a.io.OutTTY }

// The rows of listings in JSON begin with the keys of Onyx's CLI.

type agentRow struct {
	ID               int      `json:"id" jsonschema:"argument of --agent-id"`
	Name             string   `json:"name" jsonschema:"argument of --agent"`
	Description      string   `json:"description"`
	IsDefaultPersona bool     `json:"is_default_persona" jsonschema:"always false; servers no longer send it"`
	IsListed         bool     `json:"is_listed"`
	DocumentSets     []string `json:"document_sets" jsonschema:"that the agent searches; empty: all"`
	KnowledgeSources []string `json:"knowledge_sources"`
	Origin           string   `json:"origin" jsonschema:"profile of the server"`
}

type setRow struct {
	ID          int      `json:"id"`
	Name        string   `json:"name" jsonschema:"argument of --document-set"`
	Description string   `json:"description"`
	Sources     []string `json:"sources"`
	Documents   *int     `json:"documents,omitempty" jsonschema:"that you can see"`
	IsPublic    bool     `json:"is_public"`
	Origin      string   `json:"origin" jsonschema:"profile of the server"`
}

type tagRow struct {
	Key       string `json:"key"`
	Value     string `json:"value" jsonschema:"argument of --tag, as KEY=VALUE"`
	Source    string `json:"source"`
	Documents *int   `json:"documents,omitempty" jsonschema:"that you can see"`
	Origin    string `json:"origin" jsonschema:"profile of the server"`
}

type sourceRow struct {
	Source      string `json:"source" jsonschema:"argument of --source"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Documents   *int   `json:"documents,omitempty" jsonschema:"that you can see"`
	Status      string `json:"status,omitempty" jsonschema:"of the connector, such as ACTIVE or PAUSED"`
	ListedBy    string `json:"listed_by" jsonschema:"connected, workspace, tags, or known: the server listed nothing"`
	Origin      string `json:"origin" jsonschema:"profile of the server"`
}

// printList prints rows as JSON or as a table. For people, none says that there are no rows.
func printList[T any](a *app, kind string, found []T, none string, t table, cells func(T) []string) {
	switch {
	case a.wantsJSON():
		a.printAnswer(kind, rowsAnswer(found))
		return
	case len(found) == 0:
		a.say("%s", none)
		return
	}
	t.style, t.width = a.style, a.io.columns()
	t.rows = exslices.CastFunc(found, cells)
	t.dropEmpty()
	a.show(t.String())
}

// countOf returns a count; nil if the server does not count.
func countOf[K comparable](counts map[K]int, key K) *int {
	if counts == nil {
		return nil
	}
	return new(counts[key])
}

func countCell(count *int) string {
	if count == nil {
		return ""
	}
	return strconv.Itoa(*count)
}

func (a *app) printAgents(ctx context.Context, c *client.Client, choice target.Choice, _ []string) {
	var found []agentRow
	for _, persona := range guard.Must(c.Personas(ctx)) {
		if !persona.IsListed {
			continue
		}
		sets := exslices.CastFunc(persona.DocumentSets, func(set wire.DocumentSet) string { return set.Name })
		found = append(found, agentRow{persona.ID, persona.Name, persona.Description, false, true, sets,
			persona.KnowledgeSources, choice.Profile})
	}
	printList(a, "agents", found, "No agents available.", table{header: []string{"ID", "NAME", "DESCRIPTION"}},
		func(r agentRow) []string { return []string{strconv.Itoa(r.ID), r.Name, r.Description} })
}

func (a *app) printSets(ctx context.Context, c *client.Client, choice target.Choice, _ []string) {
	sets := guard.Must(c.DocumentSets(ctx))
	counts := c.Counts(ctx, field.Set)
	var found []setRow
	for i, set := range sets {
		connected := exslices.CastFunc(set.CCPairSummaries, func(c wire.ConnectorSummary) string { return c.Source })
		sources := exslices.DeduplicateUnsorted(connected)
		if len(sources) == 0 && counts[set.Name] > 0 && i < mostSets { // of files, which no connector brought
			sources = sourcesOf(ctx, c, set.Name)
		}
		found = append(found, setRow{set.ID, set.Name, text.OrEmpty(set.Description), sources,
			countOf(counts, set.Name), set.IsPublic, choice.Profile})
	}
	printList(a, "document-sets", found, "No document sets. Create one: quarry add PATH --set NAME",
		table{header: []string{"NAME", "DOCUMENTS", "SOURCES", "DESCRIPTION"}, optional: 1, right: 1},
		func(r setRow) []string {
			return []string{r.Name, countCell(r.Documents), strings.Join(r.Sources, ", "), r.Description}
		})
}

// mostSets is how many document sets are asked for their sources, with a request each.
const mostSets = 50

// sourcesOf returns the sources of the documents in a set; none where they cannot be counted.
func sourcesOf(ctx context.Context, c *client.Client, set string) []string {
	found, err := c.Facets(ctx, wire.SearchRequest{Filters: wire.Filters{DocumentSets: []string{set}}})
	if err != nil {
		return nil
	}
	return exslices.CastFunc(found.Facets.Sources, func(source wire.FacetValue) string { return source.Value })
}

const (
	defaultTags    = 50
	mostTags       = 1000
	mostTagSources = 20 // that are counted, with a request each
)

func (a *app) tagsCommand() *cobra.Command {
	var limit int
	is := traits{class: reads, guests: true, arguments: cobra.NoFileCompletions, json: prints([]tagRow{})}
	command := a.listing("tags [PREFIX]", "List the tags that can be searched", is,
		func(ctx context.Context, c *client.Client, choice target.Choice, arguments []string) {
			a.printTags(ctx, c, choice, strings.Join(arguments, ""), limit)
		})
	command.Flags().IntVarP(&limit, "limit", "n", defaultTags, "number of tags (`N`), 1 to 1000")
	return command
}

func (a *app) printTags(ctx context.Context, c *client.Client, choice target.Choice, prefix string, limit int) {
	checkRange("limit", limit, 1, mostTags)
	tags := guard.Must(c.ValidTags(ctx, prefix, limit))
	counts := tagCounts(ctx, c, tags)
	slices.SortStableFunc(tags, func(a, b wire.SourceTag) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.Source, b.Source))
	})
	var found []tagRow
	for _, tag := range tags {
		var count *int
		if _, counted := counts[tag]; counted {
			count = countOf(counts, tag)
		}
		found = append(found, tagRow{tag.Key, tag.Value, tag.Source, count, choice.Profile})
	}
	if len(found) >= limit && !a.wantsJSON() {
		a.note("showing the first %d tags; give a prefix or raise --limit", limit)
	}
	printList(a, "tags", found, "No tags.",
		table{header: []string{"TAG", "DOCUMENTS", "SOURCE"}, optional: 1, right: 1},
		func(r tagRow) []string { return []string{r.Key + "=" + r.Value, countCell(r.Documents), r.Source} })
}

// tagCounts counts documents by tag and source; empty if the server does not count. A server counts tags over all
// sources at once, so each source needs a request.
func tagCounts(ctx context.Context, c *client.Client, tags []wire.SourceTag) map[wire.SourceTag]int {
	counts := map[wire.SourceTag]int{}
	if !c.CanCount(ctx) {
		return counts
	}
	tagged := exslices.CastFunc(tags, func(tag wire.SourceTag) string { return tag.Source })
	sources := exslices.DeduplicateUnsorted(tagged)
	if len(sources) > mostTagSources {
		return counts
	}
	for _, source := range sources {
		found, err := c.Facets(ctx, wire.SearchRequest{Filters: wire.Filters{Sources: []string{source}}})
		if err != nil {
			return map[wire.SourceTag]int{}
		}
		for _, tag := range found.Facets.Tags {
			counts[wire.SourceTag{Key: tag.Key, Value: tag.Value, Source: source}] = tag.Count
		}
	}
	return counts
}

func (a *app) printSources(ctx context.Context, c *client.Client, choice target.Choice, _ []string) {
	list := guard.Must(c.Sources(ctx))
	if list.Origin == "" {
		list.Origin = client.ListedByNothing
		list.Values = client.OfferedSources()
		slices.Sort(list.Values)
	}
	counts := c.Counts(ctx, field.Source)
	found := exslices.CastFunc(list.Values, func(source string) sourceRow {
		return sourceRow{source, wire.SourceName(source), client.SourceDescription(source), countOf(counts, source),
			list.Status[source], list.Origin, choice.Profile}
	})
	if note := listingNote(list.Origin); note != "" && (!a.wantsJSON() || list.Origin != client.ListedForAll) {
		a.note("%s", note)
	}
	printList(a, "sources", found, "No sources. Add files: quarry add PATH",
		table{header: []string{"SOURCE", "NAME", "DOCUMENTS", "DESCRIPTION"}, optional: 2, right: 2}, sourceRow.cells)
}

func (r sourceRow) cells() []string {
	description := r.Description
	if r.Status != "" && r.Status != "ACTIVE" {
		description = strings.TrimSpace(description + " (" +
			strings.ToLower(strings.ReplaceAll(r.Status, "_", " ")) + ")")
	}
	return []string{r.Source, r.Name, countCell(r.Documents), description}
}

// listingNote says what a list of sources does not show; nothing if it is what the caller can search.
func listingNote(origin string) string {
	return map[string]string{
		client.ListedForAll: "these sources are connected to the workspace; you may not have access to all",
		client.ListedByTags: "the token cannot list connectors: these sources have tagged documents, and there " +
			"may be more",
		client.ListedByNothing: "the token cannot list sources: these are the sources that quarry knows, connected " +
			"or not",
	}[origin]
}

// table lays rows out in columns of a terminal.
type table struct {
	header   []string
	rows     [][]string
	right    int // column that is aligned to the right; 0 for none
	optional int // column that is left out if all its cells are empty; 0 for none
	style    theme.Palette
	width    int
}

// dropEmpty removes the optional column if all its cells are empty.
func (t *table) dropEmpty() {
	at := t.optional
	if at == 0 || slices.ContainsFunc(t.rows, func(row []string) bool { return row[at] != "" }) {
		return
	}
	t.header = slices.Delete(t.header, at, at+1)
	if t.right == at {
		t.right = 0
	}
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, at, at+1)
	}
}

const columnGap = 2

// String renders the table with a line break at the end. Where it does not fit, the widest cells are cut.
func (t table) String() string {
	g := grid.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(
		false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).Wrap(false).StyleFunc(t.cellStyle)
	widths := t.widths()
	cut := func(row []string) (cells []string) {
		for i, cell := range row {
			cells = append(cells, ansi.Truncate(text.OneLine(cell), widths[i], "…"))
		}
		return cells
	}
	g.Headers(cut(t.header)...)
	for _, row := range t.rows {
		g.Row(cut(row)...)
	}
	var b strings.Builder
	for line := range strings.Lines(g.String()) {
		b.WriteString(strings.TrimRight(ansi.Truncate(line, t.width, "…"), " \n") + "\n")
	}
	return b.String()
}

// widths are those of the columns, of which the widest ones give what is too much for the terminal.
func (t table) widths() []int {
	const least = 3
	widths, left := make([]int, len(t.header)), t.width-columnGap*(len(t.header)-1)
	for i, name := range t.header {
		widths[i] = ansi.StringWidth(name)
		for _, row := range t.rows {
			widths[i] = max(widths[i], ansi.StringWidth(text.OneLine(row[i])))
		}
		left -= widths[i]
	}
	for ; left < 0; left++ {
		widest := slices.Index(widths, slices.Max(widths))
		widths[widest] = max(least, widths[widest]-1)
	}
	return widths
}

func (t table) cellStyle(row, column int) lipgloss.Style {
	style := lipgloss.NewStyle()
	switch {
	case row == grid.HeaderRow:
		style = *t.style.Muted.Style
	case column == 0:
		style = *t.style.Source.Style
	}
	if column == t.right && column > 0 {
		style = style.Align(lipgloss.Right)
	}
	if column < len(t.header)-1 {
		style = style.PaddingRight(columnGap)
	}
	return style
}
