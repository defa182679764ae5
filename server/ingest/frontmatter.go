package ingest

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"quarry/internal/pattern"
	"quarry/internal/text"
)

const (
	longestFrontMatter = 64 << 10
	deepestValue       = 6
	mostValues         = 2_000 // of one front matter; aliases count each time they are used
)

var errFrontMatter = errors.New("front matter is too large or nested too deeply")

// pairs yields the keys and values of a mapping; of other nodes nothing.
func pairs(node *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		if node == nil || node.Kind != yaml.MappingNode {
			return
		}
		for pair := range slices.Chunk(node.Content, 2) {
			if !yield(pair[0].Value, pair[1]) {
				return
			}
		}
	}
}

// fenceKind returns what is between a line and the fence that ends it, as front matter; kind is empty for other lines.
func fenceKind(line string) (kind, end string) {
	switch strings.ToLower(strings.TrimRight(line, " \t\n")) {
	case "---", "---yaml", "--- yaml":
		return "yaml", "---"
	case "+++":
		return "toml", "+++"
	case "---toml", "--- toml":
		return "toml", "---"
	case ";;;": // of Hexo: JSON without its braces
		return "members", ";;;"
	case "---json", "--- json":
		return "yaml", "---"
	}
	return "", ""
}

// splitFrontMatter parses the front matter at the beginning of text: YAML between --- lines, TOML between +++ lines,
// and what else programs write there. If the syntax is invalid, it is read line by line; lost says what cannot be.
// Without front matter, body is the whole text.
func splitFrontMatter(text string) (fields *yaml.Node, body string, lost error) {
	text = strings.TrimLeft(text, "\n")
	start := lineEnd(text, 0)
	kind, fence := fenceKind(text[:start])
	if kind == "" {
		return unfencedFields(text)
	}
	for at := start; at < len(text) && at-start <= longestFrontMatter; {
		end := lineEnd(text, at)
		line := strings.TrimRight(text[at:end], " \t\n")
		if line == fence || fence == "---" && line == "..." {
			fields, lost := parseHead(kind, text[start:at])
			if len(fields.Content) == 0 && strings.TrimSpace(text[start:at]) != "" { // text between two rules
				return nil, text, nil
			}
			return fields, text[end:], lost
		}
		at = end
	}
	return nil, text, nil
}

var (
	pageProperty = pattern.Lazy(`^([\w-]{1,64})::(?: |\s*$)`)
	// headLine matches "key: value", or a part of a value.
	headLine   = pattern.Lazy(`^(?:\w[\w -]{0,63}:(?: |\s*$)|[ \t]+\S|- )`)
	titleFirst = pattern.Lazy(`^(?i)title: `)
)

