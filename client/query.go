package client

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
)

// Query is a parsed query: words, "exact phrases", -excluded words, and filters such as source:slack. Incomplete and
// unknown filters are text.
type Query struct {
	// Text is the query without its filters: words, phrases and exclusions as typed, with normalised spaces.
	Text string
	// Words has the plain words only.
	Words string
	// WordEnded reports whether something follows the last word, such as a space: it is not being typed any more.
	WordEnded bool

	Phrases, Exclude              []string
	Sources, Sets, Authors, Types []string
	Tags                          []wire.Tag
	Agent                         string    // by name or number
	Since, Until                  time.Time // both inclusive; zero: no bound
	Chips                         []Chip    // the filters in the text, in order
	Unread                        []string  // invalid filters, which are text too
	input                         string
}

// Chip is one filter in the typed text.
type Chip struct {
	// Field is one of source, since, until, within, agent, set, tag, author, type.
	Field string
	// Value has no quotes; several values are separated by commas.
	Value string
	// Raw is the filter as typed, the bytes [Start, End) of the text.
	Raw        string
	Start, End int
}

// ParseQuery parses a query. since: and until: are days in UTC, until: includes its whole day, and within:30d (days,
// weeks, months, years) counts back from now. Several bounds are combined.
func ParseQuery(text string, now time.Time) Query {
	q := Query{input: text}
	p := queryParser{text: text, now: now.UTC(), query: &q}
	p.parse()
	return q
}

// HasWords reports whether the query has words or phrases, not only filters and exclusions.
func (q Query) HasWords() bool { return q.Words != "" || len(q.Phrases) > 0 }

// Request returns the query as a search request, without the agent, which Client.AgentID resolves.
func (q Query) Request() wire.SearchRequest {
	request := wire.SearchRequest{
		Query:         q.Text,
		Sources:       q.Sources,
		DocumentSets:  q.Sets,
		Tags:          q.Tags,
		Authors:       q.Authors,
		DocumentTypes: q.Types,
		Phrases:       q.Phrases,
		Exclude:       q.Exclude,
	}
	if !q.Since.IsZero() {
		request.TimeCutoff = &wire.Time{Time: q.Since}
	}
	if !q.Until.IsZero() {
		request.TimeUntil = &wire.Time{Time: q.Until}
	}
	return request
}

// ChatFilters returns the query's filters as those of a question; nil if it has none.
func (q Query) ChatFilters() *wire.ChatFilters {
	if len(q.Chips)+len(q.Exclude)+len(q.Phrases) == 0 {
		return nil
	}
	return ChatFilters(q.Request())
}

// ChatFilters returns the filters of a search as those of a question.
func ChatFilters(request wire.SearchRequest) *wire.ChatFilters {
	filters := &wire.ChatFilters{Sources: request.Sources, DocumentSets: request.DocumentSets, Tags: request.Tags,
		Authors: request.Authors, DocumentTypes: request.DocumentTypes, Exclude: request.Exclude, Phrases: request.Phrases}
	if request.TimeCutoff != nil || request.TimeUntil != nil {
		filters.UpdatedAt = &wire.ChatTimeRange{Start: request.TimeCutoff, End: request.TimeUntil}
	}
	return filters
}

// WithoutFilters returns the typed text without its filters, otherwise unchanged.
func (q Query) WithoutFilters() string {
	var text strings.Builder
	at := 0
	for _, chip := range q.Chips {
		text.WriteString(strings.TrimRight(q.input[at:chip.Start], " \t"))
		at = chip.End
	}
	text.WriteString(q.input[at:])
	return strings.TrimSpace(text.String())
}

// InstantRequest is Request for a search while typing: the last word is a prefix unless something follows it.
func (q Query) InstantRequest() wire.SearchRequest {
	request := q.Request()
	request.Instant = true
	if q.WordEnded && request.Query != "" {
		request.Query += " "
	}
	return request
}

