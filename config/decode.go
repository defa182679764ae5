package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-viper/mapstructure/v2"
	"go.mau.fi/util/exslices"
	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
	"quarry/internal/text"
)

// DecodeFile decodes a YAML file of the user's into a struct whose fields have mapstructure tags, as the configuration
// is decoded: bounded, without aliases, and with errors that name key and line. A key without a value is an error.
func DecodeFile(path string, result any) error {
	content, found, err := readFile(path)
	if err == nil && !found {
		err = &Error{File: path, Problem: "does not exist", Fix: "check the name"}
	}
	if err != nil {
		return err
	}
	return Decode(path, content.bytes, result)
}

// Decode is DecodeFile with the content of the file.
func Decode(path string, data []byte, result any) error {
	t, err := parseTree(path, data)
	if err != nil {
		return err
	}
	l := &loader{tree: t}
	values := t.values()
	if key := t.firstEmpty(values, ""); key != "" {
		return l.invalid(key, errors.New("has no value; a text that begins with # needs quotes"))
	}
	return l.decode(values, result)
}

// firstEmpty returns the first key without a value; "" if there is none.
func (t *tree) firstEmpty(values map[string]any, group string) (first string) {
	for name, value := range values {
		path := joinKey(group, name)
		if inner, ok := value.(map[string]any); ok {
			path = t.firstEmpty(inner, path)
		} else if value != nil {
			continue
		}
		if path != "" && (first == "" || t.lines[path] < t.lines[first]) {
			first = path
		}
	}
	return first
}

// decode sets the values of a file or of the environment, which are texts, in a struct such as the configuration. An
// unknown key, or a value of the wrong type, is an error; of several the first in the file is returned.
func (l *loader) decode(values map[string]any, result any) error {
	var metadata mapstructure.Metadata
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: result, Metadata: &metadata, ZeroFields: true,
		DecodeHook: mapstructure.DecodeHookFuncType(decodeText),
		MatchName:  func(key, field string) bool { return key == field },
	})
	if err != nil {
		return fmt.Errorf("decode the configuration: %w", err)
	}
	var failures []*Error
	err = decoder.Decode(values)
	for _, failure := range decodeErrors(err) {
		failures = append(failures, l.invalid(keyPath(failure.Name()), failure.Unwrap()))
	}
	for _, name := range metadata.Unused {
		failures = append(failures, l.unknownKey(keyPath(name), reflect.TypeOf(result).Elem()))
	}
	if len(failures) == 0 {
		return err
	}
	return slices.MinFunc(failures, func(a, b *Error) int { return a.Line - b.Line })
}

func decodeErrors(err error) []*mapstructure.DecodeError {
	switch e := err.(type) {
	case *mapstructure.DecodeError:
		return []*mapstructure.DecodeError{e}
	case interface{ Unwrap() error }:
		return decodeErrors(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.Concat(exslices.CastFunc(e.Unwrap(), decodeErrors)...)
	}
	return nil
}

// keyPath turns the name that mapstructure gives a value, such as profiles[work].token, into its key.
func keyPath(name string) string { return strings.NewReplacer("[", ".", "]", "").Replace(name) }

// decodeText converts a text to the type of its key.
func decodeText(from, to reflect.Type, data any) (any, error) {
	if to.Kind() == reflect.Pointer {
		return data, nil
	}
	text, isText := data.(string)
	isGroup := from.Kind() == reflect.Map
	var value any = text
	var err error
	want := "text"
	switch to {
	case reflect.TypeFor[[]string]():
		if isText {
			return []string{text}, nil
		}
		if isGroup {
			return nil, wrongType(from, "a list of texts")
		}
		return data, nil
	case reflect.TypeFor[bool]():
		want = "on or off"
		value, err = parseBool(text)
	case reflect.TypeFor[int]():
		want = "a whole number"
		value, err = parseNumber(text)
	case reflect.TypeFor[float64]():
		want = "a number"
		if value, err = strconv.ParseFloat(strings.TrimSpace(text), 64); err != nil {
			err = errors.New("is not a number")
		}
	case reflect.TypeFor[Secret]():
		secret := NewSecret(strings.TrimSpace(text))
		value, err = secret, CheckToken(secret.Reveal())
	case reflect.TypeFor[wire.Agent]():
		value, err = ParseAgent(text)
	case reflect.TypeFor[Rate]():
		value, err = ParseRate(text)
	case reflect.TypeFor[string]():
	default:
		parsed := reflect.New(to)
		if parser, ok := parsed.Interface().(encoding.TextUnmarshaler); ok {
			if isText {
				err = parser.UnmarshalText([]byte(text))
			}
			value = parsed.Elem().Interface()
			break
		}
		if !isGroup {
			return nil, wrongType(from, "a group of keys")
		}
		return data, nil
	}
	if !isText {
		return nil, wrongType(from, want)
	}
	return value, err
}

func wrongType(from reflect.Type, want string) error {
	is := "text"
	switch from.Kind() {
	case reflect.Map:
		is = "a group of keys"
	case reflect.Slice:
		is = "a list"
	}
	return fmt.Errorf("is %s, not %s", is, want)
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "yes", "1":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, errors.New("is not on or off")
}

func parseNumber(text string) (int, error) {
	value, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(text), "_", ""))
	if err != nil {
		return 0, errors.New("is not a whole number")
	}
	return value, nil
}

