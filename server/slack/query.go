package slack

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/field"
	"quarry/client/wire"
	"quarry/internal/text"
	"quarry/server/pipeline"
)

// Bounds of a query: Slack refuses long ones.
const (
	mostWords   = 20
	fewerWords  = 3 // of the second attempt
	longestTerm = 100
	mostTerms   = 10 // phrases, and exclusions
)

// ChannelKey is the tag for the channel of a message, as connectors of Slack write it.
const ChannelKey = "Channel"

// query is a request in Slack's syntax, with the filters that Slack does not apply.
type query struct {
	text    string
	broader string // with fewer words; empty if it would be the same

	since, until time.Time // Slack filters by days, in an unknown time zone
	authors      []string  // any of them; empty if Slack filters
	channels     []string  // likewise

	places []string // likewise

	notAuthors, notChannels, notPlaces []string
}

// count returns how many messages to request.
func (q query) count() int {
	filters := slices.Concat(q.authors, q.channels, q.places, q.notAuthors, q.notChannels, q.notPlaces)
	if q.since.IsZero() && q.until.IsZero() && len(filters) == 0 {
		return wanted
	}
	return wantedFiltered
}

// queryOf converts a request; inScope is false if no message can match. Words that look like Slack's filters stay
// words, as in every other source.
func queryOf(request wire.SearchRequest) (q query, inScope bool) {
	for _, row := range field.All() {
		given, excluded, rule := row.Of(request.Filters), row.Of(request.ExcludeFilters), rules[row.ID]
		if len(given) > 0 && (rule.filter == nil || !rule.filter(&q, given)) ||
			len(excluded) > 0 && rule.exclude != nil && !rule.exclude(&q, excluded) {
			return query{}, false
		}
	}
	var filters []string
	if len(q.channels) == 1 && isName(q.channels[0]) {
		filters, q.channels = append(filters, "in:#"+q.channels[0]), nil
	}
	if len(q.places) == 1 && q.places[0][0] == '#' && isName(q.places[0][1:]) {
		filters = append(filters, "in:"+q.places[0])
	}
	if len(q.authors) == 1 && isName(q.authors[0]) {
		filters, q.authors = append(filters, "from:@"+q.authors[0]), nil
	}
	if request.TimeCutoff != nil {
		q.since = request.TimeCutoff.Time
		filters = append(filters, "after:"+day(q.since, -2)) // Slack excludes the day itself, which starts earlier elsewhere
	}
	if request.TimeUntil != nil {
		q.until = request.TimeUntil.Time
		filters = append(filters, "before:"+day(q.until, 2))
	}
	words := wordsOf(pipeline.Words(request))
	var phrases []string
	for _, phrase := range request.Phrases[:min(len(request.Phrases), mostTerms)] {
		if clean := strings.Join(wordsOf(phrase), " "); clean != "" {
			phrases = append(phrases, `"`+clean+`"`)
		}
	}
	for _, exclude := range request.Exclude[:min(len(request.Exclude), mostTerms)] {
		clean := wordsOf(exclude)
		switch {
		case len(clean) == 1:
			filters = append(filters, "-"+clean[0])
		case len(clean) > 1:
			filters = append(filters, `-"`+strings.Join(clean, " ")+`"`)
		}
	}
	if left := withoutStopWords(words); len(left)+len(phrases) > 0 {
		words = left
	}
	q.text = strings.Join(slices.Concat(words, phrases, filters), " ")
	if fewer := longest(words, fewerWords); len(fewer) < len(words) {
		q.broader = strings.Join(slices.Concat(fewer, phrases, filters), " ")
	}
	return q, len(words)+len(phrases) > 0
}

// rule is how messages have a field. Its functions note what Slack's answer must be filtered by, and return false if no
// message is left.
type rule struct {
	filter  func(*query, []string) bool // nil: messages do not have the field
	exclude func(*query, []string) bool // nil: it excludes no message
}

var rules = [field.N]rule{
	field.Source: {filter: func(_ *query, values []string) bool { return slices.Contains(values, sourceType) },
		exclude: func(_ *query, values []string) bool { return !slices.Contains(values, sourceType) }},
	field.Tag: {filter: func(q *query, values []string) bool {
		q.channels = channels(values)
		return len(q.channels) == len(values)
	}, exclude: func(q *query, values []string) bool { q.notChannels = channels(values); return true }},
	field.Author: {filter: func(q *query, values []string) bool { q.authors = values; return true },
		exclude: func(q *query, values []string) bool { q.notAuthors = values; return true }},
	field.Place: {filter: func(q *query, values []string) bool {
		for _, value := range values {
			if names := field.PlaceNames(value); len(names) > 0 && (names[0] == sourceType || names[0][0] == '#') {
				q.places = append(q.places, value)
			}
		}
		return len(q.places) > 0
	}, exclude: func(q *query, values []string) bool { q.notPlaces = values; return true }},
	field.Type: {filter: func(_ *query, values []string) bool { return isMessage(values) },
		exclude: func(_ *query, values []string) bool { return !isMessage(values) }},
}

// channels returns the channels among tags.
func channels(tags []string) (names []string) {
	for _, tag := range tags {
		if key, value, _ := strings.Cut(tag, "="); strings.EqualFold(key, ChannelKey) {
			names = append(names, strings.TrimPrefix(value, "#"))
		}
	}
	return names
}

func isMessage(types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(strings.TrimSpace(t), documentType) })
}

func day(t time.Time, shift int) string { return t.UTC().AddDate(0, 0, shift).Format(time.DateOnly) }

// wordsOf splits a text into words without a meaning in Slack's syntax.
func wordsOf(text string) []string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) || strings.ContainsRune("-_.'’/+&%$", r) {
			return r
		}
		return ' '
	}, text)
	var words []string
	for _, word := range strings.Fields(clean) {
		word = strings.TrimRight(strings.TrimLeft(word, "-.'’/+&"), "-.'’/&")
		for utf8.RuneCountInString(word) > longestTerm {
			_, last := utf8.DecodeLastRuneInString(word)
			word = word[:len(word)-last]
		}
		if word != "" {
			words = append(words, word)
		}
		if len(words) == mostWords {
			break
		}
	}
	return words
}

// withoutStopWords removes common words: Slack requires every word in a message.
func withoutStopWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return text.IsStopWord(strings.ToLower(w)) })
}

// longest returns the n longest words in their order. They are likely the rarest.
func longest(words []string, n int) []string {
	if len(words) <= n {
		return words
	}
	byLength := slices.Clone(words)
	slices.SortStableFunc(byLength, func(a, b string) int {
		return cmp.Compare(utf8.RuneCountInString(b), utf8.RuneCountInString(a))
	})
	kept := byLength[:n]
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !slices.Contains(kept, w) })
}

// isName reports whether a text can follow from:@ or in:#, where it ends at a space.
func isName(text string) bool {
	return text != "" && utf8.RuneCountInString(text) <= longestTerm && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._-", r)
	})
}