// unfencedFields parses front matter without a fence before it: an object in JSON, as Hugo reads it, the properties
// of a page of Logseq, "key:: value", the title block of Pandoc, or a head that begins with the title and ends with
// an empty line (MultiMarkdown, Pelican) or --- (Hexo). Without any, fields is nil and body the whole text.
func unfencedFields(text string) (fields *yaml.Node, body string, lost error) {
	var line *regexp.Regexp
	end := 0
	switch head, rest, isHexo := strings.Cut(text[:min(len(text), longestFrontMatter)], "\n;;;"); {
	case isHexo && text[0] == '"':
		if fields, err := parseFields("members", head); err == nil {
			return fields, text[len(head)+len("\n;;;")+lineEnd(rest, 0):], nil
		}
		return nil, text, nil
	case strings.HasPrefix(text, "{"):
		in := jsontext.NewDecoder(strings.NewReader(text[:min(len(text), longestFrontMatter)]),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if _, err := in.ReadValue(); err != nil {
			return nil, text, nil
		}
		end = lineEnd(text, int(in.InputOffset()))
		if fields, err := parseFields("yaml", text[:end]); err == nil {
			return fields, text[end:], nil
		}
		return nil, text, nil
	case strings.HasPrefix(text, "% "):
		head := ""
		for _, key := range [...]string{"title", "author", "date"} {
			if next := lineEnd(text, end); strings.HasPrefix(text[end:], "%") {
				head += key + ": " + text[end+1:next]
				end = next
			}
		}
		fields, lost = parsePlainLines(head)
		return fields, text[end:], lost
	case pageProperty().MatchString(text):
		line = pageProperty()
	case titleFirst().MatchString(text):
		line = headLine()
	default:
		return nil, text, nil
	}
	for end < min(len(text), longestFrontMatter) && line.MatchString(text[end:lineEnd(text, end)]) {
		end = lineEnd(text, end)
	}
	head, rest := text[:end], text[end:]
	if line == pageProperty() {
		fields, lost = parsePlainLines(strings.NewReplacer(":: ", ": ", "::\n", ":\n").Replace(head))
		return fields, rest, lost
	}
	last := rest[:lineEnd(rest, 0)]
	if kind, _ := fenceKind(last); kind == "" && strings.TrimSpace(last) != "" {
		return nil, text, nil // prose
	}
	fields, lost = parseHead("yaml", head)
	return fields, rest[len(last):], lost
}

// parseHead parses front matter, line by line if its syntax is invalid.
func parseHead(kind, text string) (fields *yaml.Node, lost error) {
	fields, err := parseFields(kind, text)
	if err != nil {
		return parsePlainLines(text)
	}
	return fields, nil
}

func parseFields(kind, text string) (fields *yaml.Node, err error) {
	defer func() { // the libraries have panicked on hostile input before
		if p := recover(); p != nil {
			err = fmt.Errorf("read front matter: %v", p)
		}
	}()
	fields = &yaml.Node{}
	if kind == "members" {
		text = "{" + text + "}"
	}
	if kind == "toml" {
		var table map[string]any
		if err = toml.Unmarshal([]byte(text), &table); err == nil {
			err = fields.Encode(table) // sorts the keys, so that the document stays the same
		}
	} else if err = yaml.Unmarshal([]byte(text), fields); len(fields.Content) > 0 {
		fields = fields.Content[0]
	}
	if err != nil || fields.IsZero() {
		return fields, err
	}
	if fields.Kind != yaml.MappingNode {
		return nil, errors.New("front matter is not a mapping")
	}
	budget := mostValues
	return fields, resolve(fields, 0, &budget)
}

// resolve replaces aliases by their values. Decoding would expand nested aliases without a bound.
func resolve(node *yaml.Node, depth int, budget *int) error {
	if node.Kind == yaml.AliasNode {
		*node = *node.Alias
	}
	if *budget--; *budget < 0 || depth > deepestValue {
		return errFrontMatter
	}
	if node.Tag == "!!null" {
		node.Value = ""
	}
	for i, child := range node.Content {
		if isKey := node.Kind == yaml.MappingNode && i%2 == 0; isKey {
			continue
		}
		if err := resolve(child, depth+1, budget); err != nil {
			return err
		}
	}
	return nil
}

// parsePlainLines reads front matter that is not quite YAML, such as a title with a colon: values are quoted, and lines
// that can be no part of it are left out. What is mostly no front matter has no fields; lost counts the other lines.
func parsePlainLines(head string) (fields *yaml.Node, lost error) {
	var kept strings.Builder
	unread, indent, hasValue, isBlock := 0, 0, false, false // of the line before
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \t\n")
		inner := len(line) - len(strings.TrimLeft(line, " \t-"))
		at := fieldStart().FindString(line)
		value := line[len(at):]
		switch {
		case line == "" || line[0] == '#' || isBlock && inner > indent:
			kept.WriteString(line + "\n")
			continue
		case !headLine().MatchString(line) || hasValue && inner > indent:
			unread++
			continue
		case at != "" && !wholeValue().MatchString(value):
			line = at + "'" + strings.ReplaceAll(value, "'", "''") + "'"
		}
		kept.WriteString(strings.ReplaceAll(line, "\t", " ") + "\n")
		isBlock = strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">")
		indent, hasValue = inner, at != "" && value != "" && !isBlock
	}
	fields, err := parseFields("yaml", kept.String())
	switch {
	case err != nil || unread > len(fields.Content)/2:
		return &yaml.Node{Kind: yaml.MappingNode}, nil
	case unread > 0:
		lost = fmt.Errorf("its syntax is not valid: %s cannot be read", text.Count(unread, "line"))
	}
	return fields, lost
}

var (
	fieldStart = pattern.Lazy(`^[ \t]*(?:- )*(?:\w[\w -]{0,63}: +|- +)`)
	// wholeValue matches a value that YAML reads: nothing, quoted text, a list or map on one line, or what begins a
	// block.
	wholeValue = pattern.Lazy(`^(?:"[^"]*"|'[^']*'|\[[^\[\]]*\]|\{[^{}]*\}|[|>][+-]?)?$`)
)
