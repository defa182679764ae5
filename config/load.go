package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"unicode"

	"github.com/adrg/xdg"
	"github.com/spf13/viper"

	"quarry/client/wire"
	"quarry/internal/text"
)

// Load reads the configuration: the defaults, over them the file, and over that the environment (QUARRY_THEME and so
// on). A missing file is no error. All values are checked; the first mistake is an *Error.
//
// In a sandbox, that is when QUARRY_READONLY is set and the environment names where to search, the file is not opened.
func Load(paths Paths, env Env) (*Config, error) {
	c := &Config{File: paths.ConfigFile, readOnly: ReadOnly(env)}
	c.sandbox = c.readOnly && ReadEnvironment(env).NamesTarget()
	t := &tree{file: c.File}
	var content fileContent
	if !c.sandbox {
		var err error
		if content, c.Loaded, err = readFile(c.File); err != nil {
			return nil, err
		}
		if t, err = parseTree(c.File, content.bytes); err != nil {
			return nil, err
		}
		if !c.Loaded && env.Get("QUARRY_CONFIG") != "" {
			c.Warnings = append(c.Warnings, Warning{
				Text:   fmt.Sprintf("QUARRY_CONFIG names %s, which does not exist", c.File),
				Remedy: "correct QUARRY_CONFIG, or run quarry configure to make the file"})
		}
	}
	l := &loader{config: c, tree: t, home: homeOf(env)}
	if err := l.load(env); err != nil {
		return nil, err
	}
	c.exposed = content.othersWrite
	if content.othersRead && l.secretInFile {
		c.Warnings = append(c.Warnings, Warning{
			Text:   fmt.Sprintf("%s contains a token and others can read it (mode %04o)", c.File, content.mode.Perm()),
			Remedy: "chmod 600 " + ShellQuote(c.File)})
	}
	return c, nil
}

// fileContent is a file as it was when it was read.
type fileContent struct {
	bytes []byte
	fileFacts
}

// fileFacts is who else has access to a file.
type fileFacts struct {
	mode        fs.FileMode
	othersRead  bool
	othersWrite bool // the file, or its name in the folder
}

// readFile reads a regular file of bounded size; one that is not there is empty and not found.
func readFile(path string) (content fileContent, found bool, err error) {
	fail := func(err error) (fileContent, bool, error) {
		return fileContent{}, false, &Error{File: path, Problem: "cannot be read", Err: UnwrapPath(err),
			Fix: "check the path and its permissions"}
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
	// One byte more, so that a longer file is detected.
	if content.bytes, err = io.ReadAll(io.LimitReader(file, maxFile+1)); err != nil {
		return fail(err)
	}
	content.fileFacts = factsOf(path, info)
	return content, true, nil
}

// loader sets the values of a configuration and checks them.
type loader struct {
	config       *Config
	tree         *tree
	home         string
	variables    map[string]string // key → the environment variable that sets it
	secretInFile bool
}

func (l *loader) load(env Env) error {
	values := l.tree.values()
	if err := l.decode(values, l.config); err != nil {
		return err
	}
	l.secretInFile = l.config.hasSecret()
	if err := l.decodeLayers(values, env); err != nil {
		return err
	}
	l.config.from = map[string]string{}
	for path := range l.tree.lines {
		l.config.from[path] = l.tree.file
	}
	for path, variable := range l.variables {
		l.config.from[path] = variable
	}
	return l.check()
}

// decodeLayers lets viper decide between default, file and environment for the keys that all of them have. The others,
// whose names viper would fold and split at dots, keep the values of the file. The environment is handed to viper
// because viper itself reads the process's own only.
func (l *loader) decodeLayers(file map[string]any, env Env) error {
	v := viper.New()
	delete(file, "profiles")
	delete(file, "keys")
	if llm, ok := file["llm"].(map[string]any); ok {
		delete(llm, "providers")
	}
	// An empty group would hide its defaults.
	maps.DeleteFunc(file, func(_ string, group any) bool { return group == nil })
	if err := v.MergeConfigMap(file); err != nil {
		return fmt.Errorf("merge the configuration: %w", err)
	}
	l.variables = map[string]string{}
	for _, k := range Keys() {
		text := env.Get(k.Env)
		if value := k.defaultValue(); value != "" && k.Env != "" {
			v.SetDefault(k.Path, value)
		}
		switch {
		case k.Env == "" || strings.TrimSpace(text) == "":
			continue
		case k.value == reflect.TypeFor[[]string]():
			v.Set(k.Path, strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }))
		case strings.HasSuffix(k.Path, "_prefix"): // whose spaces count
			v.Set(k.Path, text)
		default:
			v.Set(k.Path, strings.TrimSpace(text))
		}
		l.variables[k.Path] = k.Env
	}
	return l.decode(v.AllSettings(), l.config)
}

