package passage

import (
	"cmp"
	"net/url"
	"path"
	"strings"

	"quarry/client/wire"
	"quarry/internal/pattern"
	"quarry/internal/text"
)

// Shared returns a result for somebody who sees neither this machine nor the folder of the document: links in its
// content are absolute or replaced by their text, and a link to a file is left out.
func Shared(r wire.SearchResult) wire.SearchResult {
	base := text.OrEmpty(r.Link)
	r.Content = Portable(r.Content, base)
	if link, ok := Resolve(base, ""); ok {
		r.Link = &link
	} else {
		r.Link = nil
	}
	return r
}

// Answer returns the answer of a model as Markdown, followed by the citations of the documents that it cites.
func Answer(markdown string, cited []wire.SearchResult) string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace(Portable(Numbered(markdown), "")) + "\n")
	for i, result := range cited {
		if i == 0 {
			out.WriteByte('\n')
		}
		out.WriteString(Cite(Shared(result)) + "\n")
	}
	return out.String()
}

// Numbered returns the answer of a model with the numbers of its citations, [1], in place of their links, [[1]](link).
func Numbered(markdown string) string {
	return citation().ReplaceAllStringFunc(markdown, func(link string) string {
		if len(link) > LongestCitation {
			return link
		}
		return link[1 : strings.IndexByte(link, ']')+1]
	})
}

// LongestCitation bounds the link of a citation, in bytes: text that comes is held back until it is known to be one.
const LongestCitation = 4 << 10

var citation = pattern.Lazy(`\[(\[\d{1,3}\])\]\((?:[^()\s]|\([^()\s]*\))*\)`)

// Around returns the paragraphs of a text that a range touches, without blank lines around them.
func Around(text string, from, to int) string {
	from, to = max(0, min(from, len(text))), max(0, min(to, len(text)))
	if to <= from {
		return strings.TrimSpace(text)
	}
	start, end := 0, len(text)
	if at := strings.LastIndex(text[:from], "\n\n"); at >= 0 {
		start = at + 2
	}
	if at := strings.Index(text[to:], "\n\n"); at >= 0 {
		end = to + at
	}
	return strings.Trim(Cut(text, start, end), "\n")
}

// Portable returns Markdown whose links work elsewhere: relative ones are made absolute against the address of the
// document, where that is one of the web, and links that cannot be opened elsewhere are replaced by their text. Code
// stays as it is.
func Portable(markdown, base string) string {
	p := porter{base: base, targets: map[string]string{}}
	for text, code := range codeBlocks(markdown) {
		if !code {
			p.withoutDefinitions(text) // which may be behind the links
		}
	}
	for text, code := range codeBlocks(markdown) {
		if code {
			p.out.WriteString(text)
		} else {
			p.inline(p.withoutDefinitions(text))
		}
	}
	return p.out.String()
}

// definition reads a line that defines the target of a reference link.
func definition(line string) (label, target string, ok bool) {
	label, target, ok = strings.Cut(line, "]: ")
	target = strings.TrimSpace(target)
	ok = ok && strings.HasPrefix(label, "[") && !strings.ContainsAny(target, " \t") &&
		strings.ContainsAny(target, "/#.")
	return strings.ToLower(strings.TrimPrefix(label, "[")), target, ok
}

// porter writes Markdown with links that work elsewhere.
type porter struct {
	base    string
	targets map[string]string // of reference links, by label
	out     strings.Builder
}

// withoutDefinitions takes the lines out of a text that define the targets of reference links, and keeps the targets.
func (p *porter) withoutDefinitions(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if label, target, ok := definition(strings.TrimSpace(line)); ok {
			p.targets[label] = target
			continue
		}
		out.WriteString(line)
	}
	return out.String()
}

// inline copies a text without code blocks.
func (p *porter) inline(text string) {
	start := 0
	for at := 0; at < len(text); {
		width := 1
		switch text[at] {
		case '\\':
			width = 2
		case '`':
			width = codeLength(text, at)
		case '[', '!':
			if written, length := p.link(text, at); length > 0 {
				p.out.WriteString(text[start:at] + written)
				start, width = at+length, length
			}
		case '<':
			if written, length := p.autolink(text, at); length > 0 {
				p.out.WriteString(text[start:at] + written)
				start, width = at+length, length
			}
		}
		at += width
	}
	p.out.WriteString(text[min(start, len(text)):])
}

