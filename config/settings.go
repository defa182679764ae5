package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"quarry/client/wire"
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
	described := descriptions()
	var keys []Key
	for _, k := range leafKeys() {
		about := described[k.path]
		keys = append(keys, Key{Path: k.path, Values: about[0], Default: about[1], About: about[2],
			Secret: k.value == reflect.TypeFor[Secret](), Env: k.variable(), value: k.value})
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
func leafKeys() []key {
	all := keysOf(reflect.TypeFor[Config](), "")
	var leaves []key
	for _, k := range all {
		switch isGroup := slices.ContainsFunc(all, func(other key) bool { return strings.HasPrefix(other.path, k.path+".") }); {
		case k.path == "keys":
			leaves = append(leaves, key{"keys.<action>", k.value.Elem()})
		case !isGroup:
			leaves = append(leaves, k)
		}
	}
	return leaves
}

func variableOf(path string) string {
	return "QUARRY_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// descriptions are what each key takes, its default, and what it does. A test requires one for every key.
func descriptions() map[string][3]string {
	const yes = "true or false"
	return map[string][3]string{
		"active":                        {"a profile", "the only profile", "the profile that searches go to"},
		"profiles.<name>.kind":          {"onyx or slack", "onyx", "the kind of server"},
		"profiles.<name>.server_url":    {"a URL", "", "the server of the profile"},
		"profiles.<name>.api_prefix":    {"a path", "/api", "the path before each route; empty for none"},
		"profiles.<name>.token":         {"a token", "", "the access token; `quarry configure` prefers the system keyring"},
		"profiles.<name>.token_command": {"a command line", "", "a command that prints the token, such as that of a password manager"},
		"profiles.<name>.agent":         {"a number or a name", "", "the agent that searches go through"},
		"profiles.<name>.library":       {"a folder", "", "a library of this machine instead of a server"},
		"profiles.<name>.search_also":   {"profiles, or local", "", "what is searched together with the profile"},
		"instant":                       {yes, "false", "search servers while typing, too"},
		"fast":                          {yes, "false", "show what a server finds without query expansion first"},
		"private":                       {yes, "false", "keep no history, no state, no copies of output, and no queries in server logs"},
		"read_seconds":                  {"seconds, 1 to 120", "10", "how long a document may take to read, and a second more for each MB, at most 2 minutes"},
		"age_warning":                   {"years, 0 to 100", "0", "the age from which on a document is marked as old; 0 for never"},
		"links": {"file or permalink", "file",
			"what `o` opens of a file that the remote of its repository has"},
		"theme":                         {"auto, dark, light, high-contrast, ansi16, mono, or a theme of yours", "auto", "the colors"},
		"keys.<action>":                 {"keys", "", "the keys of an action of the explorer (see keys.md)"},
		"rate":                          {"a number per s, m, h or d, like 60/h", "no limit", "the limit of requests per token of a served library"},
		"llm.default":                   {"PROVIDER or PROVIDER/MODEL", "", "the language model of the library"},
		"llm.budget":                    {"tokens", "no limit", "tokens per tenant and day"},
		"llm.providers.<name>.base_url": {"a URL", "", "an OpenAI-compatible endpoint"},
		"llm.providers.<name>.models":   {"names", "", "its models, the usual one first"},
		"llm.providers.<name>.key":      {"a key", "", "its API key"},
		"embeddings.mode":               {"auto, on or off", "auto", "search by meaning; auto: where that takes at most an hour"},
		"embeddings.path":               {"a folder", "", "a BERT or model2vec model, instead of the built-in"},
		"embeddings.base_url":           {"a URL", "", "an OpenAI-compatible endpoint for embeddings"},
		"embeddings.model":              {"a name", "", "the embedding model"},
		"embeddings.key":                {"a key", "", "its API key"},
		"embeddings.query_prefix":       {"text", "", "put before each query that is embedded"},
		"embeddings.document_prefix":    {"text", "", "put before each passage that is embedded; a change embeds all again"},
		"embeddings.weight":             {"a number above 0, to 10", "1", "how far the ranking trusts the model"},
		"embeddings.on_battery":         {yes, "false", "make vectors in the background without mains power, too"},
		"http.hosts":                    {"host names", "", "accepted Host headers of the served API"},
		"http.metrics":                  {"token or open", "token", "whether /metrics requires an administrator's token"},
		"ssh.authorized_keys":           {"a file", "", "the public keys that can sign in to the served explorer"},
		"ssh.token":                     {yes, "false", "visitors can sign in with an access token"},
		"ssh.open":                      {yes, "false", "visitors need neither key nor token"},
		"index.engine":                  {"embedded, postgres or weaviate[s]://HOST:PORT,…", "embedded", "where the library is indexed; postgres: documents in `directory.url`"},
		"index.weaviate.key":            {"a key", "none", "API key of the Weaviate cluster"},
		"index.weaviate.ca":             {"a path", "the system's", "file with the certificates of the Weaviate cluster's authority"},
		"directory.url":                 {"a database URL", "files beside the library", "a PostgreSQL database of people, tokens and conversations, for several servers"},
	}
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
	case *string:
		if value == nil {
			return ""
		}
		return *value
	case bool:
		if !value {
			return ""
		}
	case int:
		if value == 0 {
			return ""
		}
	}
	return fmt.Sprint(value.Interface())
}

// LookupKey describes a key by its path with the names that the user chose, such as profiles.work.token. An unknown one
// is an error.
func LookupKey(path string) (Key, error) {
	known := Keys()
	parts := splitPath(path)
	at := slices.IndexFunc(known, func(k Key) bool {
		pattern := strings.Split(k.Path, ".")
		return len(pattern) == len(parts) && !slices.ContainsFunc(parts, func(part string) bool { return part == "" }) &&
			slices.EqualFunc(pattern, parts, func(p, part string) bool { return p == part || strings.HasPrefix(p, "<") })
	})
	if at >= 0 {
		return known[at], nil
	}
	paths := make([]string, len(known))
	for i, k := range known {
		paths[i] = k.Path
	}
	fix := "See: quarry help configuration"
	if near := wire.Nearest(path, paths); near != "" {
		fix = fmt.Sprintf("did you mean %s? %s", near, fix)
	}
	return Key{}, &Error{Problem: "unknown key " + strconv.Quote(clip(path)), Fix: fix, Exit: ExitUsage}
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
	return slices.Contains([]string{"theme", "keys", "age_warning", "instant", "fast", "private"}, group)
}

// Set changes one key of the file and keeps the rest with its comments. A change that would make the file invalid is an
// error. Lists are separated by commas.
func (c *Config) Set(path, value string) error {
	return c.change(path, func(group *yaml.Node, name string) {
		set(group, name, value)
		node := child(group, name)
		key, _ := LookupKey(path) // which exists
		switch kind := key.value; {
		case kind == reflect.TypeFor[[]string]():
			_ = node.Encode(strings.FieldsFunc(value, func(r rune) bool { return r == ',' })) // which cannot fail for texts
			node.Style = yaml.FlowStyle
		case isBare(kind.Kind()):
			node.Tag, node.Style = "", 0 // a bare word
		}
	})
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

func (c *Config) change(path string, edit func(group *yaml.Node, name string)) error {
	if _, err := LookupKey(path); err != nil {
		return err
	}
	t, err := c.open()
	if err != nil {
		return err
	}
	group, parts := t.root, splitPath(path)
	for _, part := range parts[:len(parts)-1] {
		group = section(group, part)
	}
	edit(group, parts[len(parts)-1])
	return c.saveKey(path, t)
}

// saveKey writes the file after the change of a key.
func (c *Config) saveKey(path string, t *tree) error {
	err := c.write(t)
	if invalid, ok := errors.AsType[*Error](err); ok && strings.HasPrefix(path+".", invalid.Key+".") && invalid.Exit == 0 {
		// The file is as valid as before: what was given is not.
		return &Error{Key: invalid.Key, Problem: invalid.Problem, Fix: "see: quarry help configuration", Err: invalid.Err, Exit: ExitUsage}
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