// hasSecret reports whether any key holds a secret.
func (c *Config) hasSecret() (found bool) {
	eachValue(reflect.ValueOf(*c), "", func(_ string, value reflect.Value) {
		found = found || value.Type() == reflect.TypeFor[Secret]() && !value.IsZero()
	})
	return found
}

// invalid reports a bad value where it was given.
func (l *loader) invalid(path string, err error) *Error {
	if variable := l.variables[path]; variable != "" {
		return &Error{Key: variable, Problem: err.Error(), Fix: "correct or unset the environment variable " + variable}
	}
	return &Error{File: l.tree.file, Line: l.tree.lines[path], Key: clip(path), Problem: err.Error(),
		Fix: "correct " + clip(path)}
}

// configDir is the folder that relative paths of the file start at.
func (l *loader) configDir() string { return filepath.Dir(l.config.File) }

// Env looks up an environment variable, like os.LookupEnv.
type Env func(key string) (string, bool)

// Get returns the variable's value, or "" if it is not set.
func (e Env) Get(key string) string {
	value, _ := e.lookup(key)
	return value
}

// lookup is nil-safe; a nil Env has no variables.
func (e Env) lookup(key string) (string, bool) {
	if e == nil {
		return "", false
	}
	return e(key)
}

// ReadOnly reports whether QUARRY_READONLY forbids changes to libraries, directories, tokens and profiles. All values
// except empty, 0, false, no and off do: a typo must not allow changes.
func ReadOnly(env Env) bool {
	value := strings.ToLower(strings.TrimSpace(env.Get("QUARRY_READONLY")))
	return value != "" && !text.IsAmong(value, "0 false no off")
}

// Environment is one whole set of variables about where to search: QUARRY_* or ONYX_*.
type Environment struct {
	Family    string  // "QUARRY" or "ONYX"; "" if neither has a server or a token
	ServerURL string  // as given
	Token     Secret  //
	APIPrefix *string // nil if not set; set to empty means no prefix
	Persona   string  // as given; "" if not set
}

// ReadEnvironment returns the set QUARRY_* if it has a server or a token, else ONYX_* if that does. Callers check the
// values: a set that is not used must not fail.
func ReadEnvironment(env Env) Environment {
	for _, family := range [...]string{"QUARRY", "ONYX"} {
		e := Environment{
			Family:    family,
			ServerURL: strings.TrimSpace(env.Get(family + "_SERVER_URL")),
			Token:     NewSecret(strings.TrimSpace(env.Get(family + "_PAT"))),
			Persona:   strings.TrimSpace(env.Get(family + "_PERSONA_ID")),
		}
		if prefix, ok := env.lookup(family + "_API_PREFIX"); ok {
			prefix = strings.TrimSpace(prefix)
			e.APIPrefix = &prefix
		}
		if e.NamesTarget() {
			return e
		}
	}
	return Environment{}
}

// NamesTarget reports whether the environment decides where to search: it has a server or a token. A prefix or persona
// alone does not.
func (e Environment) NamesTarget() bool { return e.ServerURL != "" || !e.Token.IsZero() }

// Variable returns the full name of a variable of the set, such as "ONYX_PAT" for "PAT".
func (e Environment) Variable(name string) string { return e.Family + "_" + name }

// OnyxDefaultURL is the default server of Onyx's own CLI.
const OnyxDefaultURL = "https://cloud.onyx.app"

// OnyxCLI is the part of the configuration of Onyx's own CLI that quarry uses.
type OnyxCLI struct {
	File      string
	ServerURL string // checked, never empty
	Token     Secret // zero if that CLI was not set up
	Persona   int    // 0 is that CLI's default
}

// ReadOnyxCLI reads the configuration of Onyx's own CLI. A missing file means that CLI's defaults. An invalid file is
// ignored as a whole, with a warning, so that its token is never sent to another server.
func ReadOnyxCLI(path string) (OnyxCLI, *Warning) {
	unset := OnyxCLI{File: path, ServerURL: OnyxDefaultURL}
	if path == "" {
		return unset, nil
	}
	ignored := func(problem string) (OnyxCLI, *Warning) {
		return unset, &Warning{Text: fmt.Sprintf("%s is ignored: %s", path, problem),
			Remedy: "correct the file with onyx-cli, or remove it"}
	}
	content, found, err := readFile(path)
	if err != nil {
		return ignored("it cannot be read")
	}
	if !found {
		return unset, nil
	}
	read, err := parseOnyxCLI(content.bytes)
	if err != nil {
		return ignored(err.Error())
	}
	read.File = path
	return read, nil
}

