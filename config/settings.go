package config

import (
	"cmp"
	_ "embed" // keys.txt
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.mau.fi/util/exslices"
	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Key describes a key of the file. In its path, <name> stands for the name of a profile or provider, and <action> for
// that of an action of the explorer.
type Key struct {
	Path    string
	Values  string // what it takes
	Default string // a value, or words if none is meant; "" for none
	About   string
	Secret  bool
	Env     string // variable that overrides it; "" for none
	value   reflect.Type
}

// Keys lists every key of the file in the order of its parts.
func Keys() []Key {
	described, keys := descriptions(), leafKeys()
	for i := range keys {
		k := &keys[i]
		about := described[k.Path]
		k.About, k.Values, k.Default = about[0], about[1], about[2]
		k.Secret, k.Env = k.value == reflect.TypeFor[Secret](), variableOf(k.Path)
	}
	return keys
}

// defaultValue is the value of a key that nothing sets; "" for none.
func (k Key) defaultValue() string {
	if k.Secret || strings.Contains(k.Default, " ") {
		return ""
	}
	return k.Default
}

// leafKeys are the keys that have a value of their own.
func leafKeys() []Key {
	all := keysOf(reflect.TypeFor[Config](), "")
	var leaves []Key
	for _, k := range all {
		switch isGroup := slices.ContainsFunc(
			all, func(other Key) bool { return strings.HasPrefix(other.Path, k.Path+".") }); {
		case k.Path == "keys":
			leaves = append(leaves, Key{Path: "keys.<action>", value: k.value.Elem()})
		case !isGroup:
			leaves = append(leaves, k)
		}
	}
	return leaves
}

// variableOf returns the environment variable that sets a key with a value of its own; "" if there is none. The active
// profile has none: the environment names a server itself.
func variableOf(path string) string {
	if path == "active" || strings.Contains(path, "<") {
		return ""
	}
	return "QUARRY_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// keysFile describes each key in a paragraph: its path, what it does, what it takes, and its default if it has one.
//
//go:embed keys.txt
var keysFile string

// descriptions returns the lines of keysFile about each key. A test requires them for every key.
func descriptions() map[string][]string {
	described := map[string][]string{}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(keysFile), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		described[lines[0]] = append(lines[1:], "") // no default
	}
	return described
}

// Setting is a key with the value that it has.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value" jsonschema:"masked if it is a secret"`
	From  string `json:"from" jsonschema:"the file, a variable of the environment, or default"`
}

// Settings lists the keys that have a value.
func (c *Config) Settings() []Setting {
	var all []Setting
	eachValue(reflect.ValueOf(*c), "", func(path string, value reflect.Value) {
		if text := textOf(value); text != "" {
			all = append(all, Setting{path, text, cmp.Or(c.from[path], "default")})
		}
	})
	return all
}

// Get returns the value of a key, masked if it is secret, or its default if that is a value; "" for one without a
// value. An unknown key is an error.
func (c *Config) Get(path string) (string, error) {
	key, err := LookupKey(path)
	if err != nil {
		return "", err
	}
	found := ""
	eachValue(reflect.ValueOf(*c), "", func(other string, value reflect.Value) {
		switch {
		case other != path:
		case c.from[path] == "" && textOf(value) == "":
			found = key.defaultValue()
		case isBare(value.Kind()):
			found = fmt.Sprint(value.Interface())
		default:
			found = textOf(value)
		}
	})
	return found, nil
}

// isBare reports whether the values of a kind are written without quotation marks.
func isBare(kind reflect.Kind) bool {
	return kind == reflect.Bool || kind == reflect.Int || kind == reflect.Float64
}