// keysOf lists the keys below path that a type has fields for.
func keysOf(group reflect.Type, path string) []Key {
	var keys []Key
	for _, field := range reflect.VisibleFields(group) {
		name := field.Tag.Get("mapstructure")
		if name == "" || name == "-" || field.Anonymous {
			continue
		}
		value := field.Type
		name = joinKey(path, name)
		keys = append(keys, Key{Path: name, value: value})
		if value.Kind() == reflect.Map {
			value, name = value.Elem(), joinKey(name, "<name>")
		}
		if value.Kind() == reflect.Struct {
			keys = append(keys, keysOf(value, name)...)
		}
	}
	return keys
}

// hasNames reports whether the keys of a group are names that the user chose.
func hasNames(group string) bool {
	return text.IsAmong(group, "profiles keys llm.providers")
}

func joinKey(group, name string) string {
	return strings.TrimPrefix(group+"."+name, ".")
}

// unknownKey names the nearest key of the same group, or else of all.
func (l *loader) unknownKey(path string, file reflect.Type) *Error {
	group, name := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		group, name = path[:dot], path[dot+1:]
	}
	pattern := group
	if dot := strings.LastIndexByte(group, '.'); dot >= 0 && hasNames(group[:dot]) {
		pattern = group[:dot] + ".<name>"
	}
	var siblings []string
	all := pathsOf(keysOf(file, ""))
	for _, path := range all {
		sibling, inGroup := strings.CutPrefix(path, joinKey(pattern, ""))
		if inGroup && !strings.Contains(sibling, ".") {
			siblings = append(siblings, sibling)
		}
	}
	e := l.invalid(path, errors.New("unknown key"))
	nearest := wire.Nearest(name, siblings)
	if nearest == "" {
		nearest = nearestKey(path, all)
	} else {
		nearest = joinKey(group, nearest)
	}
	if nearest == "" {
		e.Fix = "remove it, or use a newer quarry if that wrote it; known here: " + strings.Join(siblings, ", ")
		return e
	}
	e.Problem += "; did you mean " + clip(nearest) + "?"
	e.Fix = fmt.Sprintf("write %s, or remove the key (a newer quarry may know it)", clip(nearest))
	return e
}

// nearestKey also compares last parts, so that a key written at the wrong level is found.
func nearestKey(path string, known []string) string {
	if best := wire.Nearest(path, known); best != "" {
		return best
	}
	last := func(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }
	tails := exslices.CastFunc(known, last)
	if best := wire.Nearest(last(path), tails); best != "" {
		return known[slices.Index(tails, best)]
	}
	return ""
}

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
	comments []byte // the text of a file that has only comments, to be written before it
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
		return exslices.CastFunc(node.Content, func(item *yaml.Node) any { return t.valuesOf(item, path) })
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
		return t.wrong(node, "", "nested too deeply", "remove the nesting")
	case *budget < 0:
		return t.wrong(node, "", "too many values", "remove some")
	case node.Kind == yaml.AliasNode || node.Anchor != "":
		return t.wrong(node, "", "YAML anchors and aliases are not allowed here",
			"write the value out, in quotes if it begins with & or *")
	case node.Kind == yaml.MappingNode:
		if err := t.checkKeys(node); err != nil {
			return err
		}
	}
	for _, child := range node.Content {
		if node.Kind == yaml.SequenceNode && isNull(child) {
			return t.wrong(child, "", "a list has an empty item", "remove the item, or write a value")
		}
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
			return t.wrong(key, "", "a key must be a plain word", "rename the key")
		}
		if len(key.Value) > maxKey {
			return t.wrong(key, key.Value, "the key is too long", "rename the key")
		}
		if first, twice := seen[key.Value]; twice {
			return t.wrong(key, key.Value, fmt.Sprintf("given twice, first in line %d", first), "remove one of the two")
		}
		seen[key.Value] = key.Line
	}
	return nil
}

func (t *tree) wrong(at *yaml.Node, key, problem, fix string) *Error {
	return &Error{File: t.file, Line: at.Line, Key: clip(key), Problem: problem, Fix: fix}
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
	if i := indexOf(mapping, key); i >= 0 {
		return mapping.Content[i+1]
	}
	return nil
}

// indexOf returns where a mapping has a key, or -1.
func indexOf(mapping *yaml.Node, key string) int {
	if mapping != nil && mapping.Kind == yaml.MappingNode {
		for i := 0; i < len(mapping.Content); i += 2 {
			if mapping.Content[i].Value == key {
				return i
			}
		}
	}
	return -1
}

// clip shortens a foreign text and puts it on one line inside a message.
func clip(foreign string) string {
	const longest = 60
	quoted := strconv.QuoteToGraphic(text.Shorten(foreign, longest))
	return quoted[1 : len(quoted)-1]
}
