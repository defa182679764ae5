package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// Load reads the configuration: the defaults, over them the file, the environment (QUARRY_THEME and so on), and the
// flags of this run that are set (those of instant, fast, private, theme and rate that exist in flags, which may be
// nil). A missing file is no error. Everything is checked; the first mistake is an *Error.
//
// In a sandbox, that is when QUARRY_READONLY is set and the environment names where to search, the file is not opened.
func Load(paths Paths, env Env, flags *pflag.FlagSet) (*Config, error) {
	c := &Config{File: paths.ConfigFile, readOnly: ReadOnly(env)}
	c.sandbox = c.readOnly && ReadEnvironment(env).NamesTarget()
	t := &tree{file: c.File}
	var facts fileFacts
	if !c.sandbox {
		data, found, err := readFile(c.File)
		if err != nil {
			return nil, err
		}
		if t, err = parseTree(c.File, data.bytes); err != nil {
			return nil, err
		}
		c.Loaded, facts = found, data.facts
		if !found && env.Get("QUARRY_CONFIG") != "" {
			c.Warnings = append(c.Warnings, Warning{
				Text:   fmt.Sprintf("QUARRY_CONFIG names %s, which does not exist", c.File),
				Remedy: "correct QUARRY_CONFIG, or run quarry configure to make the file"})
		}
	}
	l := newLoader(c, t, homeOf(env))
	if err := l.load(env, flags); err != nil {
		return nil, err
	}
	c.exposed = facts.othersWrite
	if facts.othersRead && c.holdsSecret(t) {
		c.Warnings = append(c.Warnings, Warning{
			Text:   fmt.Sprintf("%s holds a token and others can read it (mode %04o)", c.File, facts.mode.Perm()),
			Remedy: "chmod 600 " + ShellQuote(c.File)})
	}
	return c, nil
}

// fileContent is a file as it was when it was read.
type fileContent struct {
	bytes []byte
	facts fileFacts
}

// readFile reads a regular file of bounded size; one that is not there is empty and not found.
func readFile(path string) (content fileContent, found bool, err error) {
	fail := func(err error) (fileContent, bool, error) {
		return fileContent{}, false, &Error{File: path, Problem: "cannot be read", Err: unwrapPath(err),
			Fix: "check the path and who may read it"}
	}
	// Looked at before it is opened: opening a named pipe would wait for a writer.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
		return fileContent{}, false, nil
	}
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(errors.New("not a regular file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return fail(err)
	}
	content.bytes, err = readBounded(file)
	if err != nil {
		return fail(err)
	}
	content.facts = factsOf(path, info)
	return content, true, nil
}

// unwrapPath drops the path from an error of the file system: the message names the file already.
func unwrapPath(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

// place is where a setting was given.
type place struct {
	line     int
	variable string
	flag     string
}

type loader struct {
	config *Config
	tree   *tree
	home   string
	v      *viper.Viper
	places map[string]place
}

func newLoader(c *Config, t *tree, home string) *loader {
	return &loader{config: c, tree: t, home: home, v: viper.New(), places: map[string]place{}}
}

func (l *loader) load(env Env, flags *pflag.FlagSet) error {
	l.v.SetDefault("theme", "auto")
	l.v.SetDefault("http.metrics", MetricsToken)
	l.v.SetDefault("index.engine", EngineEmbedded)
	if l.tree.root != nil {
		if err := l.readTree(); err != nil {
			return err
		}
	}
	if err := l.readEnvironment(env); err != nil {
		return err
	}
	if err := l.bindFlags(flags); err != nil {
		return err
	}
	if err := l.fill(); err != nil {
		return err
	}
	return l.checkReferences()
}

// readTree gives viper the settings of the file. Profiles, keys and providers are read here and not by viper, which
// would fold the case of their names and split them at dots.
func (l *loader) readTree() error {
	file := map[string]any{}
	known := map[string]setting{}
	for _, s := range settings() {
		known[s.key] = s
	}
	store := func(key string, node *yaml.Node) error {
		value, err := l.tree.value(node, known[key])
		if err != nil {
			return err
		}
		l.places[key] = place{line: node.Line}
		put(file, key, value)
		return nil
	}
	err := l.tree.fields(l.tree.root, "", topKeys(), func(key string, node *yaml.Node) error {
		switch key {
		case "active":
			name, err := l.tree.scalar(node, key)
			l.config.Active, l.places[key] = name, place{line: node.Line}
			return err
		case "profiles":
			return l.readProfiles(node)
		case "keys":
			return l.readKeys(node)
		}
		if _, single := known[key]; single {
			return store(key, node)
		}
		return l.tree.fields(node, key, sectionKeys(key), func(inner string, node *yaml.Node) error {
			if key == "llm" && inner == "providers" {
				return l.readProviders(node)
			}
			return store(key+"."+inner, node)
		})
	})
	if err != nil {
		return err
	}
	return l.v.MergeConfigMap(file)
}

// readEnvironment lays the variables over the file. They are handed to viper instead of bound, because viper reads the
// process's own environment only.
func (l *loader) readEnvironment(env Env) error {
	values := map[string]any{}
	for _, s := range settings() {
		text := strings.TrimSpace(env.Get(s.variable()))
		if text == "" {
			continue
		}
		if s.kind == exactValue {
			text = env.Get(s.variable())
		}
		value, err := fromText(text, s.kind)
		l.places[s.key] = place{variable: s.variable()}
		if err != nil {
			return l.invalid(s.key, err)
		}
		put(values, s.key, value)
	}
	return l.v.MergeConfigMap(values)
}

func (l *loader) bindFlags(flags *pflag.FlagSet) error {
	if flags == nil {
		return nil
	}
	for _, s := range settings() {
		if s.flag == "" {
			continue
		}
		flag := flags.Lookup(s.flag)
		if flag == nil {
			continue
		}
		if err := l.v.BindPFlag(s.key, flag); err != nil {
			return fmt.Errorf("bind --%s: %w", s.flag, err)
		}
		if flag.Changed {
			l.places[s.key] = place{flag: s.flag}
		}
	}
	return nil
}

func put(into map[string]any, key string, value any) {
	section, rest, nested := strings.Cut(key, ".")
	if !nested {
		into[key] = value
		return
	}
	inner, ok := into[section].(map[string]any)
	if !ok {
		inner = map[string]any{}
		into[section] = inner
	}
	inner[rest] = value
}

// invalid reports a bad value at the place where it was given.
func (l *loader) invalid(key string, err error) error {
	at := l.places[key]
	switch {
	case at.flag != "":
		return &Error{Key: "--" + at.flag, Problem: err.Error(), Fix: "correct --" + at.flag, exit: exitUsage}
	case at.variable != "":
		return &Error{Key: at.variable, Problem: err.Error(), Fix: "correct or unset the environment variable " + at.variable}
	}
	return &Error{File: l.tree.file, Line: at.line, Key: key, Problem: err.Error(), Fix: "correct " + key}
}

// configDir is the folder that relative paths of the file start at.
func (l *loader) configDir() string { return filepath.Dir(l.config.File) }