// eachValue visits the values of a group in order.
func eachValue(group reflect.Value, path string, visit func(path string, value reflect.Value)) {
	for i := range group.NumField() {
		name := group.Type().Field(i).Tag.Get("mapstructure")
		if name == "" || name == "-" {
			continue
		}
		value, at := group.Field(i), joinKey(path, name)
		switch {
		case value.Kind() == reflect.Map:
			names := value.MapKeys()
			slices.SortFunc(names, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, name := range names {
				if inner := value.MapIndex(name); inner.Kind() == reflect.Struct {
					eachValue(inner, joinKey(at, name.String()), visit)
				} else {
					visit(joinKey(at, name.String()), inner)
				}
			}
		case value.Kind() == reflect.Struct && len(keysOf(value.Type(), "")) > 0:
			eachValue(value, at, visit)
		default:
			visit(at, value)
		}
	}
}

// textOf writes a value as the file has it; "" for none.
func textOf(value reflect.Value) string {
	switch value := value.Interface().(type) {
	case fmt.Stringer:
		return value.String()
	case []string:
		return strings.Join(value, ",")
	}
	if value.IsZero() {
		return ""
	}
	return fmt.Sprint(reflect.Indirect(value))
}

// LookupKey describes a key by its path with the names that the user chose, such as profiles.work.token. An unknown one
// is an error.
func LookupKey(path string) (Key, error) {
	known := Keys()
	parts := splitPath(path)
	at := slices.IndexFunc(known, func(k Key) bool {
		pattern := strings.Split(k.Path, ".")
		return !slices.Contains(parts, "") &&
			slices.EqualFunc(pattern, parts,
				func(p, part string) bool { return p == part || strings.HasPrefix(p, "<") })
	})
	if at >= 0 {
		return known[at], nil
	}
	fix := wire.Hint(path, "See: quarry help configuration", pathsOf(known))
	return Key{}, &Error{Problem: "unknown key " + strconv.Quote(clip(path)), Fix: fix, Exit: ExitUsage}
}

func pathsOf(keys []Key) []string {
	return exslices.CastFunc(keys, func(k Key) string { return k.Path })
}

// splitPath splits a path at its dots. The name of an action can have some.
func splitPath(path string) []string {
	if action, ok := strings.CutPrefix(path, "keys."); ok {
		return []string{"keys", action}
	}
	return strings.Split(path, ".")
}

// IsPresentation reports whether a key only changes how results look. All others decide where searches, questions and
// tokens go, or what a server allows.
func IsPresentation(path string) bool {
	group, _, _ := strings.Cut(path, ".")
	return text.IsAmong(group, "theme keys age_warning instant fast private")
}

// Set changes one key of the file and keeps the rest with its comments. A change that would make the file invalid is an
// error. Lists are separated by commas.
func (c *Config) Set(path, value string) error {
	key, err := LookupKey(path)
	if err != nil {
		return err
	}
	t, err := c.open()
	if err != nil {
		return err
	}
	group, parts := t.root, splitPath(path)
	last := len(parts) - 1
	for _, part := range parts[:last] {
		group = section(group, part)
	}
	set(group, parts[last], value)
	switch node := child(group, parts[last]); {
	case key.value == reflect.TypeFor[[]string]():
		_ = node.Encode(strings.FieldsFunc(value, func(r rune) bool { return r == ',' })) // which cannot fail for texts
		node.Style = yaml.FlowStyle
	case isBare(key.value.Kind()):
		node.Tag, node.Style = "", 0 // a bare word
	}
	return c.saveKey(path, t)
}

// Unset removes one key of the file, or a whole profile or provider of models, also from where it is the chosen one. It
// reports whether the file had it.
func (c *Config) Unset(path string) (found bool, err error) {
	parts := splitPath(path)
	last := len(parts) - 1
	isProfile := last == 1 && parts[0] == "profiles"
	isProvider := last == 2 && parts[0] == "llm" && parts[1] == "providers"
	if _, err := LookupKey(path); err != nil && (parts[last] == "" || !isProfile && !isProvider) {
		return false, err
	}
	t, err := c.open()
	if err != nil {
		return false, err
	}
	group := t.root
	for _, part := range parts[:last] {
		group = child(group, part)
	}
	if child(group, parts[last]) == nil {
		return false, nil
	}
	remove(group, parts[last])
	switch active, model := child(t.root, "active"), child(child(t.root, "llm"), "default"); {
	case isProfile && active != nil && active.Value == parts[last]:
		remove(t.root, "active")
	case isProvider && model != nil && strings.HasPrefix(model.Value+"/", parts[last]+"/"):
		remove(child(t.root, "llm"), "default")
	}
	return true, c.saveKey(path, t)
}

// saveKey writes the file after the change of a key.
func (c *Config) saveKey(path string, t *tree) error {
	err := c.write(t)
	if invalid, ok := errors.AsType[*Error](err); ok && strings.HasPrefix(path+".", invalid.Key+".") &&
		invalid.Exit == 0 {
		// The file is as valid as before: what was given is not.
		return &Error{Key: invalid.Key, Problem: invalid.Problem, Fix: "see: quarry help configuration",
			Err: invalid.Err, Exit: ExitUsage}
	}
	return err
}

// Replace makes a text the whole file, unless it is invalid.
func (c *Config) Replace(data []byte) error {
	if err := c.refuseReadOnly("the configuration"); err != nil {
		return err
	}
	if len(data) > maxFile {
		return &Error{File: c.File, Problem: "is larger than 1 MiB", Fix: "write a smaller file"}
	}
	if _, err := c.verify(data); err != nil {
		return err
	}
	return c.replace(data)
}

// At returns the configuration of a file that was not read, for changes that must work on an invalid file too.
func At(paths Paths, env Env) *Config {
	return &Config{File: paths.ConfigFile, readOnly: ReadOnly(env)}
}

// Text returns the file as it is; nil if there is none.
func (c *Config) Text() ([]byte, error) {
	data, err := os.ReadFile(c.File)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(data) > maxFile {
		err = errors.New("larger than 1 MiB")
	}
	return data, err
}
