package querybox

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"quarry/client"
	"quarry/client/wire"
)

// InstantQuery is Query for a search while it is being typed: of a filter that is not finished, at the cursor or at the
// end of the text, only those values count that are. Filters come first, so that client.Query.WordEnded tells whether
// the last word is still growing.
func (b *Box) InstantQuery(now time.Time) string {
	b.now = now
	text := b.Text()
	var out strings.Builder
	copied := 0
	for _, t := range tokens(text) {
		typed := t.end == len(text) || b.Cursor() > t.start && b.Cursor() <= t.end
		if !t.filter || !typed {
			continue
		}
		out.WriteString(text[copied:t.start])
		out.WriteString(settledPart(text[t.start:t.end], now))
		copied = t.end
	}
	out.WriteString(text[copied:])
	rest := strings.TrimLeftFunc(out.String(), unicode.IsSpace)
	if rest == "" {
		return strings.Join(b.Attached(), " ")
	}
	return strings.Join(append(slices.Clone(b.Attached()), rest), " ")
}

// settledPart is what of a filter that is being typed would not change its meaning with the next character: all of it,
// the values before the last comma, or nothing.
func settledPart(raw string, now time.Time) string {
	if isFilter(raw, now) && isSettled(raw, now) {
		return raw
	}
	comma := lastComma(raw)
	if comma >= 0 && isFilter(raw[:comma], now) {
		return raw[:comma]
	}
	return ""
}

// isFilter tells whether a text is one filter and nothing else.
func isFilter(raw string, now time.Time) bool {
	chips := client.ParseQuery(raw, now).Chips
	return len(chips) == 1 && chips[0].Raw == raw
}

// isSettled tells whether a filter names something whole: a moment, sources that exist, or what a quotation mark closed.
func isSettled(raw string, now time.Time) bool {
	q := client.ParseQuery(raw, now)
	switch q.Chips[0].Field {
	case "since", "until", "within":
		return true
	case "source":
		return !slices.ContainsFunc(q.Sources, func(source string) bool {
			_, known := wire.LookupSource(source)
			return !known
		})
	}
	last, _ := utf8.DecodeLastRuneInString(raw)
	return isQuote(last)
}

// lastComma is the last comma outside of quotation marks; -1 if there is none.
func lastComma(raw string) int {
	comma, inQuotes := -1, false
	for at, r := range raw {
		if isQuote(r) {
			inQuotes = !inQuotes
		} else if r == ',' && !inQuotes {
			comma = at
		}
	}
	return comma
}

// Partial is what is being typed at the cursor, for completion.
type Partial struct {
	// Field is the filter whose value is being typed, "" for a word, which may become the name of a filter.
	Field string
	// Text is the value after its last comma, or the word, up to the cursor; without its opening quotation mark.
	Text string

	start int // where Text begins, with its quotation mark
}

// Typing is what Complete would replace; false if the cursor does not stand at the end of something.
func (b *Box) Typing() (Partial, bool) {
	text, cursor := b.Text(), b.Cursor()
	for _, t := range tokens(text) {
		if t.start >= cursor || t.end < cursor {
			continue
		}
		typed := text[t.start:cursor]
		colon := strings.IndexByte(typed, ':')
		if !t.filter || colon < 0 {
			return Partial{Text: typed, start: t.start}, t.end == cursor && !t.open
		}
		start := t.start + max(colon, lastComma(typed)) + 1
		value := strings.TrimLeftFunc(text[start:cursor], isQuote)
		return Partial{strings.ToLower(typed[:colon]), value, start}, t.end == cursor
	}
	return Partial{}, false
}

// Complete puts a text in place of what Typing found, as one step of Undo. A filter that it finishes, with a space at
// its end, becomes a chip.
func (b *Box) Complete(replacement string) bool {
	partial, ok := b.Typing()
	if !ok {
		return false
	}
	text := b.Text()[:partial.start] + replacement + b.Text()[b.Cursor():]
	cursor := partial.start + len(replacement)
	text, cursor, filters := without(text, cursor, b.finished(text, cursor, false))
	return b.Replace(text, cursor, append(slices.Clone(b.Attached()), filters...))
}

// token is a piece of a text between white space outside of quotation marks.
type token struct {
	start, end int
	filter     bool // begins with the name of a filter and a colon
	open       bool // a quotation mark in it is not closed
}

// openQuote is where the first token begins whose quotation mark is still open; the length of the text if there is none.
func openQuote(text string) int {
	for _, t := range tokens(text) {
		if t.open {
			return t.start
		}
	}
	return len(text)
}

// tokens takes a text apart as client.ParseQuery does, but keeps together what an open quotation mark in a filter began.
func tokens(text string) []token {
	var found []token
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			at += width
			continue
		}
		t := tokenAt(text, at)
		found = append(found, t)
		at = t.end
	}
	return found
}

func tokenAt(text string, start int) token {
	rest := text[start:]
	word := wordWidth(rest)
	quote := strings.TrimPrefix(rest[:word], "-")
	if first, _ := utf8.DecodeRuneInString(quote); quote != "" && isQuote(first) {
		closed := quotedWidth(rest[word-len(quote):])
		if closed == 0 {
			return token{start: start, end: start + word, open: true}
		}
		end := word - len(quote) + closed
		return token{start: start, end: start + end + wordWidth(rest[end:])}
	}
	key, _, colon := strings.Cut(rest[:word], ":")
	if !colon || !isField(key) {
		return token{start: start, end: start + word}
	}
	return filterAt(text, start, start+len(key)+1)
}

// filterAt reads the values of a filter up to a space outside of quotation marks.
func filterAt(text string, start, at int) token {
	for at < len(text) {
		r, width := utf8.DecodeRuneInString(text[at:])
		if unicode.IsSpace(r) {
			break
		}
		if isQuote(r) {
			if width = quotedWidth(text[at:]); width == 0 {
				return token{start: start, end: len(text), filter: true, open: true}
			}
		}
		at += width
	}
	return token{start: start, end: at, filter: true}
}

// isField tells whether a filter of that name exists: whatever its value, it would be a chip or an unread filter.
func isField(key string) bool {
	const longest = 16
	if key == "" || len(key) > longest {
		return false
	}
	q := client.ParseQuery(key+":x", time.Time{})
	return len(q.Chips)+len(q.Unread) > 0
}

func wordWidth(s string) int {
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return end
	}
	return len(s)
}

// quotedWidth is the length of the quoted text at the start of s; 0 if it is not closed.
func quotedWidth(s string) int {
	_, opening := utf8.DecodeRuneInString(s)
	end := strings.IndexFunc(s[opening:], isQuote)
	if end < 0 {
		return 0
	}
	_, closing := utf8.DecodeRuneInString(s[opening+end:])
	return opening + end + closing
}

// isQuote knows the quotation marks of the query language. Any of them closes what any of them opened.
func isQuote(r rune) bool { return strings.ContainsRune("\"“”„‟＂«»", r) }
