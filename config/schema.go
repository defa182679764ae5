package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
)

// valueKind is the type that a key's value must have.
type valueKind int

const (
	textValue valueKind = iota
	boolValue
	numberValue
	listValue
	secretValue
	exactValue // text whose spaces count
)

// setting is a key with one value, which the file, the environment and (for some) a flag can give.
type setting struct {
	key  string
	kind valueKind
	flag string // name of the flag that is bound, if the command has it
}

// variable is the environment variable of a setting: "http.hosts" is QUARRY_HTTP_HOSTS.
func (s setting) variable() string {
	return "QUARRY_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// settings lists the keys that viper holds. The active profile is not among those that the environment sets: there the
// environment names a server itself.
func settings() []setting {
	return []setting{
		{"instant", boolValue, "instant"},
		{"fast", boolValue, "fast"},
		{"private", boolValue, "private"},
		{"theme", textValue, "theme"},
		{"rate", textValue, "rate"},
		{"llm.default", textValue, ""},
		{"llm.budget", numberValue, ""},
		{"embeddings.base_url", textValue, ""},
		{"embeddings.model", textValue, ""},
		{"embeddings.key", secretValue, ""},
		{"embeddings.query_prefix", exactValue, ""},
		{"embeddings.document_prefix", exactValue, ""},
		{"http.hosts", listValue, ""},
		{"http.metrics", textValue, ""},
		{"ssh.authorized_keys", textValue, ""},
		{"ssh.token", boolValue, ""},
		{"ssh.open", boolValue, ""},
		{"index.engine", textValue, ""},
		{"directory.url", secretValue, ""},
	}
}

// profileKeys are the keys of one profile, providerKeys those of one provider of models.
func profileKeys() []string {
	return []string{"kind", "server_url", "api_prefix", "token", "token_command", "agent", "library", "search_also"}
}

func providerKeys() []string { return []string{"base_url", "models", "key"} }

// topKeys are the keys that a file may begin with, sectionKeys those inside a section.
func topKeys() []string {
	keys := []string{"active", "profiles", "keys"}
	for _, s := range settings() {
		if top, _, nested := strings.Cut(s.key, "."); nested {
			if keys[len(keys)-1] != top {
				keys = append(keys, top)
			}
		} else {
			keys = append(keys, s.key)
		}
	}
	return keys
}

func sectionKeys(section string) []string {
	var keys []string
	for _, s := range settings() {
		if rest, inside := strings.CutPrefix(s.key, section+"."); inside {
			keys = append(keys, rest)
		}
	}
	if section == "llm" {
		keys = append(keys, "providers")
	}
	return keys
}

// everyKey lists whole paths, for naming the nearest to one that is unknown.
func everyKey() []string {
	keys := []string{"active", "profiles", "keys", "llm.providers"}
	for _, s := range settings() {
		keys = append(keys, s.key)
	}
	for _, key := range profileKeys() {
		keys = append(keys, "profiles.<name>."+key)
	}
	for _, key := range providerKeys() {
		keys = append(keys, "llm.providers.<name>."+key)
	}
	return keys
}

// fields visits the values of a mapping whose keys are known; a value of nothing counts as not given.
func (t *tree) fields(mapping *yaml.Node, path string, known []string, visit func(string, *yaml.Node) error) error {
	if mapping.Kind != yaml.MappingNode {
		return t.wrongType(mapping, path, "a group of keys")
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		whole := key.Value
		if path != "" {
			whole = path + "." + key.Value
		}
		if known != nil && !contains(known, key.Value) {
			return t.unknownKey(key, whole, path, known)
		}
		if isNull(value) {
			continue
		}
		if err := visit(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func contains(list []string, value string) bool {
	for _, item := range list {
		if item == value {
			return true
		}
	}
	return false
}

func (t *tree) unknownKey(key *yaml.Node, whole, path string, known []string) error {
	e := &Error{File: t.file, Line: key.Line, Key: clip(whole), Problem: "unknown key"}
	nearest := wire.Nearest(key.Value, known)
	switch {
	case nearest != "" && path != "":
		nearest = path + "." + nearest
	case nearest == "":
		nearest = nearestKey(whole, everyKey())
	}
	if nearest == "" {
		e.Fix = "remove it, or use a newer quarry if that wrote it; known here: " + strings.Join(known, ", ")
		return e
	}
	e.Problem += fmt.Sprintf("; the nearest is %s", clip(nearest))
	e.Fix = fmt.Sprintf("write %s, or remove the key (a newer quarry may know it)", clip(nearest))
	return e
}

func (t *tree) wrongType(node *yaml.Node, key, want string) error {
	return &Error{File: t.file, Line: node.Line, Key: clip(key),
		Problem: fmt.Sprintf("is %s, not %s", kindName(node), want), Fix: fmt.Sprintf("give %s as %s", clip(key), want)}
}

func (t *tree) badValue(node *yaml.Node, key string, err error) error {
	return &Error{File: t.file, Line: node.Line, Key: clip(key), Problem: err.Error(), Fix: "correct " + clip(key)}
}

// scalar returns the text of a single value, however it is written: a token or a name may look like a number.
func (t *tree) scalar(node *yaml.Node, key string) (string, error) {
	if node.Kind != yaml.ScalarNode {
		return "", t.wrongType(node, key, "text")
	}
	return node.Value, nil
}

// texts returns a list of texts; a single text is a list of one.
func (t *tree) texts(node *yaml.Node, key string) ([]string, error) {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}, nil
	}
	if node.Kind != yaml.SequenceNode {
		return nil, t.wrongType(node, key, "a list of texts")
	}
	list := make([]string, 0, len(node.Content))
	for _, item := range node.Content {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			return nil, t.wrongType(item, key, "a list of texts")
		}
		list = append(list, item.Value)
	}
	return list, nil
}

// value reads a setting as its kind asks.
func (t *tree) value(node *yaml.Node, s setting) (any, error) {
	if s.kind == listValue {
		return t.texts(node, s.key)
	}
	text, err := t.scalar(node, s.key)
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case boolValue:
		if value, err := parseBool(text); err == nil {
			return value, nil
		}
		return nil, t.wrongType(node, s.key, "on or off")
	case numberValue:
		if value, err := parseNumber(text); err == nil {
			return value, nil
		}
		return nil, t.wrongType(node, s.key, "a whole number")
	}
	return text, nil
}

// fromText reads a setting from an environment variable.
func fromText(text string, kind valueKind) (any, error) {
	switch kind {
	case boolValue:
		return parseBool(text)
	case numberValue:
		return parseNumber(text)
	case listValue:
		var list []string
		for _, item := range strings.Split(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		return list, nil
	}
	return text, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "on", "true", "yes", "1":
		return true, nil
	case "off", "false", "no", "0":
		return false, nil
	}
	return false, errors.New("is neither on nor off")
}

func parseNumber(text string) (int, error) {
	value, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(text), "_", ""))
	if err != nil {
		return 0, errors.New("is not a whole number")
	}
	return value, nil
}
