package client

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"quarry/client/wire"
	"quarry/internal/guard"
)

// SourceList is what a server can be searched for, as far as this token can learn.
type SourceList struct {
	Values  []string          // sorted
	Status  map[string]string // of a source's connectors, if known
	Names   map[string]string // that the server gives sources, if any
	Origin  string            // which listing it comes from; empty: none
	Certain bool              // what is not listed is not there
}

// The listings that sources can come from, best first.
const (
	ListedForYou    = "connected"
	ListedForAll    = "workspace"
	ListedByTags    = "tags"
	ListedByNothing = "known"
)

const (
	listTime   = 5 * time.Second // without lists by then, the server decides
	mostListed = 1000            // tags
)

// ListSources asks the listings one after the other until one answers: those of the caller, of the whole workspace, the
// tags. A token that may see none of them is no error: what is not known is not listed.
func (c *Client) ListSources(ctx context.Context) SourceList {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	var beside sync.WaitGroup
	var federated []wire.FederatedConnection
	var federatedErr error
	beside.Go(guard.Func(func() { federated, federatedErr = c.Federated(ctx) }, func(err error) { federatedErr = err }))
	connectors, err := c.ConnectorStatus(ctx)
	beside.Wait()
	list := SourceList{Status: map[string]string{}, Names: map[string]string{}}
	if err == nil {
		list.Origin, list.Certain = ListedForYou, true
		for _, connector := range connectors {
			if connector.Status != "DELETING" {
				list.add(connector.Source, connector.Status)
			}
		}
	} else if sources, err := c.IndexedSources(ctx); err == nil {
		list.Origin, list.Certain = ListedForAll, true
		for _, source := range sources {
			list.add(source, "")
		}
	} else if tags, err := c.ValidTags(ctx, "", mostListed); err == nil && len(tags) > 0 {
		list.Origin = ListedByTags
		for _, tag := range tags {
			list.add(tag.Source, "")
		}
	}
	if federatedErr == nil && list.Origin != "" {
		for _, connection := range federated {
			source := strings.TrimPrefix(connection.Source, "federated_")
			list.add(source, "")
			list.Names[source] = connection.Name
		}
	}
	slices.Sort(list.Values)
	return list
}

// Sources is ListSources that fails where nothing is listed because the server is not there, or refuses the token.
func (c *Client) Sources(ctx context.Context) (SourceList, error) {
	list := c.ListSources(ctx)
	if err := ctx.Err(); err != nil || list.Origin != "" {
		return list, err
	}
	_, err := c.Me(ctx)
	return list, err
}

// IsOffered reports whether a source is not internal to Onyx.
func IsOffered(source string) bool {
	switch source {
	case "mock_connector", "not_applicable", "user_file":
		return false
	}
	known, found := wire.LookupSource(source)
	return !found || !known.Internal
}

// OfferedSources returns the values of the known sources that are offered.
func OfferedSources() []string {
	return slices.DeleteFunc(wire.SourceValues(), func(source string) bool { return !IsOffered(source) })
}

// add notes a source once; of several connectors, the one that works best gives the status.
func (s *SourceList) add(source, status string) {
	if source == "" || !IsOffered(source) {
		return
	}
	if !slices.Contains(s.Values, source) {
		s.Values = append(s.Values, source)
	}
	if before := s.Status[source]; before == "" || status == "ACTIVE" {
		s.Status[source] = status
	}
}
