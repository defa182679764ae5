package pipeline

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

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
	// Shares of a query's weight for its list by vector; keywordVector applies to keyword queries.
	vector, keywordVector float64
}

// byVector returns the weight of a query's list by vector.
func (w weights) byVector(q wire.ExecutedQuery) float64 {
	if q.Kind == kindKeyword {
		return q.Weight * w.keywordVector
	}
	return q.Weight * w.vector
}

// parity returns Onyx's weights, which count the question as passed (0.7) and as original (0.5).
func parity() weights {
	return weights{name: "parity", question: 1.2, rephrase: 1.3, keyword: 1.0, vector: 1, keywordVector: 0.25}
}

// literal returns weights that favor the question: those with the best quality without a model.
func literal() weights {
	return weights{name: "literal", question: 1.3, rephrase: 0.7, keyword: 0.5, vector: 0.3}
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
		if !isQuery(line, maxKeywordRunes) || slices.ContainsFunc(queries, func(q string) bool { return sameQuery(q, line) }) {
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
	says := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return strings.ContainsFunc(text, says) && utf8.RuneCountInString(text) <= most
}
