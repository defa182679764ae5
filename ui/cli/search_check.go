package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/ui/target"
)

// checkTime bounds the lists that are requested before or during a search. Without an answer in time the server
// decides.
const checkTime = 5 * time.Second

// filterCheck knows what to say about a search once its results are there.
type filterCheck struct {
	sources chan sourceList // nil: nothing to say; else delivers once
	wanted  [][]string      // sources of each query
}

// checkFilters refuses what the server surely does not have, and names the nearest that it has. A source that exists
// somewhere, though not on this server, is searched and noted noteAfter: the list is fetched during the search.
func (a *app) checkFilters(ctx context.Context, c *client.Client, plan []plannedQuery, choice target.Choice) (*filterCheck, error) {
	if err := resolveAgents(ctx, c, plan); err != nil {
		return nil, err
	}
	if len(choice.Beside()) > 0 { // another profile may have what this server lacks
		return &filterCheck{}, nil
	}
	if err := checkSets(ctx, c, plan); err != nil {
		return nil, err
	}
	if err := checkTags(ctx, c, plan); err != nil {
		return nil, err
	}
	return checkSources(ctx, c, plan)
}

func checkSources(ctx context.Context, c *client.Client, plan []plannedQuery) (*filterCheck, error) {
	check := &filterCheck{}
	for _, query := range plan {
		check.wanted = append(check.wanted, query.request.Sources)
	}
	given := wanted(plan, func(r wire.SearchRequest) []string { return r.Sources })
	if len(given) == 0 {
		return check, nil
	}
	check.sources = make(chan sourceList, 1)
	isKnown := func(source string) bool {
		_, known := wire.LookupSource(source)
		return known
	}
	strange := slices.DeleteFunc(given, isKnown)
	if len(strange) == 0 {
		guard.Go(func() { check.sources <- listSources(ctx, c) },
			func(error) { check.sources <- sourceList{} }) // no list: the server decides
		return check, nil
	}
	list := listSources(ctx, c)
	check.sources <- list
	if len(list.values) == 0 {
		return check, nil
	}
	known := list.values
	for _, source := range wire.Sources() {
		if !source.Internal {
			known = union(known, []string{source.Value})
		}
	}
	for _, source := range strange {
		if !slices.Contains(known, source) {
			near := cmp.Or(wire.Nearest(source, list.values), wire.Nearest(source, known)) // best what this server has
			return nil, unknownValue("source", source, near, "quarry sources")
		}
	}
	return check, nil
}

// annotate adds to answers that a source is not connected, unless the server said so itself.
func (f *filterCheck) annotate(ctx context.Context, outcomes []outcome) {
	if f.sources == nil || ctx.Err() != nil {
		return
	}
	list := <-f.sources
	if !list.certain {
		return
	}
	for i, o := range outcomes {
		if o.err != nil || slices.ContainsFunc(o.response.Notes, isSourceEmpty) {
			continue
		}
		for _, source := range f.wanted[i] {
			if !slices.Contains(list.values, source) {
				o.response.Notes = append(o.response.Notes, wire.Note{Code: wire.NoteSourceEmpty, Text: fmt.Sprintf(
					"%s is not connected to this server (connected: %s)", source, shortList(list.values))})
			}
		}
	}
}

func isSourceEmpty(note wire.Note) bool { return note.Code == wire.NoteSourceEmpty }

// brief lists values, but not endlessly.
func shortList(values []string) string {
	const most = 12
	if len(values) == 0 {
		return "nothing"
	}
	if len(values) <= most {
		return strings.Join(values, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(values[:most], ", "), len(values)-most)
}

func unknownValue(what, value, near, list string) error {
	hint := "See: " + list
	if near != "" {
		hint = fmt.Sprintf("Did you mean %q? %s", near, hint)
	}
	return usage(hint, "unknown %s %q", what, value)
}

// resolveAgents looks up the agents that queries name. A number that was given is left to the server.
func resolveAgents(ctx context.Context, c *client.Client, plan []plannedQuery) error {
	for i := range plan {
		query := &plan[i]
		if query.agent == "" {
			continue
		}
		id, err := c.AgentID(ctx, query.agent)
		if err != nil {
			return err
		}
		query.request.PersonaID = &id
	}
	return nil
}

// wanted collects the values of a filter over all queries.
func wanted[T comparable](plan []plannedQuery, values func(wire.SearchRequest) []T) (all []T) {
	for _, query := range plan {
		all = union(all, values(query.request))
	}
	return all
}

func checkSets(ctx context.Context, c *client.Client, plan []plannedQuery) error {
	given := wanted(plan, func(r wire.SearchRequest) []string { return r.DocumentSets })
	if len(given) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	sets, err := c.DocumentSets(ctx)
	if err != nil {
		return nil //nolint:nilerr // without a list the server decides
	}
	names := make([]string, 0, len(sets))
	for _, set := range sets {
		names = append(names, set.Name)
	}
	for _, name := range given {
		if !slices.Contains(names, name) {
			return unknownValue("document set", name, wire.Nearest(name, names), "quarry document-sets")
		}
	}
	return nil
}

// checkTags asks for each tag by itself, because a server lists only so many at once.
func checkTags(ctx context.Context, c *client.Client, plan []plannedQuery) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	for _, tag := range wanted(plan, func(r wire.SearchRequest) []wire.Tag { return r.Tags }) {
		found, err := c.ValidTags(ctx, tag.Key+"="+tag.Value, true, mostTags)
		if err != nil {
			return nil //nolint:nilerr // without a list the server decides
		}
		isListed := slices.ContainsFunc(found, func(other wire.SourceTag) bool {
			return other.Key == tag.Key && other.Value == tag.Value
		})
		if !isListed && len(found) < mostTags {
			return unknownValue("tag", tag.Key+"="+tag.Value, nearestTag(ctx, c, tag), "quarry tags")
		}
	}
	return nil
}

func nearestTag(ctx context.Context, c *client.Client, tag wire.Tag) string {
	all, err := c.ValidTags(ctx, "", true, mostTags)
	if err != nil {
		return ""
	}
	names := make([]string, 0, len(all))
	for _, other := range all {
		names = append(names, other.Key+"="+other.Value)
	}
	return wire.Nearest(tag.Key+"="+tag.Value, names)
}
