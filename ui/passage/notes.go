package passage

import (
	"strings"

	"quarry/internal/pattern"
)

var (
	wikiLink     = pattern.Lazy(`^!?\[\[#*([^\[\]|\n\s][^\[\]|\n]*)(?:\|([^\[\]\n]*))?\]\]`)
	footnoteMark = pattern.Lazy(`^\[\^([^\[\]^\s]+)\]`)
	calloutMark  = pattern.Lazy(`^\[!(\pL[\w-]*)(?:\|[^\[\]\n]*)?\][+-]? *`)
	inlineNote   = pattern.Lazy(`^\^\[[^\[\]\n]+\]`)
	hiddenText   = pattern.Lazy(`^%%[^%\n]+%%\B`)
	highlight    = pattern.Lazy(`^==([^=\s][^=\n]*)==`)
)

// hiddenLines matches what may be a comment of notes over several lines: in a paragraph, or from the beginning of a
// line on. Code has no comments, and is matched to step over it.
var hiddenLines = pattern.Lazy("(?ms)^[ \\t>]*(?:```.*?(?:^[ \\t>]*```|\\z)|~~~.*?(?:^[ \\t>]*~~~|\\z)|%%.*?%%\\B)|" +
	"`[^`\n]+`|\\B%%(?:[^\n]|\n[ \\t>]*\\S)*?%%\\B")

// WithoutComments returns Markdown with spaces for the comments of notes, %%text%%, that end on another line than they
// begin: NoteMark knows those of one line. All else keeps its place.
func WithoutComments(markdown string) string {
	if strings.Count(markdown, "%%") < 2 {
		return markdown
	}
	return hiddenLines().ReplaceAllStringFunc(markdown, func(part string) string {
		if !strings.Contains(part, "\n") || !strings.HasPrefix(strings.TrimLeft(part, " \t>"), "%%") {
			return part
		}
		blank := []byte(part)
		for i, c := range blank {
			if c != '\n' {
				blank[i] = ' '
			}
		}
		return string(blank)
	})
}

// NoteMark returns what is shown of a mark of notes that a text begins with, as a part of the text, and the length of
// the mark; 0 if there is none. Of a link to another note, [[page|label]], it is the label or the page; of a footnote
// its number, as ^1, or in brackets if it is written there, ^[text]; of ==text== the text; of a comment, %%text%%,
// nothing; and at the beginning of a quote, of a callout, [!note] Title, nothing if it has a title, else its kind.
func NoteMark(text string, beginsQuote bool) (from, to, length int) {
	text = text[:min(len(text), markReach)]
	switch {
	case strings.HasPrefix(text, "[[") || strings.HasPrefix(text, "![["):
		at := wikiLink().FindStringSubmatchIndex(text)
		if at == nil || strings.HasPrefix(text[at[1]:], "(") {
			break
		}
		from, to = at[2], at[3]
		label := text[max(0, at[4]):max(0, at[5])]
		if strings.Trim(label, "0123456789x") != "" { // not the width of a picture
			from, to = at[4], at[5]
		}
		return from, len(strings.TrimSuffix(text[:to], `\`)), at[1]
	case strings.HasPrefix(text, "[^"):
		if at := footnoteMark().FindStringSubmatchIndex(text); at != nil {
			return at[2] - 1, at[3], at[1]
		}
	case beginsQuote && strings.HasPrefix(text, "[!"):
		at := calloutMark().FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		if title, _, _ := strings.Cut(text[at[1]:], "\n"); strings.TrimSpace(title) != "" {
			return at[1], at[1], at[1]
		}
		return at[2], at[3], at[1]
	case strings.HasPrefix(text, "^["):
		if inlineNote().MatchString(text) {
			return 1, 1, 1 // what is in the brackets may have marks, too
		}
	case strings.HasPrefix(text, "%%"):
		length = len(hiddenText().FindString(text))
		return length, length, length
	case strings.HasPrefix(text, "=="):
		if at := highlight().FindStringSubmatchIndex(text); at != nil && text[at[3]-1] != ' ' {
			return at[2], at[3], at[1]
		}
	}
	return 0, 0, 0
}
