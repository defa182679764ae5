package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

// Paths are the files and folders of this user, all absolute. None of them need exist.
type Paths struct {
	ConfigFile string // config.yaml
	Data       string // library, directory of people
	State      string // history, saved searches
	Cache      string // files that can be created again
	OnyxFile   string // configuration of Onyx's own CLI: read, never written
}

// Locate returns the paths by the XDG variables of env (relative ones are ignored, as their specification says), else the
// system's own folders. QUARRY_HOME replaces the data folder, QUARRY_CONFIG the configuration file.
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
		OnyxFile:   onyxFile(env, home),
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
