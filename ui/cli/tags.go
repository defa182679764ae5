package cli

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
)

// jsonTag is a row of tags --json, version 1.
type jsonTag struct {
	Key       string `json:"key"`
	Value     string `json:"value"`
	Source    string `json:"source"`
	Documents *int   `json:"documents,omitempty"` // over all sources, where the server counts
	Origin    string `json:"origin"`
}

const defaultTags = 50

func (a *app) tagsCommand() *cobra.Command {
	limit := defaultTags
	command := &cobra.Command{
		Use:  "tags [prefix]",
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.list(command.Context(), nil, func(ctx context.Context, c *client.Client, target Target) error {
				return a.printTags(ctx, c, target, arguments, limit)
			})
		},
	}
	a.document(command, tagsHelp())
	command.Flags().IntVar(&limit, "limit", defaultTags, "at most this many tags (`N`), 1 to 1000")
	return command
}

func (a *app) printTags(ctx context.Context, c *client.Client, target Target, arguments []string, limit int) error {
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
	counts := tagCounts(ctx, c)
	found := rows[jsonTag]{}
	for _, tag := range tags {
		row := jsonTag{Key: tag.Key, Value: tag.Value, Source: tag.Source, Origin: target.Profile}
		if count, counted := counts[wire.Tag{Key: tag.Key, Value: tag.Value}]; counted {
			row.Documents = &count
		}
		found = append(found, row)
	}
	if a.wantsJSON() {
		return a.printAnswer("tags", found, target.Private, false)
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

// tagCounts counts documents by tag; nil where the server does not count.
func tagCounts(ctx context.Context, c *client.Client) map[wire.Tag]int {
	facets := countFacets(ctx, c)
	if facets == nil {
		return nil
	}
	counts := map[wire.Tag]int{}
	for _, tag := range facets.Tags {
		counts[wire.Tag{Key: tag.Key, Value: tag.Value}] = tag.Count
	}
	return counts
}
