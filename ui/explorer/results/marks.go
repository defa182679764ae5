package results

import (
	"strings"
	"unicode/utf8"

	"quarry/client/wire"
	"quarry/ui/passage"
)

// How much of a long content is searched for words at once, and in all, in bytes.
const (
	searchedAtOnce = 16 << 10
	searchedAtMost = 256 << 10
)

// marksOf is what is highlighted in a result: what the server said or else the words, from the best passage on. Of a
// long content only the part is searched that has some; a list shows no more.
func marksOf(r wire.SearchResult, words []string) []wire.Span {
	if len(r.Highlights) > 0 || len(words) == 0 {
		return r.Highlights
	}
	content := r.Content
	from := max(0, min(r.BestPassage[0], len(content)))
	for from < len(content) && !utf8.RuneStart(content[from]) {
		from++
	}
	for limit := min(len(content), from+searchedAtMost); from < limit; {
		end := partEnd(content, from+searchedAtOnce)
		if spans := passage.FindWords(content[from:end], words); len(spans) > 0 {
			for i := range spans {
				spans[i][0] += from
				spans[i][1] += from
			}
			return spans
		}
		from = end
	}
	return nil
}

// partEnd is a place near a position where no word goes on, or at least no character.
func partEnd(text string, at int) int {
	if at >= len(text) {
		return len(text)
	}
	if space := strings.IndexAny(text[at:min(len(text), at+256)], " \n"); space >= 0 {
		return at + space
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}
