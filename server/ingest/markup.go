package ingest

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"quarry/internal/pattern"
	"quarry/server/index"
	"quarry/server/ingest/dates"
)

// fromMarkup returns the document of a text in Org, AsciiDoc or reStructuredText: plain text, with the title, dates and
// authors that its head states.
func fromMarkup(_ *fileReader, text string, defaults index.Document) extracted {
	body := strings.TrimLeft(text, "\n")
	m := readMeta(headFields(body, defaults.Type), false)
	m.dateByName(defaults.Origin)
	return endOf(text, body, paragraphs(body, 0, kindProse), m)
}

var (
	// headField matches a keyword of Org, an attribute of AsciiDoc, a field of reStructuredText, or a comment of
	// Nikola.
	headField = pattern.Lazy(
		`(?i)^\s*(?:#\+|:|\.\. )(title|authors?|date|revdate|created|modified|updated|last_modified|` +
			`tags|keywords|category|description):\s*(\S.*)`)
	// asciiDocAuthor and asciiDocRevision match the lines below the title of AsciiDoc: "v1.2, 2024-03-05: second
	// edition".
	asciiDocAuthor   = pattern.Lazy(`^\pL[^<>]* <[^<> ]+@[^<> ]+>`)
	asciiDocRevision = pattern.Lazy(`^(?:v?[\d.]+, *)?([^:]*\d{4}[^:]*)(?::.*)?$`)
)

// headFields returns what the head of a text states, as front matter would.
func headFields(text, kind string) *yaml.Node {
	fields := &yaml.Node{Kind: yaml.MappingNode}
	isTitled := false
	add := func(key, value string) {
		isTitled = isTitled || strings.EqualFold(key, "title")
		fields.Content = append(fields.Content, &yaml.Node{Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
	const most = 60 // lines
	lines := strings.SplitN(text, "\n", most)
	titleAt := -1 // of AsciiDoc
	for i, line := range lines {
		line = strings.TrimRight(line, " \t")
		match := headField().FindStringSubmatch(line)
		isBelow := titleAt >= 0 && i > titleAt && i <= titleAt+2
		switch {
		case match != nil:
			add(match[1], match[2])
		case kind == "adoc" && titleAt < 0 && (strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "# ")):
			add("title", line[2:])
			titleAt = i
		case kind == "adoc" && titleAt < 0 && line != "" && !strings.HasPrefix(line, "//") && line[0] != ':':
			return fields // without a title
		case isBelow && i == titleAt+1 && asciiDocAuthor().MatchString(line):
			add("author", line)
		case isBelow && asciiDocRevision().MatchString(line):
			add("date", strings.TrimSpace(asciiDocRevision().FindStringSubmatch(line)[1]))
		case kind == "rst" && i > 0 && isTitle(lines[i-1], line) && !isTitled:
			add("title", strings.TrimSpace(lines[i-1]))
		}
	}
	return fields
}

// isTitle reports whether a line is a title of reStructuredText, by the one below it.
func isTitle(title, underline string) bool {
	title = strings.TrimSpace(title)
	if title == "" || len(underline) < utf8.RuneCountInString(title) ||
		!strings.Contains("=-`:.'\"~^_*+#", underline[:1]) {
		return false
	}
	return strings.Trim(underline, underline[:1]) == "" && strings.Trim(title, underline[:1]) != ""
}

// dateByName dates a document that states no date by the name of its file.
func (m *meta) dateByName(file string) {
	if t, ok := dates.OfFile(file); ok && m.UpdatedAt.IsZero() {
		m.UpdatedAt = t
	}
}

// headingOfHTML returns the text of the first <h1> in HTML that is part of a Markdown text, else the alternative text
// of a picture in it.
func headingOfHTML(source string) string {
	source = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(source, " "), " "), " ") // with more it is code
	const most = 16 << 10
	if !strings.HasPrefix(source, "<") || !strings.Contains(strings.ToLower(source[:min(most, len(source))]), "<h1") {
		return ""
	}
	tree, err := html.Parse(strings.NewReader(source[:min(most, len(source))]))
	if err != nil {
		return ""
	}
	inHeading, alternative := false, ""
	for node := range tree.Descendants() {
		if node.DataAtom == atom.H1 {
			if text := textBelow(node); text != "" {
				return text
			}
			inHeading = true
		}
		if inHeading && node.DataAtom == atom.Img && alternative == "" {
			alternative = oneLine(attribute(node, "alt"), longestTitle)
		}
	}
	return alternative
}
