package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// env makes an environment of KEY, value pairs.
func env(pairs ...string) Env {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(key string) (string, bool) {
		value, ok := values[key]
		return value, ok
	}
}

// write makes a configuration file in a folder of its own.
func write(t *testing.T, text string) Paths {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "quarry")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	paths := Paths{ConfigFile: filepath.Join(folder, "config.yaml"), Data: filepath.Join(folder, "data")}
	if err := os.WriteFile(paths.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return paths
}

func load(t *testing.T, text string, pairs ...string) *Config {
	t.Helper()
	c, err := Load(write(t, text), env(pairs...))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// wantError checks that an error says all of the given words, names a remedy, and asks for an exit code.
func wantError(t *testing.T, err error, exit int, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v (%T) is not an *Error", err, err)
	}
	if e.ExitCode() != exit {
		t.Errorf("exit code %d, want %d", e.ExitCode(), exit)
	}
	if e.Remedy() == "" {
		t.Errorf("no remedy for: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error()+" | "+e.Remedy(), word) {
			t.Errorf("error does not say %q: %v | %s", word, err, e.Remedy())
		}
	}
	if strings.ContainsAny(err.Error()+e.Remedy(), "\n\x1b") {
		t.Errorf("error is not one clean line: %q", err.Error())
	}
}
