package client

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/field"
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

	Phrases, Exclude []string
	wire.Filters
	Excluded     wire.Filters
	Agent        string    // by name or number
	Similar      string    // ref of a passage that others are like
	Since, Until time.Time // both inclusive; zero: no bound
	Chips        []Chip    // the filters in the text, in order
	Unread       []string  // invalid filters, which are text too
	input        string
}

// Chip is one filter in the typed text.
type Chip struct {
	// Field is one of FilterNames, or FilterSimilar.
	Field string
	// Value has no quotes; several values are separated by commas.
	Value string
	// Negated is set for a filter with a minus before it, which excludes.
	Negated bool
	// Raw is the filter as typed, the bytes [Start, End) of the text.
	Raw        string
	Start, End int
}

// ParseQuery parses a query. since: and until: take what ParseDate does, until: includes its last moment, and
// within:30d (days, weeks, months, years) counts back from now. Several bounds are combined.
func ParseQuery(text string, now time.Time) Query {
	q := Query{input: text}
	p := queryParser{text: text, now: now, query: &q}
	p.parse()
	return q
}

// Unsearchable says that nothing in a text can be searched for: it has punctuation or emoji alone. It is empty
// otherwise, and for an empty text.
func Unsearchable(text string) string {
	if text == "" ||
		strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return ""
	}
	return "Nothing in “" + text + "” can be searched: it has no letters or digits."
}

// HasWords reports whether the query has words or phrases, not only filters and exclusions.
func (q Query) HasWords() bool { return q.Words != "" || len(q.Phrases) > 0 }

// Searches reports whether the query says what to search for: words, phrases, or a passage that others are like.
func (q Query) Searches() bool { return q.HasWords() || q.Similar != "" }

// Browses reports whether the query has only filters: it asks for all documents that they leave.
func (q Query) Browses() bool { return !q.Searches() && len(q.Chips) > 0 }

// Request returns the query as a search request, without the agent, which Client.AgentID resolves.
func (q Query) Request() wire.SearchRequest {
	request := wire.SearchRequest{Query: q.Text, Filters: q.Filters, ExcludeFilters: q.Excluded, Phrases: q.Phrases,
		Exclude: q.Exclude, Browse: q.Browses(), SimilarTo: q.Similar}
	if !q.Since.IsZero() {
		request.TimeCutoff = &wire.Time{Time: q.Since}
	}
	if !q.Until.IsZero() {
		request.TimeUntil = &wire.Time{Time: q.Until}
	}
	return request
}

// ChatFilters returns the query's filters as those of a question; nil if it has none.
func (q Query) ChatFilters() *wire.ChatFilters { return ChatFilters(q.Request()) }

// ChatFilters returns the filters of a search as those of a question; nil if it has none.
func ChatFilters(request wire.SearchRequest) *wire.ChatFilters {
	filters := &wire.ChatFilters{ChatLists: wire.ChatLists(request.Filters), Exclude: request.Exclude,
		Phrases: request.Phrases, ExcludeFilters: request.ExcludeFilters}
	given := len(request.Exclude)+len(request.Phrases) > 0 || !field.IsEmpty(request.Filters) ||
		!field.IsEmpty(request.ExcludeFilters)
	if request.TimeCutoff != nil || request.TimeUntil != nil {
		given, filters.UpdatedAt = true, &wire.ChatTimeRange{Start: request.TimeCutoff, End: request.TimeUntil}
	}
	if !given {
		return nil
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

// SimilarQuery returns the query for passages like the one with a ref; false if no query can hold that ref.
func SimilarQuery(ref string) (query string, ok bool) {
	query = FilterSimilar + ":" + QuoteValue(ref)
	return query, ref != "" && ParseQuery(query, time.Time{}).Similar == ref
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
		return p.markup(&p.query.Phrases, phrase, at, at+width)
	}
	if width := p.filter(at); width > 0 {
		p.gap = true
		return at + width
	}
	if excluded, width := exclusion(rest); width > 0 {
		return p.markup(&p.query.Exclude, excluded, at, at+width)
	}
	width := wordWidth(rest)
	if key, value, _ := strings.Cut(strings.TrimPrefix(rest[:width], "-"), ":"); value != "" && filterField(key) != "" {
		p.query.Unread = append(p.query.Unread, rest[:width])
	}
	p.keep(rest[:width], false)
	return at + width
}

// markup adds a phrase or an exclusion, unless it is empty, to its list. Text attached to its end, such as a question
// mark, is kept as a word.
func (p *queryParser) markup(list *[]string, text string, start, end int) int {
	if text != "" {
		*list = append(*list, text)
	}
	p.keep(p.text[start:end], true)
	width := wordWidth(p.text[end:])
	if width > 0 {
		p.keep(p.text[end:end+width], false)
	}
	return end + width
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
func isQuote(r rune) bool { return strings.ContainsRune("\"“”„‟＂«»", r) }

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

// Token is a piece of a typed query between white space outside of quotation marks.
type Token struct {
	Start, End int
	Open       bool // a quotation mark in it is not closed; the token of a filter then ends with the text

	// Of what begins like a filter, whether its values make sense or not:
	Field   string // the name of the filter; "" for any other token
	Negated bool   // it has a minus before it, as only filters have that can exclude
	At      int    // where the last value begins
	Value   string // the last value, without quotation marks
	Quoted  bool   // it ends with the mark that closes a quoted text
}

// Tokens takes a query apart while it is being typed: unlike ParseQuery it keeps together what an open quotation mark
// began in a filter, and values that do not make sense yet.
func Tokens(text string) []Token {
	var tokens []Token
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at += width
			continue
		}
		t, _ := tokenAt(text, at)
		tokens = append(tokens, t)
		at = t.End
	}
	return tokens
}

