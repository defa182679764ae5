package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/ui/target"
)

// sourceList is what a server can be searched for, as far as this token can learn.
type sourceList struct {
	values  []string          // sorted
	status  map[string]string // of a source's connectors, where the server tells
	origin  string            // which listing it comes from
	certain bool              // what is not listed is not there
}

// The listings that sources can come from, best first.
const (
	listedForYou    = "connected"
	listedForAll    = "workspace"
	listedByTags    = "tags"
	listedByNothing = "known"
)

// listSources asks the listings one after the other until one answers: those of the caller, of the whole workspace, the
// tags. A token that may see none of them is no error: what is not known is not listed.
func listSources(ctx context.Context, c *client.Client) sourceList {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var group sync.WaitGroup
	var connectors []wire.ConnectorStatus
	var federated []wire.FederatedConnection
	var connectorsErr, federatedErr error
	group.Go(guard.Func(func() { connectors, connectorsErr = c.ConnectorStatus(ctx) }, func(err error) { connectorsErr = err }))
	group.Go(guard.Func(func() { federated, federatedErr = c.Federated(ctx) }, func(err error) { federatedErr = err }))
	group.Wait()
	list := sourceList{status: map[string]string{}}
	if connectorsErr == nil {
		list.origin, list.certain = listedForYou, true
		for _, connector := range connectors {
			if connector.Status != "DELETING" {
				list.add(connector.Source, connector.Status)
			}
		}
	} else if sources, err := c.IndexedSources(ctx); err == nil {
		list.origin, list.certain = listedForAll, true
		for _, source := range sources {
			list.add(source, "")
		}
	} else if tags, err := c.ValidTags(ctx, "", true, tagsAsked); err == nil && len(tags) > 0 {
		list.origin = listedByTags
		for _, tag := range tags {
			list.add(tag.Source, "")
		}
	}
	if federatedErr == nil && list.origin != "" {
		for _, connection := range federated {
			list.add(strings.TrimPrefix(connection.Source, "federated_"), "")
		}
	}
	slices.Sort(list.values)
	return list
}

// isOffered tells sources that somebody can mean from those that Onyx keeps for itself.
func isOffered(source string) bool {
	switch source {
	case "mock_connector", "not_applicable", "user_file":
		return false
	}
	known, found := wire.LookupSource(source)
	return !found || !known.Internal
}

// add notes a source once; of several connectors, the one that works best gives the status.
func (s *sourceList) add(source, status string) {
	if source == "" || !isOffered(source) {
		return
	}
	s.values = union(s.values, []string{source})
	if before := s.status[source]; before == "" || status == "ACTIVE" {
		s.status[source] = status
	}
}

// jsonSource is a row of sources --json, version 1.
type jsonSource struct {
	Source      string `json:"source"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Documents   *int   `json:"documents,omitempty"` // where the server counts
	Status      string `json:"status,omitempty"`    // of its connectors, where the server tells
	ListedBy    string `json:"listed_by"`           // connected, workspace, tags; known: nothing was listed
	Origin      string `json:"origin"`              // where was asked
}

func (a *app) sourcesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "sources",
		Short: "List the sources that can be searched",
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.list(command.Context(), arguments, a.printSources)
		},
	}
	return command
}

func (a *app) printSources(ctx context.Context, c *client.Client, choice target.Choice) error {
	list := listSources(ctx, c)
	if err := ctx.Err(); err != nil {
		return err
	}
	if list.origin == "" {
		if err := reachable(ctx, c); err != nil {
			return err
		}
		list.origin = listedByNothing
		for _, source := range wire.Sources() {
			list.add(source.Value, "")
		}
		slices.Sort(list.values)
	}
	counts := sourceCounts(ctx, c)
	found := rows[jsonSource]{}
	for _, source := range list.values {
		row := jsonSource{Source: source, Name: client.SourceName(source), Description: client.SourceDescription(source),
			Status: list.status[source], ListedBy: list.origin, Origin: choice.Profile}
		if count, counted := counts[source]; counted || counts != nil {
			row.Documents = &count
		}
		found = append(found, row)
	}
	if a.wantsJSON() {
		return a.printAnswer("sources", found, a.private(), false)
	}
	a.tellListing(list.origin)
	return a.printSourceTable(found, counts != nil)
}

// sourceCounts counts documents by source; nil where the server does not count.
func sourceCounts(ctx context.Context, c *client.Client) map[string]int {
	facets := countFacets(ctx, c)
	if facets == nil {
		return nil
	}
	counts := map[string]int{}
	for _, value := range facets.Sources {
		counts[value.Value] = value.Count
	}
	return counts
}

func (a *app) tellListing(origin string) {
	switch origin {
	case listedForAll:
		a.note("these are connected in this workspace, maybe not to you")
	case listedByTags:
		a.note("this token may not list connectors; these sources have tagged documents, there may be more")
	case listedByNothing:
		a.note("this token may not list anything; these are all sources that exist, not those connected here")
	}
}

func (a *app) printSourceTable(found rows[jsonSource], counted bool) error {
	if len(found) == 0 {
		a.say("Nothing is connected yet. Add files with: quarry add PATH")
		return nil
	}
	t := table{header: []string{"SOURCE", "NAME", "DESCRIPTION"}, style: a.style, width: a.io.columns()}
	if counted {
		t.header = []string{"SOURCE", "NAME", "DOCUMENTS", "DESCRIPTION"}
		t.right = 2
	}
	for _, row := range found {
		cells := []string{row.Source, row.Name}
		if counted {
			cells = append(cells, strconv.Itoa(*row.Documents))
		}
		description := row.Description
		if row.Status != "" && row.Status != "ACTIVE" {
			description = strings.TrimSpace(description + " (" + strings.ToLower(strings.ReplaceAll(row.Status, "_", " ")) + ")")
		}
		t.rows = append(t.rows, append(cells, description))
	}
	return a.print([]byte(t.String()))
}
