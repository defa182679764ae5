package querybox

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"quarry/client"
	"quarry/client/wire"
)

// InstantQuery is Query for a search while it is being typed: of a filter that is not finished, at the cursor or at the
// end of the text, only those values count that are. Filters come first, so that client.Query.WordEnded is set
// once the last word is complete.
func (b *Box) InstantQuery(now time.Time) string {
	b.now = now
	text := b.Text()
	var out strings.Builder
	copied := 0
	for _, t := range client.Tokens(text) {
		typed := t.End == len(text) || b.Cursor() > t.Start && b.Cursor() <= t.End
		if t.Field == "" || !typed {
			continue
		}
		out.WriteString(text[copied:t.Start])
		out.WriteString(finishedPart(text, t, now))
		copied = t.End
	}
	out.WriteString(text[copied:])
	rest := strings.TrimLeftFunc(out.String(), unicode.IsSpace)
	if rest == "" {
		return strings.Join(b.Attached(), " ")
	}
	return strings.Join(append(slices.Clone(b.Attached()), rest), " ")
}

// finishedPart is what of a filter that is being typed would not change its meaning with the next character: all of it,
// the values before the last comma, or nothing.
func finishedPart(text string, t client.Token, now time.Time) string {
	raw := text[t.Start:t.End]
	if isFilter(raw, now) && isFinished(raw, t, now) {
		return raw
	}
	if before := text[t.Start : t.At-1]; strings.Contains(before, ":") && isFilter(before, now) {
		return before
	}
	return ""
}

// isFilter reports whether a text is one filter and nothing else.
func isFilter(raw string, now time.Time) bool {
	chips := client.ParseQuery(raw, now).Chips
	return len(chips) == 1 && chips[0].Raw == raw
}

// isFinished reports whether a filter names something whole: a moment, sources that exist, or what a quotation mark
// closed.
func isFinished(raw string, t client.Token, now time.Time) bool {
	switch t.Field {
	case "since", "until", "within":
		return true
	case "source":
		return !slices.ContainsFunc(client.ParseQuery(raw, now).Sources, func(source string) bool {
			_, known := wire.LookupSource(source)
			return !known
		})
	}
	return t.Quoted
}

// Partial is what is being typed at the cursor, for completion.
type Partial struct {
	// Field is the filter whose value is being typed, "" for a word, which may become the name of a filter.
	Field string
	// Text is the value after its last comma, without quotation marks, or the word.
	Text string

	start int // of what Complete replaces
}

// Typing is what Complete would replace; false if the cursor does not stand at the end of something.
func (b *Box) Typing() (Partial, bool) {
	for _, t := range client.Tokens(b.Text()) {
		if t.End != b.Cursor() {
			continue
		}
		if t.Field == "" {
			return Partial{Text: b.Text()[t.Start:t.End], start: t.Start}, !t.Open
		}
		return Partial{t.Field, t.Value, t.At}, true
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
