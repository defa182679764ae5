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

	// The values of which a message has one, or none. They are empty if Slack filters.
	only, never [field.N][]string
}

// count returns how many messages to request.
func (q query) count() int {
	if filters := append(q.only[:], q.never[:]...); q.since.IsZero() && q.until.IsZero() &&
		len(slices.Concat(filters...)) == 0 {
		return wanted
	}
	return wantedFiltered
}

// queryOf converts a request; inScope is false if no message can match. Words that look like Slack's filters stay
// words, as in every other source.
func queryOf(request wire.SearchRequest) (q query, inScope bool) {
	for _, row := range field.All() {
		given := row.Of(request.Filters)
		only, never := possible(row.ID, given), possible(row.ID, row.Of(request.ExcludeFilters))
		isOfAll := row.ID == field.Source || row.ID == field.Type
		if len(only) < len(given) && (row.ID == field.Tag || len(only) == 0) || isOfAll && len(never) > 0 {
			return query{}, false
		}
		if !isOfAll {
			q.only[row.ID], q.never[row.ID] = only, never
		}
	}
	var filters []string
	if tags := q.only[field.Tag]; len(tags) == 1 && isName(channelIn(tags[0])) {
		filters, q.only[field.Tag] = append(filters, "in:#"+channelIn(tags[0])), nil
	}
	if places := q.only[field.Place]; len(places) == 1 && places[0][0] == '#' && isName(places[0][1:]) {
		filters = append(filters, "in:"+places[0])
	}
	if authors := q.only[field.Author]; len(authors) == 1 && isName(authors[0]) {
		filters, q.only[field.Author] = append(filters, "from:@"+authors[0]), nil
	}
	if request.TimeCutoff != nil {
		q.since = request.TimeCutoff.Time
		// Slack excludes the day itself, which starts earlier elsewhere.
		filters = append(filters, "after:"+day(q.since, -2))
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
	// Slack requires every word in a message.
	left := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return text.IsStopWord(strings.ToLower(w)) })
	if len(left)+len(phrases) > 0 {
		words = left
	}
	q.text = strings.Join(slices.Concat(words, phrases, filters), " ")
	if fewer := longest(words, fewerWords); len(fewer) < len(words) {
		q.broader = strings.Join(slices.Concat(fewer, phrases, filters), " ")
	}
	return q, len(words)+len(phrases) > 0
}

// possible returns the values of a field that a message can have.
func possible(id field.ID, values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(value string) bool {
		switch id {
		case field.Source:
			return value != sourceType
		case field.Type:
			return !strings.EqualFold(strings.TrimSpace(value), documentType)
		case field.Tag:
			key, _, _ := strings.Cut(value, "=")
			return !strings.EqualFold(key, ChannelKey)
		case field.Place:
			names := field.PlaceNames(value)
			return len(names) == 0 || names[0] != sourceType && names[0][0] != '#'
		}
		return id != field.Author
	})
}

// channelIn returns the channel of a tag.
func channelIn(tag string) string {
	_, name, _ := strings.Cut(tag, "=")
	return strings.TrimPrefix(name, "#")
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
