package client

import (
	"context"
	"time"

	"quarry/client/wire"
)

// mostWithout bounds how many filters a query may have, so that a long one does not cost any number of searches.
const mostWithout = 8

// MatchesWithout counts the documents that a search matches without each of its query's filters: it makes those
// searches, as nothing else counts what one would get. It calls no language model. usual is the agent of a query
// without agent:. It returns nil for more than eight filters, and for servers that do not count.
func (c *Client) MatchesWithout(ctx context.Context, query Query, asked wire.SearchRequest, usual wire.Agent,
	now time.Time) (
	[]int, error) {
	features, err := c.Features(ctx)
	if err != nil || !features.Has(wire.FeatureFacets) || len(query.Chips) > mostWithout {
		return nil, err
	}
	var counts []int
	for i := range query.Chips {
		without := ParseQuery(query.Without(i), now)
		if !without.Searches() && !(without.Browses() && features.Has(wire.FeatureBrowse)) {
			return nil, nil
		}
		request := without.Request()
		request.NumResults, request.Prefix, request.MessageHistory = asked.NumResults, asked.Prefix,
			asked.MessageHistory
		request.SkipQueryExpansion, request.SkipDocumentSelection = true, true
		response, err := c.SearchAs(ctx, request, without.Agent, usual)
		if err != nil {
			return nil, err
		}
		counts = append(counts, response.TotalMatches)
	}
	return counts, nil
}

// MostRestrictive returns the filter without which the most documents match; false if none does, or several as many.
func MostRestrictive(counts []int) (chip int, ok bool) {
	most := 0
	for i, n := range counts {
		if n >= most {
			chip, most, ok = i, n, n > most
		}
	}
	return chip, ok
}
