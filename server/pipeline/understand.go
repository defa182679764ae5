package pipeline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/internal/guard"
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
func (r *run) understand() (skipped string) {
	if r.Model != nil {
		r.weights = parity()
	}
	r.setQueries(understood{})
	r.startVectors()
	if why := r.skipReason(r.Model == nil && r.Search.SkipQueryExpansion); why != "" {
		switch {
		case r.Search.Instant || r.Search.WithoutModel():
		case r.NoModelReason != "":
			r.note(wire.NoteStageFailed, "the language model was not called (%s): the question was searched unchanged",
				r.NoModelReason)
		case !r.Search.SkipQueryExpansion:
			r.note(wire.NoteNoModel, "no language model is configured: the question was searched unchanged")
		}
		return why
	}
	var u understood
	inquiries := r.understanding(&u)
	if len(inquiries) == 0 {
		return "nothing to ask"
	}
	tally := r.ask(inquiries, r.searchAtOnce)
	r.setQueries(u)
	r.limit = inferred{sources: u.limit.sources, window: u.limit.within(timeRange(r.Request))}
	r.filter = filterWithin(r.Request, r.limit)
	r.response.AppliedFilters = appliedFilters(r.Request, r.limit)
	r.stage.Outcome = r.noteFailures(tally, "the search continued without it")
	r.stage.Detail = r.withUsage(r.understandingDetail(u), tally.usage)
	return ""
}

