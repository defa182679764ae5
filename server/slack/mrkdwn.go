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
	// maxNested is how deep emphasis goes into emphasis; there are three kinds.
	maxNested = 3
)

// markdown translates the text of a message out of Slack's own marks, which look like Markdown and are not: *bold*,
// ~struck~, <https://example.com|a link>, <@U1>, &lt;. Names are those of people by their number. It takes what a
// message may hold and leaves out the rest.
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
		case i%2 == 1: // opened and never closed
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

// linesOf translates text without blocks of code.
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

// lineOf translates a line, but for what stands between backticks.
func lineOf(line string, names map[string]string) string {
	return between(line, "`", "`", func(text string) string { return styled(text, names, maxNested) },
		func(code string) string { return "`" + unwrapped(code, names) + "`" })
}

// between translates what stands between two marks with inside, and the rest with outside.
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

// marks of emphasis, and what they are in Markdown.
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

// styled translates emphasis and links of a part of a line. Each kind of mark is looked for to the end of the line
// once: where none closes, none does further on.
func styled(text string, names map[string]string, nested int) string {
	var out strings.Builder
	unclosed := map[byte]bool{}
	from := 0 // what precedes is in out
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

// opens reports whether emphasis may begin at a mark: not inside a word, and before something.
func opens(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, size := utf8.DecodeRuneInString(text[at+1:])
	return (at == 0 || !isWordRune(before)) && size > 0 && !unicode.IsSpace(after) && after != rune(text[at])
}

// closing finds where emphasis ends; -1 if it does not. A mark inside <…> closes nothing.
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

// reference translates what stands between < and >: a link, a person, a channel, or a command such as !here.
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

// command is a mention of many, a date, or a group of people.
func command(target, label string) string {
	name, _, _ := strings.Cut(target, "^")
	if name == "date" {
		return label
	}
	return "@" + strings.TrimPrefix(cmp.Or(label, name), "@")
}

// link is a link in Markdown where it can be one, else its words.
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

// unwrapped is code: nothing in it is emphasis, and a link is its words.
func unwrapped(text string, names map[string]string) string {
	return between(text, "<", ">", entities, func(inside string) string {
		target, label, _ := strings.Cut(inside, "|")
		if target != "" && strings.Contains("@#!", target[:1]) {
			return reference(inside, names)
		}
		return entities(cmp.Or(label, target))
	})
}

// entities turns the three characters back that Slack escapes. No other is an entity.
func entities(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "&lt;", "<"), "&gt;", ">"), "&amp;", "&")
}

// escape is the opposite.
func escape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "¦").Replace(text)
}

// visible leaves out what cannot be seen, such as the marks that Slack puts around words that were found.
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

// plain is a foreign text of one short line.
func plain(s string) string {
	return text.Shorten(text.OneLine(visible(text.Clip(s, 4*maxName))), maxName)
}