// Without returns the typed text without one of its chips. An index out of range changes nothing.
func (q Query) Without(chip int) string {
	if chip < 0 || chip >= len(q.Chips) {
		return q.input
	}
	before := strings.TrimRightFunc(q.input[:q.Chips[chip].Start], unicode.IsSpace)
	after := strings.TrimLeftFunc(q.input[q.Chips[chip].End:], unicode.IsSpace)
	if before == "" || after == "" {
		return before + after
	}
	return before + " " + after
}

// queryParser parses the text token by token.
type queryParser struct {
	text  string
	now   time.Time
	query *Query

	kept  strings.Builder
	words []string
	gap   bool // something is between the last kept token and here
}

func (p *queryParser) parse() {
	for at := 0; at < len(p.text); {
		r, width := utf8.DecodeRuneInString(p.text[at:])
		if unicode.IsSpace(r) {
			p.gap = true
			at += width
			continue
		}
		at = p.token(at)
	}
	p.query.Text = p.kept.String()
	p.query.Words = strings.Join(p.words, " ")
	p.query.WordEnded = p.gap
}

// token reads the token at a position and returns the position after it.
func (p *queryParser) token(at int) int {
	rest := p.text[at:]
	if phrase, width := quoted(rest); width > 0 {
		if phrase != "" {
			p.query.Phrases = append(p.query.Phrases, phrase)
		}
		p.keep(rest[:width], true)
		return p.tail(at + width)
	}
	if excluded, width := exclusion(rest); width > 0 {
		if excluded != "" {
			p.query.Exclude = append(p.query.Exclude, excluded)
		}
		p.keep(rest[:width], true)
		return p.tail(at + width)
	}
	if width := p.filter(at); width > 0 {
		p.gap = true
		return at + width
	}
	width := wordWidth(rest)
	if key, value, _ := strings.Cut(rest[:width], ":"); value != "" && filterField(key) != "" {
		p.query.Unread = append(p.query.Unread, rest[:width])
	}
	p.keep(rest[:width], false)
	return at + width
}

// tail keeps text attached to the end of a phrase, such as a question mark, as a word.
func (p *queryParser) tail(at int) int {
	width := wordWidth(p.text[at:])
	if width > 0 {
		p.keep(p.text[at:at+width], false)
	}
	return at + width
}

// keep adds a token to the text, and to the words unless it is markup.
func (p *queryParser) keep(token string, markup bool) {
	if p.gap && p.kept.Len() > 0 {
		p.kept.WriteByte(' ')
	}
	p.gap = false
	p.kept.WriteString(token)
	if !markup && strings.ContainsFunc(token, func(r rune) bool { return !unicode.IsPunct(r) }) {
		p.words = append(p.words, token)
	}
}

func wordWidth(s string) int {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return end
	}
	return len(s)
}

// isQuote reports whether r is a straight or typographic double quote. Any of them closes any other.
func isQuote(r rune) bool {
	switch r {
	case '"', '“', '”', '„', '‟', '＂', '«', '»':
		return true
	}
	return false
}

// quoted reads a quoted text at the start of s. The width is 0 if there is none or it is not closed.
func quoted(s string) (text string, width int) {
	r, opening := utf8.DecodeRuneInString(s)
	if !isQuote(r) {
		return "", 0
	}
	end := strings.IndexFunc(s[opening:], isQuote)
	if end < 0 {
		return "", 0
	}
	_, closing := utf8.DecodeRuneInString(s[opening+end:])
	return strings.Join(strings.Fields(s[opening:opening+end]), " "), opening + end + closing
}

// exclusion reads -word or -"phrase" at the start of s. A single dash, two dashes, and a dash before a filter are text.
func exclusion(s string) (text string, width int) {
	if len(s) < 2 || s[0] != '-' {
		return "", 0
	}
	if text, width := quoted(s[1:]); width > 0 {
		return text, width + 1
	}
	width = wordWidth(s)
	text = s[1:width]
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || first == '-' || isQuote(first) {
		return "", 0
	}
	if key, _, ok := strings.Cut(text, ":"); ok && filterField(key) != "" {
		return "", 0
	}
	return text, width
}
