package cli

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/ui/target"
)

// jsonSet is a row of document-sets --json, version 1.
type jsonSet struct {
	ID          int      `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Sources     []string `json:"sources"`
	Documents   *int     `json:"documents,omitempty"` // where the server counts
	IsPublic    bool     `json:"is_public"`
	Origin      string   `json:"origin"`
}

func (a *app) documentSetsCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "document-sets",
		Short: "List the document sets that can be searched",
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.list(command.Context(), arguments, a.printSets)
		},
	}
	return command
}

func (a *app) printSets(ctx context.Context, c *client.Client, choice target.Choice) error {
	sets, err := c.DocumentSets(ctx)
	if err != nil {
		return err
	}
	counts := setCounts(ctx, c)
	found := rows[jsonSet]{}
	for _, set := range sets {
		row := jsonSet{ID: set.ID, Name: set.Name, Description: deref(set.Description), Sources: []string{},
			IsPublic: set.IsPublic, Origin: choice.Profile}
		for _, connector := range set.CCPairSummaries {
			row.Sources = union(row.Sources, []string{connector.Source})
		}
		if count := counts[set.Name]; counts != nil {
			row.Documents = &count
		}
		found = append(found, row)
	}
	if a.wantsJSON() {
		return a.printAnswer("document-sets", found, a.private(), false)
	}
	if len(found) == 0 {
		a.say("No document sets. Make one with: quarry add PATH --set NAME")
		return nil
	}
	return a.print([]byte(a.setTable(found, counts != nil).String()))
}

func (a *app) setTable(found rows[jsonSet], counted bool) table {
	t := table{header: []string{"NAME", "SOURCES", "DESCRIPTION"}, style: a.style, width: a.io.columns()}
	if counted {
		t.header, t.right = []string{"NAME", "DOCUMENTS", "SOURCES", "DESCRIPTION"}, 1
	}
	for _, set := range found {
		cells := []string{set.Name}
		if counted {
			cells = append(cells, strconv.Itoa(*set.Documents))
		}
		t.rows = append(t.rows, append(cells, strings.Join(set.Sources, ", "), set.Description))
	}
	return t
}

// setCounts counts documents by document set; nil where the server does not count.
func setCounts(ctx context.Context, c *client.Client) map[string]int {
	facets := countFacets(ctx, c)
	if facets == nil {
		return nil
	}
	counts := map[string]int{}
	for _, value := range facets.DocumentSets {
		counts[value.Value] = value.Count
	}
	return counts
}
