package ingest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"
)

const (
	longestFrontMatter = 64 << 10
	deepestValue       = 6
	mostValues         = 2_000 // of one front matter; aliases count each time they are used
)

var errFrontMatter = errors.New("front matter is too large or nested too deeply")

// field is one key of front matter. A value is a string, a []any of values, or a []field.
type field struct {
	key   string
	value any
}

// splitFrontMatter parses the front matter at the beginning of text: YAML between --- lines or TOML between +++ lines.
// If the syntax is invalid, its plain "key: value" lines are used. Without front matter, body is the whole text.
func splitFrontMatter(text string) (fields []field, body string) {
	text = strings.TrimLeft(text, "\n")
	fence, _, _ := strings.Cut(text, "\n")
	fence = strings.TrimRight(fence, " \t")
	if fence != "---" && fence != "+++" {
		return nil, text
	}
	start := lineEnd(text, 0)
	for at := start; at < len(text) && at-start <= longestFrontMatter; {
		end := lineEnd(text, at)
		line := strings.TrimRight(text[at:end], " \t\n")
		if line == fence || fence == "---" && line == "..." {
			fields, ok := parseFrontMatter(fence, text[start:at])
			if !ok {
				return nil, text
			}
			return fields, text[end:]
		}
		at = end
	}
	return nil, text
}

// parseFrontMatter returns false if there is no key between the fences: then it is text between two rules.
func parseFrontMatter(fence, text string) ([]field, bool) {
	fields, err := parseFields(fence, text)
	if err != nil {
		fields = parsePlainLines(text)
	}
	return fields, len(fields) > 0 || strings.TrimSpace(text) == ""
}

func parseFields(fence, text string) (fields []field, err error) {
	defer func() { // the libraries have panicked on hostile input before
		if p := recover(); p != nil {
			fields, err = nil, fmt.Errorf("read front matter: %v", p)
		}
	}()
	var node yaml.Node
	if fence == "+++" {
		var table map[string]any
		if err = toml.Unmarshal([]byte(text), &table); err == nil {
			err = node.Encode(table) // sorts the keys, so that the document stays the same
		}
	} else if err = yaml.Unmarshal([]byte(text), &node); len(node.Content) > 0 {
		node = *node.Content[0]
	}
	if err != nil || node.IsZero() {
		return nil, err
	}
	if node.Kind != yaml.MappingNode {
		return nil, errors.New("front matter is not a mapping")
	}
	budget := mostValues
	value, err := yamlValue(&node, 0, &budget)
	if err != nil {
		return nil, err
	}
	return value.([]field), nil
}

// yamlValue walks the syntax tree, because decoding would expand nested aliases.
func yamlValue(node *yaml.Node, depth int, budget *int) (any, error) {
	if *budget--; *budget < 0 || depth > deepestValue {
		return nil, errFrontMatter
	}
	switch node.Kind {
	case yaml.AliasNode:
		return yamlValue(node.Alias, depth+1, budget)
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			value, err := yamlValue(item, depth+1, budget)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	case yaml.MappingNode:
		fields := make([]field, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			value, err := yamlValue(node.Content[i+1], depth+1, budget)
			if err != nil {
				return nil, err
			}
			fields = append(fields, field{node.Content[i].Value, value})
		}
		return fields, nil
	}
	if node.Tag == "!!null" {
		return "", nil
	}
	return node.Value, nil
}

// parsePlainLines reads front matter that is not quite YAML, such as a title with a colon.
func parsePlainLines(text string) []field {
	var fields []field
	for line := range strings.Lines(text) {
		key, value, found := strings.Cut(strings.TrimRight(line, "\n"), ": ")
		if !found || len(fields) >= mostMetadata || !plainKey.MatchString(key) {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		fields = append(fields, field{key, value})
	}
	return fields
}

var plainKey = regexp.MustCompile(`^[\w-]{1,64}$`)
