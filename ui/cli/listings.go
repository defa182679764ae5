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
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/target"
)

// listing returns a command that lists something of the target.
func (a *app) listing(use, short string,
	show func(ctx context.Context, c *client.Client, choice target.Choice, arguments []string) error) *cobra.Command {
	return a.targetCommand(use, short, func(ctx context.Context, choice target.Choice, arguments []string) error {
		return a.with(ctx, a.onTarget(choice), func(ctx context.Context, c *client.Client) error {
			return show(ctx, c, choice, arguments)
		})
	})
}

// wantsJSON reports whether a listing is JSON: asked for, or without a terminal.
func (a *app) wantsJSON() bool { return a.flags.json || !a.io.OutTTY }

// listed is a row of a listing, as JSON and as cells. Its JSON, version 1, begins with the keys of Onyx's CLI.
type listed struct {
	object
	cells []string
}

func (l listed) row() []string { return l.cells }

// printList prints rows as JSON or as a table. For people, none says that there are no rows.
func printList[T any](a *app, kind string, found []T, none string, private bool, t table, cells func(T) []string) error {
	if a.wantsJSON() {
		return a.printAnswer(kind, rowsAnswer(found), private)
	}
	if len(found) == 0 {
		a.say("%s", none)
		return nil
	}
	t.style, t.width = a.style, a.io.columns()
	for _, row := range found {
		t.rows = append(t.rows, cells(row))
	}
	t.dropEmpty()
	return a.show([]byte(t.String()))
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

func countsDocuments(ctx context.Context, c *client.Client) bool {
	features, err := c.Features(ctx)
	return err == nil && features.Has(wire.FeatureFacets)
}

// documentCounts counts the documents that the caller may see by the values of a facet; nil if the server does not count.
func documentCounts(ctx context.Context, c *client.Client, facet func(wire.Facets) []wire.FacetValue) map[string]int {
	if !countsDocuments(ctx, c) {
		return nil
	}
	found, err := c.Facets(ctx, wire.SearchRequest{})
	if err != nil {
		return nil
	}
	counts := map[string]int{}
	for _, value := range facet(found.Facets) {
		counts[value.Value] = value.Count
	}
	return counts
}

func (a *app) printAgents(ctx context.Context, c *client.Client, choice target.Choice, _ []string) error {
	personas, err := c.Personas(ctx)
	if err != nil {
		return err
	}
	var found []listed
	for _, persona := range personas {
		if !persona.IsListed {
			continue
		}
		sets := exslices.CastFunc(persona.DocumentSets, func(set wire.DocumentSet) string { return set.Name })
		found = append(found, listed{object{{"id", persona.ID}, {"name", persona.Name}, {"description", persona.Description},
			{"is_default_persona", false}, // servers no longer send it; scripts still read it
			{"is_listed", true}, {"document_sets", sets}, {"knowledge_sources", persona.KnowledgeSources}, {"origin", choice.Profile}},
			[]string{strconv.Itoa(persona.ID), persona.Name, persona.Description}})
	}
	return printList(a, "agents", found, "No agents available.", a.private(), table{header: []string{"ID", "NAME", "DESCRIPTION"}}, listed.row)
}

func (a *app) printSets(ctx context.Context, c *client.Client, choice target.Choice, _ []string) error {
	sets, err := c.DocumentSets(ctx)
	if err != nil {
		return err
	}
	counts := documentCounts(ctx, c, func(f wire.Facets) []wire.FacetValue { return f.DocumentSets })
	var found []listed
	for _, set := range sets {
		var sources []string
		for _, connector := range set.CCPairSummaries {
			sources = union(sources, []string{connector.Source})
		}
		count, description := countOf(counts, set.Name), text.OrEmpty(set.Description)
		found = append(found, listed{object{{"id", set.ID}, {"name", set.Name}, {"description", description}, {"sources", sources},
			{"documents?", count}, {"is_public", set.IsPublic}, {"origin", choice.Profile}},
			[]string{set.Name, countCell(count), strings.Join(sources, ", "), description}})
	}
	return printList(a, "document-sets", found, "No document sets. Create one: quarry add PATH --set NAME", a.private(),
		table{header: []string{"NAME", "DOCUMENTS", "SOURCES", "DESCRIPTION"}, optional: 1, right: 1}, listed.row)
}

const (
	defaultTags    = 50
	mostTags       = 1000
	mostTagSources = 20 // that are counted, with a request each
)

func (a *app) tagsCommand() *cobra.Command {
	var limit int
	command := a.listing("tags [PREFIX]", "List the tags that can be searched",
		func(ctx context.Context, c *client.Client, choice target.Choice, arguments []string) error {
			return a.printTags(ctx, c, choice, strings.Join(arguments, ""), limit)
		})
	command.Flags().IntVarP(&limit, "limit", "n", defaultTags, "number of tags (`N`), 1 to 1000")
	return command
}

func (a *app) printTags(ctx context.Context, c *client.Client, choice target.Choice, prefix string, limit int) error {
	if err := checkRange("limit", limit, 1, mostTags); err != nil {
		return err
	}
	tags, err := c.ValidTags(ctx, prefix, true, limit)
	if err != nil {
		return err
	}
	counts := tagCounts(ctx, c, tags)
	slices.SortStableFunc(tags, func(a, b wire.SourceTag) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.Source, b.Source))
	})
	var found []listed
	for _, tag := range tags {
		var count *int
		if _, counted := counts[tag]; counted {
			count = countOf(counts, tag)
		}
		found = append(found, listed{object{{"key", tag.Key}, {"value", tag.Value}, {"source", tag.Source}, {"documents?", count},
			{"origin", choice.Profile}}, []string{tag.Key + "=" + tag.Value, countCell(count), tag.Source}})
	}
	if len(found) >= limit && !a.wantsJSON() {
		a.note("showing the first %d tags; give a prefix or raise --limit", limit)
	}
	return printList(a, "tags", found, "No tags.", a.private(),
		table{header: []string{"TAG", "DOCUMENTS", "SOURCE"}, optional: 1, right: 1}, listed.row)
}

