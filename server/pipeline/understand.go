package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/llm"
)

// understood is what a model read from the question.
type understood struct {
	rephrase string
	keywords []string
	limit    inferred
}

// understand asks a model for further queries and for limits. The question itself is searched for at the same time.
func (r *run) understand(ctx context.Context) (string, string, error) {
	if r.Model != nil {
		r.weights = parity()
	}
	r.setQueries(understood{})
	if err := r.startVectors(ctx); err != nil {
		return "", "", err
	}
	if why := r.skipReason(r.Model == nil && r.Search.SkipQueryExpansion); why != "" {
		switch {
		case r.Search.Instant:
		case r.NoModelReason != "":
			r.note(wire.NoteStageFailed, "the language model was not called (%s): the question was searched unchanged", r.NoModelReason)
		case !r.Search.SkipQueryExpansion:
			r.note(wire.NoteNoModel, "no language model is configured: the question was searched unchanged")
		}
		return wire.OutcomeSkipped, why, nil
	}
	var u understood
	inquiries := r.understanding(&u)
	if len(inquiries) == 0 {
		return wire.OutcomeSkipped, "nothing to ask", nil
	}
	tally, err := r.ask(ctx, inquiries, func() error { return r.searchAtOnce(ctx) })
	if err != nil {
		return "", "", err
	}
	r.setQueries(u)
	r.limit = inferred{sources: u.limit.sources, window: u.limit.within(timeRange(r.Request))}
	r.filter = filterWithin(r.Request, r.limit)
	r.response.AppliedFilters = appliedFilters(r.Request, r.limit)
	outcome := r.noteFailures(tally, "the search continued without it")
	return outcome, r.withUsage(r.understandingDetail(u), tally.usage), nil
}

// setQueries sets the queries and adds them to the response.
func (r *run) setQueries(u understood) {
	r.queries = weightedQueries(r.weights, r.Search.Query, u.rephrase, u.keywords)
	r.response.Queries = r.queries
	for i, q := range r.queries {
		switch q.Kind {
		case kindOriginal:
			r.question = i
		case kindSemantic:
			r.response.QueryExpansion.SemanticQueries = append(r.response.QueryExpansion.SemanticQueries, q.Query)
		case kindKeyword:
			r.response.QueryExpansion.KeywordQueries = append(r.response.QueryExpansion.KeywordQueries, q.Query)
		}
	}
}

// searchAtOnce searches for the question itself and sends the provisional result.
func (r *run) searchAtOnce(ctx context.Context) error {
	result, err := r.snapshot.Search(ctx, r.indexQuery(r.queries[r.question]))
	if err != nil {
		return fmt.Errorf("retrieve: %w", err)
	}
	r.early = &result
	r.found = append(r.found[:0], result)
	chosen, rest := firstSections(sectionsOf(fuse(r.rankings()), r.wanted()), r.Search.NumResults)
	return r.provisional(ctx, arrange(chosen, rest, r.Search))
}

// understanding lists the model calls about the question. Their results go to u.
func (r *run) understanding(u *understood) []inquiry {
	var inquiries []inquiry
	if words := oneLine(r.words()); !r.Search.SkipQueryExpansion && words != "" {
		material := struct {
			Today    string
			Question llm.Quoted
		}{llm.LongDate(r.Now), llm.QuoteText(words, questionTokens)}
		turns := earlierTurns(r.Search)
		if !isQuoted(r.Search) {
			inquiries = append(inquiries, inquiry{purposeRephrase, material, turns, func(reply string) bool {
				u.rephrase = parseRephrase(reply)
				if sameQuery(u.rephrase, words) {
					u.rephrase = r.Search.Query
				}
				return u.rephrase != ""
			}})
		}
		inquiries = append(inquiries, inquiry{purposeKeywords, material, turns, func(reply string) bool {
			u.keywords = parseKeywords(reply)
			return len(u.keywords) > 0
		}})
	}
	if r.AutoDetectFilters {
		inquiries = append(inquiries, r.scopes(u)...)
	}
	return inquiries
}

// scopes lists the model calls about the limits in the question.
func (r *run) scopes(u *understood) []inquiry {
	turns := llm.Quote(userTurns(r.Search))
	var inquiries []inquiry
	if candidates := candidateSources(r.Request); len(candidates) > 1 {
		material := struct {
			Sources []sourceLine
			Turns   llm.Quoted
		}{sourceLines(candidates), turns}
		inquiries = append(inquiries, inquiry{purposeSources, material, nil, func(reply string) (ok bool) {
			u.limit.sources, ok = parseSources(reply, candidates)
			return ok
		}})
	}
	material := struct {
		Today, Date string
		Turns       llm.Quoted
	}{llm.LongDate(r.Now), r.Now.UTC().Format(time.DateOnly), turns}
	return append(inquiries, inquiry{purposeTime, material, nil, func(reply string) (ok bool) {
		u.limit.window, ok = parseTime(reply, r.Now)
		return ok
	}})
}

// words returns the words of the question without exclusions, which would only lead a model to search for them.
func (r *run) words() string {
	search := r.Search
	search.Phrases = nil
	return Words(search)
}

// understandingDetail summarizes what the model read from the question.
func (r *run) understandingDetail(u understood) string {
	var told []string
	switch {
	case u.rephrase == "":
	case sameQuery(u.rephrase, r.Search.Query):
		told = append(told, "question unchanged")
	default:
		told = append(told, "rephrased")
	}
	if n := len(u.keywords); n > 0 {
		told = append(told, text.Count(n, "keyword query"))
	}
	if len(r.limit.sources) > 0 {
		told = append(told, "only "+strings.Join(r.limit.sources, ", "))
	}
	if !r.limit.since.IsZero() {
		told = append(told, "since "+r.limit.since.Format(time.DateOnly))
	}
	if !r.limit.until.IsZero() {
		told = append(told, "until "+r.limit.until.Format(time.DateOnly))
	}
	if told == nil {
		return "nothing added"
	}
	return strings.Join(told, ", ")
}
