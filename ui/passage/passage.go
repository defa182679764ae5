// Package passage formats search results for all user interfaces: title, age, highlights, snippets, excerpts and
// citations. It handles text and bytes, not terminals.
package passage

import (
	"cmp"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"go.mau.fi/util/exmaps"

	"quarry/client"
	"quarry/client/wire"
	"quarry/internal/text"
)

// Title returns the title of a result on one line, or "(untitled)".
func Title(r wire.SearchResult) string {
	return cmp.Or(text.OneLine(r.Title), "(untitled)")
}

// Citation returns the citation number of a result, or "-" if the server sent none.
func Citation(r wire.SearchResult) string {
	if r.CitationID == nil {
		return "-"
	}
	return strconv.Itoa(*r.CitationID)
}

// DocumentKey distinguishes the documents of an answer, as well as the server's fields allow: by citation number, which
// every server gives per document, else by id, link, or title. Those of two answers are compared without their numbers.
func DocumentKey(r wire.SearchResult) string {
	switch {
	case r.CitationID != nil:
		return "citation " + Citation(r)
	case r.DocumentID != "":
		return "document " + r.DocumentID
	case text.OrEmpty(r.Link) != "":
		return "link " + *r.Link
	}
	return "title " + r.SourceType + " " + r.Title
}

// RefOf identifies a result: by its reference, or its link where the server gives none.
func RefOf(r wire.SearchResult) string { return cmp.Or(r.Ref, text.OrEmpty(r.Link)) }

const day = 24 * time.Hour

// Age returns how long ago a time was ("4 days ago"), or "" if it cannot be parsed.
func Age(moment string, now time.Time) string {
	return age(moment, now, []humanize.RelTimeMagnitude{
		{D: 2 * day, Format: "yesterday", DivBy: day}, {D: 14 * day, Format: "%d days ago", DivBy: day},
		{D: 60 * day, Format: "%d weeks ago", DivBy: 7 * day}, {D: 730 * day, Format: "%d months ago", DivBy: 30 * day},
		{D: math.MaxInt64, Format: "%d years ago", DivBy: 365 * day},
	})
}

// ShortAge is Age in short form: "today", "3 d", "5 w", "8 mo", "2 y"; a date for a time in the future.
func ShortAge(moment string, now time.Time) string {
	return age(moment, now, []humanize.RelTimeMagnitude{
		{D: 14 * day, Format: "%d d", DivBy: day}, {D: 60 * day, Format: "%d w", DivBy: 7 * day},
		{D: 365 * day, Format: "%d mo", DivBy: 30 * day}, {D: math.MaxInt64, Format: "%d y", DivBy: 365 * day},
	})
}

// age formats the time between a moment and now. Tomorrow, by the clock of another place, counts as today.
func age(moment string, now time.Time, units []humanize.RelTimeMagnitude) string {
	then, err := wire.ParseTime(moment)
	passed := now.Sub(then)
	switch {
	case err != nil:
		return ""
	case passed <= -2*day:
		return then.Format(time.DateOnly)
	case passed < day:
		return "today"
	}
	return humanize.CustomRelTime(then, now, "", "", units)
}

// Day returns the date of a time as the server sent it. Other text stays as it is.
func Day(moment string) string {
	if t, err := wire.ParseTime(moment); err == nil {
		return t.Format(time.DateOnly)
	}
	return text.OneLine(moment)
}

// HasOneDate reports whether several documents all have the same date, so that it tells nothing beside each of them.
func HasOneDate(results []wire.SearchResult) bool {
	several := false
	for _, r := range results {
		several = several || r.DocumentID != results[0].DocumentID
		if Day(text.OrEmpty(r.UpdatedAt)) != Day(text.OrEmpty(results[0].UpdatedAt)) {
			return false
		}
	}
	return several
}