// tagCounts counts documents by tag and source; empty if the server does not count. A server counts tags over all
// sources at once, so each source needs a request.
func tagCounts(ctx context.Context, c *client.Client, tags []wire.SourceTag) map[wire.SourceTag]int {
	counts := map[wire.SourceTag]int{}
	if !countsDocuments(ctx, c) {
		return counts
	}
	var sources []string
	for _, tag := range tags {
		sources = union(sources, []string{tag.Source})
	}
	if len(sources) > mostTagSources {
		return counts
	}
	for _, source := range sources {
		found, err := c.Facets(ctx, wire.SearchRequest{Sources: []string{source}})
		if err != nil {
			return map[wire.SourceTag]int{}
		}
		for _, tag := range found.Facets.Tags {
			counts[wire.SourceTag{Key: tag.Key, Value: tag.Value, Source: source}] = tag.Count
		}
	}
	return counts
}

func (a *app) printSources(ctx context.Context, c *client.Client, choice target.Choice, _ []string) error {
	list := c.ListSources(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	if list.Origin == "" {
		if _, err := c.Me(ctx); err != nil { // a server that is not there, or refuses the token
			return err
		}
		list.Origin = client.ListedByNothing
		list.Values = sourceValues(client.IsOffered)
		slices.Sort(list.Values)
	}
	counts := documentCounts(ctx, c, func(f wire.Facets) []wire.FacetValue { return f.Sources })
	var found []listed
	for _, source := range list.Values {
		count, status := countOf(counts, source), list.Status[source]
		description := client.SourceDescription(source)
		row := object{{"source", source}, {"name", client.SourceName(source)}, {"description", description}, {"documents?", count},
			{"status?", status}, {"listed_by", list.Origin}, {"origin", choice.Profile}}
		if status != "" && status != "ACTIVE" {
			description = strings.TrimSpace(description + " (" + strings.ToLower(strings.ReplaceAll(status, "_", " ")) + ")")
		}
		found = append(found, listed{row, []string{source, client.SourceName(source), countCell(count), description}})
	}
	if note := listingNote(list.Origin); note != "" && (!a.wantsJSON() || list.Origin == client.ListedByNothing) {
		a.note("%s", note)
	}
	return printList(a, "sources", found, "No sources. Add files: quarry add PATH", a.private(),
		table{header: []string{"SOURCE", "NAME", "DOCUMENTS", "DESCRIPTION"}, optional: 2, right: 2}, listed.row)
}

// listingNote says what a list of sources does not show; nothing if it is what the caller can search.
func listingNote(origin string) string {
	return map[string]string{
		client.ListedForAll:    "these sources are connected to the workspace; you may not have access to all",
		client.ListedByTags:    "the token may not list connectors; these sources have tagged documents, there may be more",
		client.ListedByNothing: "the token may not list sources; these are all sources that Onyx supports",
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
	t.header, t.right = slices.Delete(t.header, at, at+1), 0
	for i, row := range t.rows {
		t.rows[i] = slices.Delete(row, at, at+1)
	}
}

const columnGap = 2

// String renders the table with a line break at the end. Cells that do not fit are cut.
func (t table) String() string {
	g := grid.New().Border(lipgloss.HiddenBorder()).BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).
		BorderColumn(false).BorderHeader(false).Wrap(false).Headers(t.header...).StyleFunc(t.cellStyle)
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = text.OneLine(cell)
		}
		g.Row(cells...)
	}
	rendered := g.String()
	if lipgloss.Width(rendered) > t.width {
		rendered = g.Width(t.width).String()
	}
	var b strings.Builder
	for line := range strings.Lines(rendered) {
		b.WriteString(strings.TrimRight(ansi.Truncate(line, t.width, "…"), " \n") + "\n")
	}
	return b.String()
}

func (t table) cellStyle(row, column int) lipgloss.Style {
	style := lipgloss.NewStyle()
	switch {
	case row == grid.HeaderRow:
		style = t.style.Muted
	case column == 0:
		style = t.style.Source
	}
	if column == t.right && column > 0 {
		style = style.Align(lipgloss.Right)
	}
	if column < len(t.header)-1 {
		style = style.PaddingRight(columnGap)
	}
	return style
}
