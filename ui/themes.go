package ui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"quarry/config"
	"quarry/theme"
	"quarry/ui/explorer"
)

const (
	themeExtension = ".yaml"
	mostThemes     = 100
)

// themesFolder returns the folder of the user's own themes, NAME.yaml; "" if no file configures this run.
func (r *run) themesFolder() string {
	host, err := r.host()
	if err != nil || host.Config.Sandbox() {
		return ""
	}
	return filepath.Join(filepath.Dir(host.Paths.ConfigFile), "themes")
}

// themes reads the themes of the user's own, with the errors of those that cannot be used.
func (r *run) themes() []explorer.OwnTheme {
	folder := r.themesFolder()
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // there are none
	}
	var found []explorer.OwnTheme
	for _, entry := range entries {
		name, isTheme := strings.CutSuffix(entry.Name(), themeExtension)
		if isTheme && len(found) < mostThemes {
			found = append(found, readTheme(filepath.Join(folder, entry.Name()), name))
		}
	}
	return found
}

// configuredTheme returns the configured theme if it is one of the user's own.
func (r *run) configuredTheme(name string) []explorer.OwnTheme {
	if slices.Contains(theme.Modes(), name) {
		return nil
	}
	return []explorer.OwnTheme{readTheme(filepath.Join(r.themesFolder(), name+themeExtension), name)}
}

func readTheme(path, name string) explorer.OwnTheme {
	own := explorer.OwnTheme{Custom: theme.Custom{Name: name}}
	switch {
	case slices.Contains(theme.Modes(), name):
		own.Err = errors.New(path + ": the name of a built-in theme; rename the file")
	case config.CheckName(name) != nil:
		own.Err = config.CheckName(name)
	default:
		own.Err = config.DecodeFile(path, &own.Custom)
	}
	return own
}
