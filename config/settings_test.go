package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every key is described, and docs/configuration.md has it.
func TestEveryKeyIsDescribed(t *testing.T) {
	page, err := os.ReadFile("../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	described := descriptions()
	for _, key := range Keys() {
		if key.About == "" || key.Values == "" || !strings.Contains(string(page), "| `"+key.Path+"` | "+key.Values+" |") {
			t.Errorf("%+v is not described", key)
		}
		delete(described, key.Path)
	}
	for path := range described {
		t.Errorf("%s is described and does not exist", path)
	}
}

func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const before = "# mine\ntheme: dark # always\nprofiles:\n  work:\n    server_url: https://a.example # ours\n    token: onyx_pat_secret\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	env := Env(func(key string) (string, bool) {
		value, ok := map[string]string{"QUARRY_AGE_WARNING": "5", "HOME": "/home/jo"}[key]
		return value, ok
	})
	load := func() *Config {
		t.Helper()
		c, err := Load(Paths{ConfigFile: file}, env)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := At(Paths{ConfigFile: file}, env)
	for _, change := range [][2]string{{"instant", "true"}, {"profiles.work.search_also", "local"}, {"llm.budget", "1000"},
		{"keys.quit", "q,ctrl+q"}, {"keys.Open.Source", "O"}, {"theme", "light"}, {"profiles.home.library", "~/notes"}} {
		if err := c.Set(change[0], change[1]); err != nil {
			t.Fatalf("%v: %v", change, err)
		}
	}
	if found, err := c.Unset("llm.budget"); err != nil || !found {
		t.Fatal(found, err)
	}
	text, _ := c.Text()
	for _, part := range []string{"# mine\n", "theme: light # always\n", "server_url: https://a.example # ours\n", "instant: true\n",
		"search_also: [local]\n", "quit: [q, ctrl+q]\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the file lacks %q:\n%s", part, text)
		}
	}
	for key, want := range map[string]string{"theme": "light", "profiles.work.token": "[secret]", "age_warning": "5", "http.metrics": "token",
		"profiles.work.api_prefix": "/api", "profiles.work.kind": "onyx", "profiles.none.kind": "", "instant": "true", "fast": "false",
		"rate": "", "llm.budget": "", "index.engine": "embedded", "keys.quit": "q,ctrl+q", "keys.Open.Source": "O", "profiles.none.token": "", "profiles.home.library": "/home/jo/notes"} {
		if got, err := load().Get(key); err != nil || got != want {
			t.Errorf("%s is %q, %v", key, got, err)
		}
	}
	from := map[string]string{}
	for _, s := range load().Settings() {
		from[s.Key] = s.From
		if strings.Contains(s.Value, "onyx_pat") {
			t.Errorf("%+v", s)
		}
	}
	if from["theme"] != file || from["age_warning"] != "QUARRY_AGE_WARNING" || from["http.metrics"] != "default" {
		t.Errorf("%v", from)
	}
}

func TestWrongSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	c := At(Paths{ConfigFile: file}, nil)
	for key, value := range map[string]string{"thme": "dark", "profiles.work": "x", "profiles..token": "x", "": "x", "rate": "often", "active": "none",
		"profiles.a b.kind": "slack", "age_warning": "many", "http": "x", "theme.x": "y"} {
		var refused *Error
		if err := c.Set(key, value); !errors.As(err, &refused) || refused.ExitCode() != ExitUsage || refused.Fix == "" {
			t.Errorf("%s took %q: %v", key, value, err)
		}
	}
	if err := c.Replace([]byte("theme: [")); err == nil {
		t.Error("an invalid text replaced the file")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a refused change made a file")
	}
	readOnly := At(Paths{ConfigFile: file}, func(key string) (string, bool) { return "1", key == "QUARRY_READONLY" })
	if readOnly.Set("theme", "dark") == nil || readOnly.Replace([]byte("theme: dark")) == nil {
		t.Error("QUARRY_READONLY allowed a change")
	}
}

// A removed profile or provider is not chosen any more.
func TestUnsetEntries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const before = "active: work\nprofiles:\n  work:\n    server_url: https://a.example\n  home:\n    library: /srv\n" +
		"llm:\n  default: near/small\n  providers:\n    near:\n      base_url: http://127.0.0.1:1\n      models: [small]\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	env := Env(func(string) (string, bool) { return "", false })
	c := At(Paths{ConfigFile: file}, env)
	for path, want := range map[string]bool{"profiles.work": true, "profiles.other": false, "llm.providers.near": true, "theme": false} {
		if found, err := c.Unset(path); err != nil || found != want {
			t.Errorf("%s: %v, %v", path, found, err)
		}
	}
	for _, path := range []string{"profiles", "llm.providers", "profiles.", "llm.near", "thme"} {
		if _, err := c.Unset(path); err == nil {
			t.Errorf("%s is removed", path)
		}
	}
	loaded, err := Load(Paths{ConfigFile: file}, env)
	if err != nil {
		t.Fatal(err)
	}
	if names := loaded.ProfileNames(); len(names) != 1 || names[0] != "home" || loaded.Active != "" || loaded.LLM.Default != "" || len(loaded.LLM.Providers) != 0 {
		t.Errorf("loaded %v, active %q, %+v", names, loaded.Active, loaded.LLM)
	}
}

// What is documented as the default is the value of a key that nothing sets; words are none.
func TestDefaultsAreThoseOfTheirKeys(t *testing.T) {
	c, err := Load(Paths{ConfigFile: filepath.Join(t.TempDir(), "config.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"index.weaviate.key": "", "index.weaviate.ca": "", "llm.budget": "",
		"embeddings.weight": "1", "read_seconds": "10", "instant": "false", "http.metrics": MetricsToken} {
		if got, err := c.Get(path); got != want || err != nil {
			t.Errorf("%s is %q, %v", path, got, err)
		}
	}
	if c.Theme != "auto" || c.ReadSeconds != 10 || c.Embeddings.Weight != 1 || !c.Index.Weaviate.Key.IsZero() {
		t.Errorf("%+v", c)
	}
}