// parseOnyxCLI never quotes the file in its errors.
func parseOnyxCLI(data []byte) (OnyxCLI, error) {
	if len(data) > maxFile {
		return OnyxCLI{}, fmt.Errorf("larger than %d KB", maxFile>>10)
	}
	var raw struct {
		ServerURL string `json:"server_url"`
		APIKey    string `json:"api_key"`
		Persona   int    `json:"default_persona_id"`
	}
	if err := wire.Unmarshal(data, &raw); err != nil {
		return OnyxCLI{}, errors.New("not JSON as onyx-cli writes it")
	}
	read := OnyxCLI{ServerURL: OnyxDefaultURL, Token: NewSecret(strings.TrimSpace(raw.APIKey)), Persona: raw.Persona}
	if err := CheckToken(read.Token.Reveal()); err != nil {
		return OnyxCLI{}, fmt.Errorf("api_key: %w", err)
	}
	if raw.Persona < 0 {
		return OnyxCLI{}, errors.New("default_persona_id is negative")
	}
	if strings.TrimSpace(raw.ServerURL) == "" {
		return read, nil
	}
	address, err := wire.ServerURL(raw.ServerURL)
	if err != nil {
		return OnyxCLI{}, fmt.Errorf("server_url: %w", err)
	}
	read.ServerURL = address
	return read, nil
}

// Paths are the files and folders of this user, all absolute. None of them need exist.
type Paths struct {
	ConfigFile string // config.yaml
	Data       string // library, directory of people
	DataFrom   string // what named Data: QUARRY_HOME, or "the data folder" of the system
	State      string // history, saved searches
	Cache      string // files that can be created again
	OnyxFile   string // configuration of Onyx's own CLI: read, never written
}

// PathIn returns a path that a person gave, which is relative to dir. An empty dir stands for the working folder of the
// process, to which the system resolves the path itself.
func PathIn(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Locate returns the paths by the XDG variables of env (relative ones are ignored, as their specification says), else
// the system's own folders. QUARRY_HOME replaces the data folder, QUARRY_CONFIG the configuration file.
func Locate(env Env) (Paths, error) {
	home := homeOf(env)
	base := func(variable, fromHome, system string) string {
		if dir := env.Get(variable); filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
		if home != "" && unixFolders() {
			return filepath.Join(home, filepath.FromSlash(fromHome))
		}
		return system
	}
	configHome := base("XDG_CONFIG_HOME", ".config", xdg.ConfigHome)
	paths := Paths{
		ConfigFile: filepath.Join(configHome, "quarry", "config.yaml"),
		Data:       filepath.Join(base("XDG_DATA_HOME", ".local/share", xdg.DataHome), "quarry"),
		State:      filepath.Join(base("XDG_STATE_HOME", ".local/state", xdg.StateHome), "quarry"),
		Cache:      filepath.Join(base("XDG_CACHE_HOME", ".cache", xdg.CacheHome), "quarry"),
		DataFrom:   "the data folder",
		OnyxFile:   onyxFile(env, home),
	}
	if env.Get("QUARRY_HOME") != "" {
		paths.DataFrom = "QUARRY_HOME"
	}
	for variable, path := range map[string]*string{"QUARRY_HOME": &paths.Data, "QUARRY_CONFIG": &paths.ConfigFile} {
		value := env.Get(variable)
		if value == "" {
			continue
		}
		absolute, err := filepath.Abs(value)
		if err != nil {
			return Paths{}, fmt.Errorf("resolve %s=%q: %w", variable, value, err)
		}
		*path = absolute
	}
	if !filepath.IsAbs(paths.ConfigFile) || !filepath.IsAbs(paths.Data) {
		return Paths{}, &Error{Problem: "HOME is not set",
			Fix: "set HOME, or QUARRY_CONFIG and QUARRY_HOME"}
	}
	return paths, nil
}

// onyxFile returns the file of Onyx's CLI, which does not use the folders of macOS and Windows.
func onyxFile(env Env, home string) string {
	if dir := env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "onyx-cli", "config.json")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".config", "onyx-cli", "config.json")
}

func homeOf(env Env) string {
	if home := env.Get("HOME"); filepath.IsAbs(home) {
		return home
	}
	if runtime.GOOS == "windows" {
		if home := env.Get("USERPROFILE"); filepath.IsAbs(home) {
			return home
		}
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	return home
}

func unixFolders() bool { return runtime.GOOS != "windows" && runtime.GOOS != "darwin" }
