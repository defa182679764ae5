package cli

import (
	"context"
	"slices"
	"strings"
	"sync"

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
	} else if tags, err := c.ValidTags(ctx, "", true, mostTags); err == nil && len(tags) > 0 {
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

func (a *app) printSources(ctx context.Context, c *client.Client, choice target.Choice, _ []string) error {
	list := listSources(ctx, c)
	if err := ctx.Err(); err != nil {
		return err
	}
	if list.origin == "" {
		if _, err := c.Me(ctx); err != nil { // a server that is not there, or refuses the token
			return err
		}
		list.origin = listedByNothing
		for _, source := range wire.Sources() {
			list.add(source.Value, "")
		}
		slices.Sort(list.values)
	}
	counts := documentCounts(ctx, c, func(f wire.Facets) []wire.FacetValue { return f.Sources })
	var found []jsonSource
	for _, source := range list.values {
		row := jsonSource{Source: source, Name: client.SourceName(source), Description: client.SourceDescription(source),
			Status: list.status[source], ListedBy: list.origin, Origin: choice.Profile}
		if count := counts[source]; counts != nil {
			row.Documents = &count
		}
		found = append(found, row)
	}
	if note := listingNote(list.origin); note != "" && !a.wantsJSON() {
		a.note("%s", note)
	}
	cells := rowMaker(2, counts != nil)
	return printList(a, "sources", found, "Nothing is connected yet. Add files with: quarry add PATH", a.private(),
		countedTable(2, counts != nil, "SOURCE", "NAME", "DOCUMENTS", "DESCRIPTION"), func(row jsonSource) []string {
			description := row.Description
			if row.Status != "" && row.Status != "ACTIVE" {
				description = strings.TrimSpace(description + " (" + strings.ToLower(strings.ReplaceAll(row.Status, "_", " ")) + ")")
			}
			return cells(row.Source, row.Name, countCell(row.Documents), description)
		})
}

// listingNote says what a list of sources does not show; nothing if it is what the caller can search.
func listingNote(origin string) string {
	return map[string]string{
		listedForAll:    "these are connected in this workspace, maybe not to you",
		listedByTags:    "this token may not list connectors; these sources have tagged documents, there may be more",
		listedByNothing: "this token may not list anything; these are all sources that exist, not those connected here",
	}[origin]
}