// tokenAt returns the token at a position, and of a filter all values but the empty ones.
func tokenAt(text string, start int) (Token, []string) {
	rest := text[start:]
	word := wordWidth(rest)
	key, _, colon := strings.Cut(rest[:word], ":")
	if field, negated := namedFilter(key); colon && field != "" {
		values := readValues(rest[len(key)+1:])
		at := start + len(key) + 1
		return Token{Start: start, End: at + values.width, Open: values.open, Field: field, Negated: negated,
			At: at + values.last, Value: values.text, Quoted: values.quoted}, values.all
	}
	phrase := strings.TrimPrefix(rest, "-")
	if first, _ := utf8.DecodeRuneInString(phrase); phrase == "" || !isQuote(first) {
		return Token{Start: start, End: start + word}, nil
	}
	_, width := quoted(phrase)
	if width == 0 {
		return Token{Start: start, End: start + word, Open: true}, nil
	}
	end := start + len(rest) - len(phrase) + width
	return Token{Start: start, End: end + wordWidth(text[end:])}, nil
}

// filterValues are the values of a filter as they stand in a text.
type filterValues struct {
	all    []string // without the empty ones
	width  int
	last   int    // where the last value begins, after the last comma
	text   string // of the last value
	quoted bool   // the last value ends with a closed quotation
	open   bool   // a quotation is not closed
}

// readValues reads values separated by commas up to a space, each of them or a part of it in quotes, as in
// source:slack,"google drive" and tag:team="site reliability". A doubled quotation mark in quotes stands for itself.
func readValues(s string) filterValues {
	var v filterValues
	var value strings.Builder
	finish := func() {
		if v.text = strings.Join(strings.Fields(value.String()), " "); v.text != "" {
			v.all = append(v.all, v.text)
		}
		value.Reset()
	}
	for v.width < len(s) && !v.open {
		r, size := utf8.DecodeRuneInString(s[v.width:])
		if unicode.IsSpace(r) {
			break
		}
		v.quoted = false
		switch {
		case r == ',':
			finish()
			v.last = v.width + size
		case isQuote(r):
			var text string
			text, size, v.open = quotedValue(s[v.width:])
			v.quoted = !v.open
			value.WriteString(text)
		default:
			value.WriteString(s[v.width : v.width+size])
		}
		v.width += size
	}
	finish()
	return v
}

// quotedValue reads a quoted part of a value up to the mark that closes it; of an open one, all.
func quotedValue(s string) (text string, width int, open bool) {
	var value strings.Builder
	_, width = utf8.DecodeRuneInString(s)
	for width < len(s) {
		r, size := utf8.DecodeRuneInString(s[width:])
		width += size
		if isQuote(r) {
			if next, _ := utf8.DecodeRuneInString(s[width:]); next != r {
				return value.String(), width, false
			}
			width += size
		}
		value.WriteString(s[width-size : width])
	}
	return value.String(), width, true
}

// QuoteValue writes a value so that a filter reads it back, in quotes if anything in it could end it. White space is
// read back as single spaces.
func QuoteValue(value string) string {
	if value != "" &&
		!strings.ContainsFunc(value, func(r rune) bool { return unicode.IsSpace(r) || isQuote(r) || r == ',' }) {
		return value
	}
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, r := range value {
		if isQuote(r) {
			quoted.WriteRune(r)
		}
		quoted.WriteRune(r)
	}
	quoted.WriteByte('"')
	return quoted.String()
}
