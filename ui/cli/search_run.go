package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// outcome is what one query came to: an answer or an error.
type outcome struct {
	query    plannedQuery
	response *wire.SearchResponse
	raw      json.RawMessage // the server's own body
	err      error
}

// results returns what was found; nothing for an error.
func (o outcome) results() []wire.SearchResult {
	if o.err != nil {
		return nil
	}
	return o.response.Results
}

// runSearches runs every query at the same time and waits for all of them. The servers' own bodies are kept only for
// who wants them raw: they are rewritten string by string.
func runSearches(ctx context.Context, c *client.Client, plan *searchPlan, raw bool) []outcome {
	outcomes := make([]outcome, len(plan.queries))
	var group sync.WaitGroup
	for i, query := range plan.queries {
		group.Go(guard.Func(func() {
			o := outcome{query: query}
			if raw {
				o.raw, o.response, o.err = c.SearchRaw(ctx, query.request)
			} else {
				o.response, o.err = c.Search(ctx, query.request)
			}
			if o.err == nil && o.response == nil {
				o.response = &wire.SearchResponse{}
			}
			outcomes[i] = o
		}, func(err error) { outcomes[i] = outcome{query: query, err: err} }))
	}
	group.Wait()
	return outcomes
}

// printSearch prints what finished. One query's error is the run's; of several, only when none finished.
func (a *app) printSearch(outcomes []outcome, format string, options *searchOptions, choice target.Choice) error {
	var first error
	finished, interrupted := 0, false
	for _, o := range outcomes {
		if o.err == nil {
			finished++
			continue
		}
		if first == nil {
			first = o.err
		}
		interrupted = interrupted || client.KindOf(o.err) == client.Canceled
	}
	if finished == 0 {
		for _, o := range outcomes[1:] {
			if client.KindOf(o.err) == client.Canceled {
				continue
			}
			a.note("%q: %s", o.query.text, text.OneLine(o.err.Error()))
		}
		return first
	}
	if err := a.printOutcomes(outcomes, format, options, choice); err != nil {
		return err
	}
	for _, o := range outcomes {
		if o.err != nil && !interrupted {
			a.note("%q failed: %s", o.query.text, text.OneLine(o.err.Error()))
		}
	}
	if interrupted {
		return errInterrupted
	}
	return nil
}

func (a *app) printOutcomes(outcomes []outcome, format string, options *searchOptions, choice target.Choice) error {
	if options.raw {
		return a.printRaw(outcomes)
	}
	if format == formatJSON {
		return a.printAnswer("search", searchAnswer{outcomes, options.explain}, a.private())
	}
	a.tellNotes(outcomes)
	switch format {
	case formatNDJSON:
		return a.printAnswer("search", ndjsonAnswer{searchAnswer{outcomes, options.explain}}, a.private())
	case formatTSV:
		return a.printLines("search", "tsv", tsvLines(outcomes), a.private())
	case formatMD:
		return a.printPlain("search", "md", markdown(outcomes), a.private())
	}
	return a.printPlain("search", "txt", a.searchText(outcomes, options.explain, choice), a.private())
}

// tellNotes says on standard error, once each, what JSON says in the answer.
func (a *app) tellNotes(outcomes []outcome) {
	var told []string
	for _, o := range outcomes {
		if o.err != nil {
			continue
		}
		for _, note := range o.response.Notes {
			text := note.Text
			if len(outcomes) > 1 {
				text = fmt.Sprintf("%q: %s", o.query.text, text)
			}
			if note.Code != wire.NoteNoModel && !slices.Contains(told, text) {
				told = append(told, text)
				a.note("%s", text)
			}
		}
		if len(o.response.Results) == 0 {
			a.say("No results for %q.", o.query.text)
		}
	}
}