// setQueries sets the queries and adds them to the response.
func (r *run) setQueries(u understood) {
	r.queries = weightedQueries(r.weights, r.Search.Query, u.rephrase, u.keywords)
	if r.Search.Query != "" {
		r.response.Queries = r.queries
	}
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
func (r *run) searchAtOnce() {
	result, err := r.snapshot.Search(r.ctx, r.indexQuery(r.queries[r.question]))
	guard.While("retrieve", err)
	r.early = &result
	r.found = append(r.found[:0], result)
	r.provisional(r.fusedSections())
}

// understanding lists the model calls about the question. Their results go to u. Emoji and punctuation mean something
// only in a conversation: a model would make up what to search for.
func (r *run) understanding(u *understood) []inquiry {
	turns := earlierTurns(r.Search)
	if asked := Words(r.Search); asked != "" && !isQuery(asked, len(asked)) && len(turns) == 0 {
		return nil
	}
	var inquiries []inquiry
	if words := oneLine(r.words()); !r.Search.SkipQueryExpansion && words != "" {
		material := struct {
			Today    string
			Question llm.Quoted
		}{llm.LongDate(r.Now), llm.QuoteText(words, questionTokens)}
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
	if !r.Search.SkipQueryExpansion || !r.Search.SkipDocumentSelection {
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
	var parts []string
	switch {
	case u.rephrase == "":
	case sameQuery(u.rephrase, r.Search.Query):
		parts = append(parts, "question unchanged")
	default:
		parts = append(parts, "rephrased")
	}
	if n := len(u.keywords); n > 0 {
		parts = append(parts, text.Count(n, "keyword query"))
	}
	if len(r.limit.sources) > 0 {
		parts = append(parts, "only "+strings.Join(r.limit.sources, ", "))
	}
	if !r.limit.since.IsZero() {
		parts = append(parts, "since "+r.limit.since.Format(time.DateOnly))
	}
	if !r.limit.until.IsZero() {
		parts = append(parts, "until "+r.limit.until.Format(time.DateOnly))
	}
	if parts == nil {
		return "nothing added"
	}
	return strings.Join(parts, ", ")
}

// Kinds of queries.
const (
	kindOriginal = "original"
	kindSemantic = "semantic"
	kindKeyword  = "keyword"
)

// weights are the weights of queries in the fusion.
type weights struct {
	name                        string
	question, rephrase, keyword float64
}

// parity returns Onyx's weights, which count the question as passed (0.7) and as original (0.5).
func parity() weights {
	return weights{name: "parity", question: 1.2, rephrase: 1.3, keyword: 1.0}
}

// literal returns weights that favor the question: those with the best quality without a model.
func literal() weights {
	return weights{name: "literal", question: 1.3, rephrase: 0.7, keyword: 0.5}
}

// weightedQueries returns the queries to search for, the heaviest first. Sentences (the question and its rephrasing)
// that differ only in case are one query with the sum of their weights, in the spelling of the question; so are keyword
// queries.
func weightedQueries(w weights, question, rephrase string, keywords []string) []wire.ExecutedQuery {
	asked := wire.ExecutedQuery{Query: question, Kind: kindOriginal, Weight: w.question}
	var queries []wire.ExecutedQuery
	switch {
	case rephrase == "":
	case sameQuery(rephrase, question):
		asked.Weight += w.rephrase
	default:
		queries = append(queries, wire.ExecutedQuery{Query: rephrase, Kind: kindSemantic, Weight: w.rephrase})
	}
	queries = append(queries, asked)
	first := len(queries)
	for _, k := range keywords {
		same := func(q wire.ExecutedQuery) bool { return sameQuery(q.Query, k) }
		if at := slices.IndexFunc(queries[first:], same); at >= 0 {
			queries[first+at].Weight += w.keyword
			continue
		}
		queries = append(queries, wire.ExecutedQuery{Query: k, Kind: kindKeyword, Weight: w.keyword})
	}
	slices.SortStableFunc(queries, func(a, b wire.ExecutedQuery) int { return cmp.Compare(b.Weight, a.Weight) })
	return queries
}

func sameQuery(a, b string) bool { return strings.EqualFold(oneLine(a), oneLine(b)) }

// oneLine returns text on one line without control characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// isQuoted reports whether the question has a quoted phrase: then its words are meant literally.
func isQuoted(s wire.SearchRequest) bool {
	return len(s.Phrases) > 0 || strings.Count(s.Query, `"`) > 1 || strings.Contains(s.Query, "“")
}

// parseRephrase returns the first line of a reply that can be a query, or "".
func parseRephrase(reply string) string {
	lines := replyLines(reply)
	if len(lines) == 0 || !isQuery(lines[0], wire.MaxQueryRunes) {
		return ""
	}
	return lines[0]
}

const maxKeywordQueries = 3

// maxKeywordRunes bounds a keyword query; longer lines are prose.
const maxKeywordRunes = 160

// parseKeywords returns the distinct keyword queries of a reply, one per line, without list marks.
func parseKeywords(reply string) []string {
	var queries []string
	for _, line := range replyLines(reply) {
		line = unquote(listMark().ReplaceAllString(line, ""))
		if !isQuery(line, maxKeywordRunes) ||
			slices.ContainsFunc(queries, func(q string) bool { return sameQuery(q, line) }) {
			continue
		}
		if queries = append(queries, line); len(queries) == maxKeywordQueries {
			break
		}
	}
	return queries
}

func listMark() *regexp.Regexp { return regexp.MustCompile(`^(?:[-*•–]|\d{1,2}[.)])\s+`) }

// replyLines returns the lines of a reply without fences, announcements and quotation marks.
func replyLines(reply string) []string {
	var lines []string
	for line := range strings.Lines(reply) {
		line = unquote(oneLine(line))
		if line == "" || strings.HasPrefix(line, "```") || strings.HasSuffix(line, ":") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

// unquote removes the marks around a whole line.
func unquote(line string) string {
	for _, marks := range [][2]string{{`"`, `"`}, {"“", "”"}, {"`", "`"}, {"'", "'"}, {"**", "**"}} {
		inner, opened := strings.CutPrefix(line, marks[0])
		inner, closed := strings.CutSuffix(inner, marks[1])
		if opened && closed && !strings.Contains(inner, marks[0]) {
			return strings.TrimSpace(inner)
		}
	}
	return line
}

// isQuery reports whether a text has a letter or digit and is short enough.
func isQuery(text string, most int) bool {
	says := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
	return strings.ContainsFunc(text, says) && utf8.RuneCountInString(text) <= most
}
