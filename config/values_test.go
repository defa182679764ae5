package config

import (
	"path/filepath"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{
		"": {}, "0": {}, "60/h": {60, time.Hour}, "1/s": {1, time.Second}, "5/m": {5, time.Minute}, "9/d": {9, 24 * time.Hour},
	} {
		got, err := ParseRate(text)
		if got != want || err != nil {
			t.Errorf("ParseRate(%q) = %v, %v", text, got, err)
		}
		if again, err := ParseRate(got.String()); again != got || err != nil {
			t.Errorf("%q written as %q", text, got)
		}
	}
	for _, text := range []string{"60", "60/", "/h", "-1/h", "0/h", "1.5/h", "60/hour", "99999999999999999999/h"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v", text, got)
		}
	}
}

func TestParseAgent(t *testing.T) {
	for text, want := range map[string]string{"7": "7", "0": "0", " Eng ": "Eng", "7 dwarfs": "7 dwarfs"} {
		if got, err := ParseAgent(text); got.String() != want || err != nil || got.IsZero() {
			t.Errorf("ParseAgent(%q) = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "-1", "99999999999999999999"} {
		if got, err := ParseAgent(text); err == nil {
			t.Errorf("ParseAgent(%q) = %+v", text, got)
		}
	}
}

func TestLocate(t *testing.T) {
	if !unixFolders() {
		t.Skip("other systems have folders of their own")
	}
	home := func(pairs ...string) Paths {
		t.Helper()
		paths, err := Locate(env(append([]string{"HOME", "/home/ada"}, pairs...)...))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}
	if got, want := home(), (Paths{
		ConfigFile: "/home/ada/.config/quarry/config.yaml", Data: "/home/ada/.local/share/quarry", DataFrom: "the data folder",
		State: "/home/ada/.local/state/quarry", Cache: "/home/ada/.cache/quarry",
		OnyxFile: "/home/ada/.config/onyx-cli/config.json",
	}); got != want {
		t.Errorf("home: %+v", got)
	}
	if got, want := home("XDG_CONFIG_HOME", "/c", "XDG_DATA_HOME", "/d", "XDG_STATE_HOME", "/s", "XDG_CACHE_HOME", "/k"), (Paths{
		ConfigFile: "/c/quarry/config.yaml", Data: "/d/quarry", DataFrom: "the data folder", State: "/s/quarry", Cache: "/k/quarry",
		OnyxFile: "/c/onyx-cli/config.json",
	}); got != want {
		t.Errorf("XDG: %+v", got)
	}
	if got := home("XDG_DATA_HOME", "relative"); got.Data != "/home/ada/.local/share/quarry" {
		t.Errorf("a relative XDG folder is to be ignored: %+v", got)
	}
	got := home("QUARRY_HOME", "library", "QUARRY_CONFIG", "/elsewhere/c.yaml")
	if !filepath.IsAbs(got.Data) || filepath.Base(got.Data) != "library" || got.DataFrom != "QUARRY_HOME" || got.ConfigFile != "/elsewhere/c.yaml" {
		t.Errorf("QUARRY_*: %+v", got)
	}
}

func TestEnvironmentIsTakenAsAWholeSet(t *testing.T) {
	empty := ""
	tests := []struct {
		name string
		env  Env
		want Environment
	}{
		{"nothing", env(), Environment{}},
		{"onyx", env("ONYX_SERVER_URL", "https://o", "ONYX_PAT", "t"),
			Environment{Family: "ONYX", ServerURL: "https://o", Token: NewSecret("t")}},
		{"onyx whole", env("ONYX_SERVER_URL", "https://o", "ONYX_PAT", " t\n", "ONYX_API_PREFIX", "", "ONYX_PERSONA_ID", "3"),
			Environment{Family: "ONYX", ServerURL: "https://o", Token: NewSecret("t"), APIPrefix: &empty, Persona: "3"}},
		{"quarry wins", env("ONYX_SERVER_URL", "https://o", "ONYX_PAT", "t", "ONYX_PERSONA_ID", "3", "QUARRY_PAT", "q"),
			Environment{Family: "QUARRY", Token: NewSecret("q")}},
		{"quarry url wins", env("ONYX_PAT", "t", "ONYX_API_PREFIX", "", "QUARRY_SERVER_URL", "https://q"),
			Environment{Family: "QUARRY", ServerURL: "https://q"}},
		{"prefix of quarry does not win", env("ONYX_PAT", "t", "QUARRY_API_PREFIX", "/x", "QUARRY_PERSONA_ID", "9"),
			Environment{Family: "ONYX", Token: NewSecret("t")}},
		{"prefix and persona alone", env("ONYX_API_PREFIX", "/x", "ONYX_PERSONA_ID", "9"), Environment{}},
		{"blank", env("ONYX_PAT", "  ", "ONYX_SERVER_URL", ""), Environment{}},
		{"read-only", env("QUARRY_READONLY", "1"), Environment{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ReadEnvironment(test.env)
			if got.Family != test.want.Family || got.ServerURL != test.want.ServerURL || got.Persona != test.want.Persona ||
				got.Token.Reveal() != test.want.Token.Reveal() || (got.APIPrefix == nil) != (test.want.APIPrefix == nil) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	for text, want := range map[string]bool{"": false, "0": false, "false": false, "No": false, "off": false,
		"1": true, "true": true, "on": true, "please": true} {
		if got := ReadOnly(env("QUARRY_READONLY", text)); got != want {
			t.Errorf("QUARRY_READONLY=%q: %v", text, got)
		}
	}
	if ReadOnly(nil) || ReadOnly(env()) {
		t.Error("not set")
	}
}