// codeLength returns the length of the code span at an offset; of its backticks alone if nothing in the paragraph
// closes them.
func codeLength(text string, at int) int {
	ticks := runLength(text, at)
	for next := at + ticks; next < len(text); {
		tick := strings.IndexByte(text[next:], '`')
		if tick < 0 || strings.Contains(text[next:next+tick], "\n\n") {
			break
		}
		next += tick
		length := runLength(text, next)
		if next += length; length == ticks {
			return next - at
		}
	}
	return ticks
}

// link reads a link or image at an offset, and returns what takes its place and its length; 0 for anything else.
func (p *porter) link(text string, at int) (written string, length int) {
	open := at
	image := text[at] == '!'
	if image {
		open++
	}
	if open >= len(text) || text[open] != '[' {
		return "", 0
	}
	end := closingBracket(text[:min(len(text), open+markReach)], open+1)
	if end < 0 {
		return "", 0
	}
	label := text[open+1 : end]
	rest := text[end+1 : min(len(text), end+1+targetReach)]
	var target, title string
	switch {
	case strings.HasPrefix(rest, "("):
		length := targetLength("]"+rest) - 1
		target, title = targetOf(rest[1:max(1, length-1)])
		end += 1 + length
	case strings.HasPrefix(rest, "[") && strings.Contains(rest, "]"):
		name := rest[1:strings.IndexByte(rest, ']')]
		end += 1 + len(name) + 2
		target = p.targets[strings.ToLower(cmp.Or(name, label))]
	default:
		end++
		target = p.targets[strings.ToLower(label)]
	}
	if target == "" && !strings.HasPrefix(rest, "(") {
		return "", 0
	}
	inner := porter{base: p.base, targets: p.targets}
	inner.inline(label)
	resolved, ok := Resolve(p.base, target)
	switch {
	case !ok:
		return inner.out.String(), end - at
	case image:
		return "![" + label + "](" + linkTarget(resolved) + title + ")", end - at
	}
	return "[" + inner.out.String() + "](" + linkTarget(resolved) + title + ")", end - at
}

// targetOf parts the inside of a link's parentheses into its address and its title, with the space before it.
func targetOf(inside string) (target, title string) {
	inside = strings.TrimSpace(inside)
	if strings.HasPrefix(inside, "<") {
		if target, title, ok := strings.Cut(inside[1:], ">"); ok {
			return target, title
		}
	}
	if at := strings.IndexAny(inside, " \t\n"); at >= 0 {
		return inside[:at], inside[at:]
	}
	return inside, ""
}

// autolink reads an address in angle brackets, of which one of a file is shortened to its name.
func (p *porter) autolink(text string, at int) (written string, length int) {
	inside := text[at+1 : min(len(text), at+targetReach)]
	end := strings.IndexAny(inside, " <>\n")
	if end < 0 || inside[end] != '>' || !strings.HasPrefix(strings.ToLower(inside), "file:") {
		return "", 0
	}
	return path.Base(inside[:end]), end + 2
}

// Resolve returns the address of a link in a document that has an address, and whether it works elsewhere: it is
// absolute, of the web or of mail.
func Resolve(base, target string) (address string, public bool) {
	parsed, err := url.Parse(target)
	if err != nil {
		return "", false
	}
	if parsed.Scheme == "" {
		from, err := url.Parse(base)
		if err != nil || base == "" {
			return "", false
		}
		parsed = from.ResolveReference(parsed)
		if target == "" { // the address itself, as it was written
			return base, isPublic(parsed)
		}
		return parsed.String(), isPublic(parsed)
	}
	return target, isPublic(parsed)
}

// isPublic reports whether an address means the same on every machine.
func isPublic(address *url.URL) bool {
	scheme := strings.ToLower(address.Scheme)
	return scheme == "mailto" || text.IsAmong(scheme, "http https") && address.Host != ""
}

// Openable reports whether an address may be opened on the machine of the person: one of the web or of mail, and with
// files one of a file there.
func Openable(address string, files bool) bool {
	parsed, err := url.Parse(address)
	return err == nil && (isPublic(parsed) ||
		files && strings.EqualFold(parsed.Scheme, "file") && (parsed.Host == "" || parsed.Host == "localhost"))
}
