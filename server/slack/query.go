package slack

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/server/index/analysis"
	"quarry/server/pipeline"
)

// The bounds of a query, which Slack refuses when it is long.
const (
	mostWords   = 20
	fewerWords  = 3 // of the second attempt
	longestTerm = 100
	mostTerms   = 10 // phrases, and exclusions
)

// channelKey is the tag that names the channel of a message, as connectors of Slack write it.
const channelKey = "Channel"

// query is a request in Slack's words, and what of it is looked after here.
type query struct {
	text    string
	broader string // the same with fewer words; empty where that makes no difference

	since, until time.Time // Slack knows days only, of a place that nobody tells
	authors      []string  // any of them; empty where Slack looks after it
	channels     []string  // likewise
}

// count is how many messages are asked for.
func (q query) count() int {
	if q.since.IsZero() && q.until.IsZero() && q.authors == nil && q.channels == nil {
		return wanted
	}
	return wantedFiltered
}

// queryOf translates a request; false where no message can be what is asked for. What looks like one of Slack's own
// filters among the words is words, as it is to every other source.
func queryOf(request wire.SearchRequest) (q query, inScope bool) {
	if len(request.DocumentSets) > 0 || !mayBeMessage(request.DocumentTypes) ||
		len(request.Sources) > 0 && !slices.Contains(request.Sources, sourceType) {
		return query{}, false
	}
	var filters []string
	for _, tag := range request.Tags {
		if !strings.EqualFold(tag.Key, channelKey) {
			return query{}, false
		}
		q.channels = append(q.channels, strings.TrimPrefix(tag.Value, "#"))
	}
	if len(q.channels) == 1 && isName(q.channels[0]) {
		filters, q.channels = append(filters, "in:#"+q.channels[0]), nil
	}
	q.authors = request.Authors
	if len(q.authors) == 1 && isName(q.authors[0]) {
		filters, q.authors = append(filters, "from:@"+q.authors[0]), nil
	}
	if request.TimeCutoff != nil {
		q.since = request.TimeCutoff.Time
		filters = append(filters, "after:"+day(q.since, -2)) // the day itself does not count, and begins elsewhere earlier
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
	if len(phrases) == 0 {
		words = contentWords(words)
	} else {
		words = withoutStopWords(words)
	}
	q.text = strings.Join(slices.Concat(words, phrases, filters), " ")
	if fewer := longest(words, fewerWords); len(fewer) < len(words) {
		q.broader = strings.Join(slices.Concat(fewer, phrases, filters), " ")
	}
	return q, len(words)+len(phrases) > 0
}

// mayBeMessage reports whether the types that are asked for have messages among them.
func mayBeMessage(types []string) bool {
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool {
		return strings.EqualFold(strings.TrimSpace(t), documentType)
	})
}

func day(t time.Time, shift int) string { return t.UTC().AddDate(0, 0, shift).Format(time.DateOnly) }

// wordsOf takes a text apart into words that mean nothing else to Slack.
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

// telling leaves out words that say too little: Slack wants every word to be in a message.
func withoutStopWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return analysis.IsStopWord(strings.ToLower(w)) })
}

// content is telling, as long as something is left.
func contentWords(words []string) []string {
	if left := withoutStopWords(words); len(left) > 0 {
		return left
	}
	return words
}

// longest keeps the n longest words, which are the rarest more often than not, in their order.
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

// isName reports whether a text can stand behind from:@ and in:#, where it ends at a space.
func isName(text string) bool {
	return text != "" && utf8.RuneCountInString(text) <= longestTerm && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("._-", r)
	})
}
