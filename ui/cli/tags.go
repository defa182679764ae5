package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/target"
)

// jsonTag is a row of tags --json, version 1.
type jsonTag struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Source    string `json:"source"`
	Documents *int   `json:"documents,omitempty"` // of this source, where the server counts
	Origin    string `json:"origin"`
}

const defaultTags = 50

func (a *app) tagsCommand() *cobra.Command {
	limit := defaultTags
	command := &cobra.Command{
		Use:   "tags [prefix]",
		Short: "List the tags that can be searched",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.list(command.Context(), nil, func(ctx context.Context, c *client.Client, choice target.Choice) error {
				return a.printTags(ctx, c, choice, arguments, limit)
			})
		},
	}
	command.Flags().IntVar(&limit, "limit", defaultTags, "at most this many tags (`N`), 1 to 1000")
	return command
}

func (a *app) printTags(ctx context.Context, c *client.Client, choice target.Choice, arguments []string, limit int) error {
	if len(arguments) > 1 {
		return usage("Give one prefix, like team or team=in", "%d prefixes; at most one is allowed", len(arguments))
	}
	if limit < 1 || limit > tagsAsked {
		return usage("Give a number from 1 to 1000.", "--limit %d is out of range", limit)
	}
	match := ""
	if len(arguments) == 1 {
		match = arguments[0]
	}
	tags, err := c.ValidTags(ctx, match, true, limit)
	if err != nil {
		return err
	}
	counts := tagCounts(ctx, c, tags)
	found := rows[jsonTag]{}
	for _, tag := range tags {
		row := jsonTag{Key: tag.Key, Value: tag.Value, Source: tag.Source, Origin: choice.Profile}
		if count, counted := counts[tag]; counted {
			row.Documents = &count
		}
		found = append(found, row)
	}
	slices.SortStableFunc(found, func(a, b jsonTag) int {
		return cmp.Or(cmp.Compare(countOf(b), countOf(a)), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value),
			cmp.Compare(a.Source, b.Source))
	})
	if a.wantsJSON() {
		return a.printAnswer("tags", found, a.private(), false)
	}
	if len(found) == 0 {
		a.say("No tags.")
		return nil
	}
	if len(found) >= limit {
		a.note("only the first %d; narrow them with a prefix or raise --limit", limit)
	}
	return a.print([]byte(a.tagTable(found, len(counts) > 0).String()))
}

func (a *app) tagTable(found rows[jsonTag], counted bool) table {
	t := table{header: []string{"TAG", "SOURCE"}, style: a.style, width: a.io.columns()}
	if counted {
		t.header, t.right = []string{"TAG", "DOCUMENTS", "SOURCE"}, 1
	}
	for _, tag := range found {
		cells := []string{tag.Key + "=" + tag.Value}
		if counted {
			count := ""
			if tag.Documents != nil {
				count = strconv.Itoa(*tag.Documents)
			}
			cells = append(cells, count)
		}
		t.rows = append(t.rows, append(cells, tag.Source))
	}
	return t
}

func countOf(tag jsonTag) int {
	if tag.Documents == nil {
		return 0
	}
	return *tag.Documents
}

const mostTagSources = 20 // that are counted, with a request each

// tagCounts counts documents by tag and source; empty where the server does not count. It counts over all sources at
// once, so that each source is asked for by itself.
func tagCounts(ctx context.Context, c *client.Client, tags []wire.SourceTag) map[wire.SourceTag]int {
	counts := map[wire.SourceTag]int{}
	features, err := c.Features(ctx)
	if err != nil || !features.Has(wire.FeatureFacets) {
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
