package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/viper"
)

// Load reads the configuration: the defaults, over them the file, and over that the environment (QUARRY_THEME and so
// on). A missing file is no error. All values are checked; the first mistake is an *Error.
//
// In a sandbox, that is when QUARRY_READONLY is set and the environment names where to search, the file is not opened.
func Load(paths Paths, env Env) (*Config, error) {
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
	if err := l.load(env); err != nil {
		return nil, err
	}
	c.exposed = facts.othersWrite
	if facts.othersRead && l.secretInFile {
		c.Warnings = append(c.Warnings, Warning{
			Text:   fmt.Sprintf("%s contains a token and others can read it (mode %04o)", c.File, facts.mode.Perm()),
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

// loader sets the values of a configuration and checks them.
type loader struct {
	config       *Config
	tree         *tree
	home         string
	variables    map[string]string // key → the environment variable that sets it
	secretInFile bool
}

func newLoader(c *Config, t *tree, home string) *loader {
	return &loader{config: c, tree: t, home: home, variables: map[string]string{}}
}

func (l *loader) load(env Env) error {
	values := l.tree.values()
	if err := l.decode(values); err != nil {
		return err
	}
	l.secretInFile = l.config.hasSecret()
	if err := l.decodeLayers(values, env); err != nil {
		return err
	}
	return l.check()
}

// decodeLayers lets viper decide between default, file and environment for the keys that all of them have. The others,
// whose names viper would fold and split at dots, keep the values of the file. The environment is handed to viper
// because viper itself reads the process's own only.
func (l *loader) decodeLayers(file map[string]any, env Env) error {
	v := viper.New()
	v.SetDefault("theme", "auto")
	v.SetDefault("http.metrics", MetricsToken)
	v.SetDefault("index.engine", EngineEmbedded)
	delete(file, "profiles")
	delete(file, "keys")
	if llm, ok := file["llm"].(map[string]any); ok {
		delete(llm, "providers")
	}
	if err := v.MergeConfigMap(file); err != nil {
		return fmt.Errorf("merge the configuration: %w", err)
	}
	for _, k := range environmentKeys() {
		variable := "QUARRY_" + strings.ToUpper(strings.ReplaceAll(k.path, ".", "_"))
		text := env.Get(variable)
		if strings.TrimSpace(text) == "" {
			continue
		}
		l.variables[k.path] = variable
		switch {
		case k.value == reflect.TypeFor[[]string]():
			v.Set(k.path, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }))
		case strings.HasSuffix(k.path, "_prefix"): // whose spaces count
			v.Set(k.path, text)
		default:
			v.Set(k.path, strings.TrimSpace(text))
		}
	}
	return l.decode(v.AllSettings())
}

// hasSecret reports whether any key holds a secret.
func (c *Config) hasSecret() bool {
	secrets := []Secret{c.Embeddings.Key, c.Directory.URL}
	for _, p := range c.Profiles {
		secrets = append(secrets, p.Token)
	}
	for _, p := range c.LLM.Providers {
		secrets = append(secrets, p.Key)
	}
	return slices.ContainsFunc(secrets, func(s Secret) bool { return !s.IsZero() })
}

// invalid reports a bad value where it was given.
func (l *loader) invalid(path string, err error) *Error {
	if variable := l.variables[path]; variable != "" {
		return &Error{Key: variable, Problem: err.Error(), Fix: "correct or unset the environment variable " + variable}
	}
	return &Error{File: l.tree.file, Line: l.tree.lines[path], Key: clip(path), Problem: err.Error(), Fix: "correct " + clip(path)}
}

// configDir is the folder that relative paths of the file start at.
func (l *loader) configDir() string { return filepath.Dir(l.config.File) }