// Words returns the words of a query to highlight, in lower case and without duplicates: plain words and the words of
// phrases.
func Words(query client.Query) []string {
	text := strings.ToLower(query.Words + " " + strings.Join(query.Phrases, " "))
	var words []string
	for start, end := range wordsOf(text) {
		if word := text[start:end]; !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}

// Highlights returns the server's highlights, or else those of the query's words (see Words), as byte offsets into the
// content.
func Highlights(r wire.SearchResult, words []string) []wire.Span {
	if len(r.Highlights) > 0 {
		return r.Highlights
	}
	return FindWords(r.Content, words)
}

// Forms returns the words of a query with the forms of them, and corrections, that the server marked in results: for
// titles and places, which come without marks.
func Forms(results []wire.SearchResult, words []string) []string {
	const most = 20 // marks of a result
	forms := exmaps.NewSetWithItems(words)
	for _, r := range results {
		for _, mark := range wire.OrderSpans(r.Content, r.Highlights[:min(len(r.Highlights), most)]) {
			forms.Add(strings.ToLower(r.Content[mark[0]:mark[1]]))
		}
	}
	return slices.Sorted(maps.Keys(forms))
}

// Typing returns words (see Words) of which the last one is still being typed: it stands for all that begin with it.
func Typing(words []string) []string {
	typed := slices.Clone(words)
	if n := len(typed); n > 0 {
		typed[n-1] += unfinished
	}
	return typed
}

// unfinished ends a word of which only the beginning is known.
const unfinished = "*"

// FindWords returns where the words of a query occur in a text, ignoring case and common English endings: whole words,
// or anywhere in scripts without spaces. Words without weight (how, to) are skipped unless there are no others.
func FindWords(content string, words []string) []wire.Span {
	if weighty := slices.DeleteFunc(slices.Clone(words), text.IsStopWord); len(weighty) > 0 {
		words = weighty
	}
	var whole, anywhere []string
	for _, word := range words {
		if strings.IndexFunc(word, isIdeograph) >= 0 {
			anywhere = append(anywhere, strings.TrimSuffix(word, unfinished))
		} else {
			whole = append(whole, word)
		}
	}
	if len(words) == 0 {
		return nil
	}
	var spans []wire.Span
	for start, end := range wordsOf(content) {
		word := content[start:end]
		if at := indexAny(word, anywhere); at[1] > 0 {
			spans = append(spans, wire.Span{start + at[0], start + at[1]})
			continue
		}
		lower := strings.ToLower(word)
		if slices.ContainsFunc(whole, func(wanted string) bool { return isForm(lower, wanted) }) {
			spans = append(spans, wire.Span{start, end})
		}
	}
	return spans
}

// isForm reports whether a word is the wanted one, with or without a common English ending, or begins as it does.
func isForm(word, wanted string) bool {
	if beginning, ok := strings.CutSuffix(wanted, unfinished); ok {
		return strings.HasPrefix(word, beginning)
	}
	return word == wanted || inflects(word, wanted) || inflects(wanted, word)
}

// inflects reports whether a word is a longer one without a common English ending.
func inflects(word, longer string) bool {
	const shortest = 3 // "as" is no form of "a"
	ending, found := strings.CutPrefix(longer, word)
	return found && len(word) >= shortest && text.IsAmong(ending, "s es ed ing")
}

// indexAny returns the first of the words found in a text, or an empty span.
func indexAny(text string, words []string) wire.Span {
	for _, word := range words {
		if at := strings.Index(text, word); at >= 0 {
			return wire.Span{at, at + len(word)}
		}
	}
	return wire.Span{}
}

// isIdeograph reports whether a letter belongs to a script without spaces between words.
func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// wordsOf yields the byte ranges of runs of letters and digits.
func wordsOf(text string) func(yield func(start, end int) bool) {
	return func(yield func(int, int) bool) {
		start := -1
		for i, r := range text {
			inside := isWordRune(r)
			switch {
			case inside && start < 0:
				start = i
			case !inside && start >= 0:
				if !yield(start, i) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// Lack returns why a result is none of those that match, as its row says it: "by meaning", which may stand before a
// match, or `without “budget”`. It is empty for one that matches, and for one of another library.
func Lack(r wire.SearchResult) string {
	switch {
	case r.Matches:
		return ""
	case r.FoundBy == wire.FoundByMeaning:
		return "by meaning"
	case r.FoundBy != "":
		return "by a rewritten query"
	}
	return without(r)
}

// Lacking returns what a row says that its result lacks: what Lack does, or the words of a short query that are in
// other matches.
func Lacking(r wire.SearchResult) string {
	if r.Partial {
		return without(r)
	}
	return Lack(r)
}

func without(r wire.SearchResult) string {
	if len(r.Missing) == 0 {
		return ""
	}
	return "without “" + text.OneLine(strings.Join(r.Missing, "”, “")) + "”"
}

// Total returns how many documents match an answer, as far as the server knows.
func Total(r *wire.SearchResponse) string {
	total := text.Count(r.TotalMatches, "document")
	switch {
	case !r.Counted():
		return "about " + total
	case slices.ContainsFunc(r.Notes, func(n wire.Note) bool { return n.Code == wire.NoteEstimated }):
		return "at least " + total
	}
	return total
}

// Under returns the heading that a passage is under; empty if that is the title.
func Under(r wire.SearchResult) string {
	path := r.HeadingPath
	if len(path) == 0 || strings.EqualFold(path[len(path)-1], r.Title) {
		return ""
	}
	return text.OneLine(path[len(path)-1])
}

// FurtherResults heads the results behind the last one that matches.
const FurtherResults = "further results"

// Further returns the index of the first further result.
func Further(results []wire.SearchResult) int {
	at := len(results)
	for at > 0 && Lack(results[at-1]) != "" {
		at--
	}
	return at
}

// Related returns what a result lacks of the query, the newer version of its document and those with the same text:
// "newer version: Expenses v2 (2026-03-01) · also in Travel, Onboarding and 2 more"; "" without any.
func Related(r wire.SearchResult) string {
	const most = 3
	newer, also := "", ""
	if r.Newer != nil {
		newer = "newer version: " + name(r.Newer.Title, r.Newer.DocumentID, r)
		if r.Newer.UpdatedAt != nil {
			newer += " (" + Day(*r.Newer.UpdatedAt) + ")"
		}
	}
	var names []string
	for _, c := range r.AlsoIn[:min(most, len(r.AlsoIn))] {
		names = append(names, name(c.Title, c.DocumentID, r))
	}
	if len(names) > 0 {
		also = "also in " + strings.Join(names, ", ")
		if more := max(len(r.AlsoIn), r.AlsoInCount) - most; more > 0 {
			also += " and " + strconv.Itoa(more) + " more"
		}
	}
	return text.Join(" · ", Lacking(r), newer, also)
}

// name is the title of a document, or its id if a result has the same title or it has none.
func name(title, id string, beside wire.SearchResult) string {
	if title == beside.Title {
		title = ""
	}
	return text.OneLine(cmp.Or(title, id))
}

// Reference returns the citation of a result as plain text, for whoever reads it elsewhere: where the passage is, as a
// colleague can open it or hand it to `quarry read`, and the date of the document.
//
//	Parental leave › Who is entitled (handbook/people/leave.md:112, 2026-03-12)
func Reference(r wire.SearchResult) string {
	return headed(r) + about(cmp.Or(r.Citation, Address(r), nameless(r.Ref)), r)
}

// Cite returns the citation of a result as one line of Markdown. The title is a link if there is an address for others:
//
//	[2] [Runbook › Rolling back a release](https://wiki.acme.com/1042) (Confluence, 2026-09-21)
//
// Results without a citation number are cited without it.
func Cite(r wire.SearchResult) string {
	number := ""
	if r.CitationID != nil {
		number = "[" + Citation(r) + "] "
	}
	if link := text.OneLine(Address(r)); link != "" {
		return number + "[" + escaped(headed(r)) + "](" + linkTarget(link) + ")" +
			escaped(about(wire.SourceName(r.SourceType), r))
	}
	return number + escaped(headed(r)+about(cmp.Or(r.Citation, nameless(r.Ref)), r))
}

// Address returns where others can open a result: its permalink, else its link; "" for a file of this machine.
func Address(r wire.SearchResult) string {
	if strings.Contains(r.Citation, "://") && Openable(r.Citation, false) {
		return r.Citation
	}
	if link := text.OrEmpty(r.Link); Openable(link, false) {
		return link
	}
	return ""
}

// nameless returns a ref, that of a file without its folders: passages that an earlier version saved have no citation.
func nameless(ref string) string {
	if strings.HasPrefix(ref, "file:") {
		return path.Base(ref)
	}
	return ref
}

// headed returns the title of a result with the heading that the passage is below.
func headed(r wire.SearchResult) string {
	return text.Join(" › ", Title(r), Under(r))
}

// about returns the end of a citation.
func about(place string, r wire.SearchResult) string {
	if said := text.Join(", ", text.OneLine(place), Day(text.OrEmpty(r.UpdatedAt))); said != "" {
		return " (" + said + ")"
	}
	return ""
}

// Quote returns the content of a result as a Markdown quote, followed by its citation. The caller replaces the content
// if it has read more of the document.
func Quote(r wire.SearchResult) string {
	quoted := Blockquote(r.Content)
	if quoted == "" {
		return Cite(r) + "\n"
	}
	return quoted + "\n\n— " + Cite(r) + "\n"
}

// Blockquote returns a text as a Markdown quote, without blank lines at its ends and without a final line end.
func Blockquote(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// escaped escapes the characters that Markdown would interpret. Underscores stay: they mean nothing inside words.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "`", "\\`", "<", `\<`).Replace(text)
}

// linkTarget escapes an address for the parentheses of a Markdown link.
func linkTarget(link string) string {
	return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "<", "%3C", ">", "%3E", `\`, "%5C").Replace(link)
}
