package slack

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"quarry/internal/text"
)

const (
	fence = "```"
	// maxNested limits the nesting of emphasis; there are three kinds.
	maxNested = 3
)

// markdown converts Slack's mrkdwn to Markdown: *bold*, ~struck~, <https://example.com|a link>, <@U1>, &lt;. names has
// the names of users by id.
func markdown(message string, names map[string]string) string {
	parts := strings.Split(text.Clip(visible(message), maxText), fence)
	var out strings.Builder
	for i, part := range parts {
		isCode := i%2 == 1 && i < len(parts)-1
		switch {
		case isCode && strings.TrimSpace(part) != "":
			startLine(&out)
			out.WriteString(fence + "\n" + strings.Trim(unwrapped(part, names), "\n") + "\n" + fence + "\n")
		case isCode:
		case i%2 == 1: // a fence that is never closed
			out.WriteString(fence + linesOf(part, names))
		default:
			out.WriteString(linesOf(part, names))
		}
	}
	return strings.TrimSpace(out.String())
}

func startLine(out *strings.Builder) {
	if text := out.String(); text != "" && !strings.HasSuffix(text, "\n") {
		out.WriteByte('\n')
	}
}

// linesOf converts text without code blocks.
func linesOf(text string, names map[string]string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if rest, quoted := strings.CutPrefix(line, "&gt;"); quoted {
			lines[i] = "> " + lineOf(strings.TrimLeft(strings.TrimPrefix(rest, "&gt;&gt;"), " "), names)
			continue
		}
		lines[i] = lineOf(line, names)
	}
	return strings.Join(lines, "\n")
}

// lineOf converts a line, except what is between backticks.
func lineOf(line string, names map[string]string) string {
	return between(line, "`", "`", func(text string) string { return styled(text, names, maxNested) },
		func(code string) string { return "`" + unwrapped(code, names) + "`" })
}

// between converts what is between two marks with inside, and the rest with outside.
func between(text, opening, closing string, outside, inside func(string) string) string {
	var out strings.Builder
	for {
		before, rest, opened := strings.Cut(text, opening)
		marked, after, closed := strings.Cut(rest, closing)
		if !opened || !closed {
			out.WriteString(outside(text))
			return out.String()
		}
		out.WriteString(outside(before))
		out.WriteString(inside(marked))
		text = after
	}
}

// markOf returns the Markdown for a mark of emphasis, or "".
func markOf(b byte) string {
	switch b {
	case '*':
		return "**"
	case '_':
		return "_"
	case '~':
		return "~~"
	}
	return ""
}

// styled converts the emphasis and links in a part of a line. A kind of mark that is not closed once is not searched
// for again.
func styled(text string, names map[string]string, nested int) string {
	var out strings.Builder
	unclosed := map[byte]bool{}
	from := 0 // text before it is in out
	for at := 0; at < len(text); {
		mark := text[at]
		if mark == '<' {
			if end := strings.IndexByte(text[at:], '>'); end > 0 {
				out.WriteString(entities(text[from:at]))
				out.WriteString(reference(text[at+1:at+end], names))
				at += end + 1
				from = at
				continue
			}
			out.WriteString(entities(text[from:]))
			return out.String()
		}
		if markOf(mark) == "" || nested == 0 || unclosed[mark] || !opens(text, at) {
			at++
			continue
		}
		end := closing(text, at)
		if end < 0 {
			unclosed[mark] = true
			at++
			continue
		}
		out.WriteString(entities(text[from:at]))
		out.WriteString(markOf(mark) + styled(text[at+1:end], names, nested-1) + markOf(mark))
		at = end + 1
		from = at
	}
	out.WriteString(entities(text[from:]))
	return out.String()
}

// opens reports whether emphasis may start at a mark: not inside a word, and not before a space.
func opens(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, size := utf8.DecodeRuneInString(text[at+1:])
	return (at == 0 || !isWordRune(before)) && size > 0 && !unicode.IsSpace(after) && after != rune(text[at])
}

// closing returns the end of emphasis, or -1. Marks inside <…> close nothing.
func closing(text string, at int) int {
	last := strings.LastIndexByte(text, '>')
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '<':
			if i < last {
				i += strings.IndexByte(text[i:], '>')
			}
		case text[at]:
			before, _ := utf8.DecodeLastRuneInString(text[:i])
			after, size := utf8.DecodeRuneInString(text[i+1:])
			if i > at+1 && !unicode.IsSpace(before) && (size == 0 || !isWordRune(after)) {
				return i
			}
		}
	}
	return -1
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// reference converts what is between < and >: a link, a user, a channel, or a command such as !here.
func reference(inside string, names map[string]string) string {
	target, label, _ := strings.Cut(inside, "|")
	label = entities(label)
	switch {
	case strings.HasPrefix(target, "@"):
		return "@" + strings.TrimPrefix(cmp.Or(label, names[target[1:]], target[1:]), "@")
	case strings.HasPrefix(target, "#"):
		return "#" + strings.TrimPrefix(cmp.Or(label, target[1:]), "#")
	case strings.HasPrefix(target, "!"):
		return command(target[1:], label)
	}
	return link(entities(target), label)
}

// command converts a group mention or a date.
func command(target, label string) string {
	name, _, _ := strings.Cut(target, "^")
	if name == "date" {
		return label
	}
	return "@" + strings.TrimPrefix(cmp.Or(label, name), "@")
}

// link returns a Markdown link, or the label if the target is no web address.
func link(target, label string) string {
	u, err := url.Parse(target)
	if err != nil || u.User != nil && u.Scheme != "mailto" || len(target) > maxLink {
		return label
	}
	switch u.Scheme {
	case "mailto", "tel":
		return cmp.Or(label, u.Opaque)
	case "http", "https":
	default:
		return cmp.Or(label, target)
	}
	target = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "\n", "").Replace(target)
	if bare := strings.NewReplacer("https://", "", "http://", ""); label == "" || bare.Replace(label) == bare.Replace(target) {
		return target
	}
	return "[" + strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(label) + "](" + target + ")"
}

// unwrapped converts code: emphasis stays as it is, links become their labels.
func unwrapped(text string, names map[string]string) string {
	return between(text, "<", ">", entities, func(inside string) string {
		target, label, _ := strings.Cut(inside, "|")
		if target != "" && strings.Contains("@#!", target[:1]) {
			return reference(inside, names)
		}
		return entities(cmp.Or(label, target))
	})
}

// entities decodes the three characters that Slack escapes.
func entities(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "&lt;", "<"), "&gt;", ">"), "&amp;", "&")
}

// escape encodes them.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦").Replace(text)
}

// visible removes invisible characters, such as Slack's marks around matched words.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Co, r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}

// plain returns foreign text on one short line.
func plain(s string) string {
	return text.Shorten(text.OneLine(visible(text.Clip(s, 4*maxName))), maxName)
}
