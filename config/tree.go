package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"quarry/internal/text"
)

const (
	maxFile  = 1 << 20 // bytes
	maxDepth = 12      // of nested maps and lists; the keys need five
	maxNodes = 50_000
	maxKey   = 100 // bytes
)

// tree is a parsed YAML file.
type tree struct {
	file     string
	document yaml.Node  // as read, comments included
	root     *yaml.Node // its mapping; nil in an empty file
	lines    map[string]int
}

// values returns the file as maps, lists and texts, and keeps the line of each key. Numbers are texts too: a token or a
// name may look like one. A name without a value is left out.
func (t *tree) values() map[string]any {
	t.lines = map[string]int{}
	if t.root == nil {
		return map[string]any{}
	}
	return t.valuesOf(t.root, "").(map[string]any)
}

func (t *tree) valuesOf(node *yaml.Node, path string) any {
	switch {
	case isNull(node):
		return nil
	case node.Kind == yaml.MappingNode:
		values := map[string]any{}
		for i := 0; i < len(node.Content); i += 2 {
			name := joinKey(path, node.Content[i].Value)
			t.lines[name] = node.Content[i].Line
			if !hasNames(path) || !isNull(node.Content[i+1]) {
				values[node.Content[i].Value] = t.valuesOf(node.Content[i+1], name)
			}
		}
		return values
	case node.Kind == yaml.SequenceNode:
		list := []any{}
		for _, item := range node.Content {
			list = append(list, t.valuesOf(item, path))
		}
		return list
	}
	return node.Value
}

// parseTree parses YAML. It rejects aliases, with which small files can expand to huge ones.
func parseTree(file string, data []byte) (*tree, error) {
	t := &tree{file: file}
	if len(data) > maxFile {
		return nil, t.broken(fmt.Sprintf("larger than %d KB", maxFile>>10), nil)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return nil, t.broken("not a text in UTF-8", nil)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	err := decoder.Decode(&t.document)
	if errors.Is(err, io.EOF) {
		return t, nil
	}
	if err != nil {
		return nil, t.broken("not valid YAML", err)
	}
	var more yaml.Node
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, t.broken("more than one YAML document", nil)
	}
	budget := maxNodes
	if err := t.check(&t.document, 0, &budget); err != nil {
		return nil, err
	}
	if len(t.document.Content) == 0 || isNull(t.document.Content[0]) {
		return t, nil
	}
	t.root = t.document.Content[0]
	if t.root.Kind != yaml.MappingNode {
		return nil, t.broken("not a list of keys and values", nil)
	}
	return t, nil
}

func (t *tree) check(node *yaml.Node, depth int, budget *int) error {
	*budget--
	switch {
	case depth > maxDepth:
		return &Error{File: t.file, Line: node.Line, Problem: "nested too deeply", Fix: "remove the nesting"}
	case *budget < 0:
		return &Error{File: t.file, Line: node.Line, Problem: "too many values", Fix: "remove some"}
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return &Error{File: t.file, Line: node.Line, Problem: "YAML anchors and aliases are not allowed here",
			Fix: "write the value out, in quotes if it begins with & or *"}
	case node.Kind == yaml.MappingNode:
		if err := t.checkKeys(node); err != nil {
			return err
		}
	}
	for _, child := range node.Content {
		if node.Style&yaml.FlowStyle != 0 && isNull(child) {
			child.Value = "null" // the encoder writes an empty one as '', which is a text
		}
		if err := t.check(child, depth+1, budget); err != nil {
			return err
		}
	}
	return nil
}

func (t *tree) checkKeys(mapping *yaml.Node) error {
	seen := make(map[string]int, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind != yaml.ScalarNode {
			return &Error{File: t.file, Line: key.Line, Problem: "a key must be a plain word", Fix: "rename the key"}
		}
		if len(key.Value) > maxKey {
			return &Error{File: t.file, Line: key.Line, Key: clip(key.Value), Problem: "the key is too long", Fix: "rename the key"}
		}
		if first, twice := seen[key.Value]; twice {
			return &Error{File: t.file, Line: key.Line, Key: clip(key.Value),
				Problem: fmt.Sprintf("given twice, first in line %d", first), Fix: "remove one of the two"}
		}
		seen[key.Value] = key.Line
	}
	return nil
}

// broken returns an error without text of the file: the parser's own errors quote it, and it may be a token.
func (t *tree) broken(problem string, cause error) *Error {
	e := &Error{File: t.file, Problem: problem,
		Fix: "correct the file, or move it away and run quarry configure; it is never overwritten"}
	if cause == nil {
		return e
	}
	reason := strings.TrimPrefix(cause.Error(), "yaml: ")
	if match := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(reason); match != nil {
		e.Line, _ = strconv.Atoi(match[1])
		reason = match[2]
	}
	if !strings.ContainsAny(reason, "'\"`\n") {
		e.Problem += ": " + reason
	}
	return e
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// child finds the value of a key in a mapping; nil if it is not there.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// clip shortens a foreign text and puts it on one line inside a message.
func clip(foreign string) string {
	const longest = 60
	quoted := strconv.QuoteToGraphic(text.Shorten(foreign, longest))
	return quoted[1 : len(quoted)-1]
}
