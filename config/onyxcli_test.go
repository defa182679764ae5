package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quarry/client/wire"
)

func TestOnyxCLI(t *testing.T) {
	tests := []struct {
		name, text string
		want       OnyxCLI
		warn       string
	}{
		{"whole", `{"server_url":"https://Onyx.acme.com/","api_key":"hunter2","default_persona_id":4,
			"features":{"stream_markdown":true}}`,
			OnyxCLI{ServerURL: "https://onyx.acme.com", Token: NewSecret("hunter2"), Persona: 4}, ""},
		{"key only", `{"api_key":"hunter2"}`, OnyxCLI{ServerURL: OnyxDefaultURL, Token: NewSecret("hunter2")}, ""},
		{"keys in another case", `{"api_key":"hunter2","API_KEY":"x","Server_URL":"https://elsewhere"}`,
			OnyxCLI{ServerURL: OnyxDefaultURL, Token: NewSecret("hunter2")}, ""},
		{"empty object", `{}`, OnyxCLI{ServerURL: OnyxDefaultURL}, ""},
		{"empty file", ``, OnyxCLI{ServerURL: OnyxDefaultURL}, "JSON"},
		{"half", `{"api_key":"hunter2"`, OnyxCLI{ServerURL: OnyxDefaultURL}, "JSON"},
		{"wrong type", `{"api_key":"hunter2","default_persona_id":"x"}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "JSON"},
		{"bad url", `{"api_key":"hunter2","server_url":"onyx"}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "server_url"},
		{"userinfo", `{"api_key":"x","server_url":"https://u:hunter2@o"}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "server_url"},
		{"bad token", `{"api_key":"hunter2 x"}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "api_key"},
		{"negative", `{"api_key":"x","default_persona_id":-1}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "persona"},
		{"huge", `{"api_key":"` + strings.Repeat("x", maxFile) + `"}`, OnyxCLI{ServerURL: OnyxDefaultURL}, "larger"},
		{"deep", strings.Repeat("[", 100_000), OnyxCLI{ServerURL: OnyxDefaultURL}, "JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.json")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, warning := ReadOnyxCLI(path)
			if got.ServerURL != test.want.ServerURL || got.Token.Reveal() != test.want.Token.Reveal() ||
				got.Persona != test.want.Persona || got.File != path {
				t.Errorf("got %+v (%s)", got, got.Token.Reveal())
			}
			switch {
			case test.warn == "" && warning != nil:
				t.Errorf("warning: %+v", warning)
			case test.warn != "" && (warning == nil || !strings.Contains(warning.Text, test.warn)):
				t.Errorf("warning: %+v", warning)
			case warning != nil && (strings.Contains(warning.Text, "hunter2") || warning.Remedy == ""):
				t.Errorf("leaks or helps not: %+v", warning)
			}
		})
	}
	for _, path := range []string{"", filepath.Join(t.TempDir(), "none.json")} {
		if got, warning := ReadOnyxCLI(path); warning != nil || got.ServerURL != OnyxDefaultURL || !got.Token.IsZero() {
			t.Errorf("%q: %+v, %+v", path, got, warning)
		}
	}
	if _, warning := ReadOnyxCLI(t.TempDir()); warning == nil {
		t.Error("a folder is no configuration")
	}
}

func FuzzOnyxCLI(f *testing.F) {
	for _, seed := range []string{`{"server_url":"https://o","api_key":"k","default_persona_id":1}`, `null`, `[]`, `{"api_key":null}`,
		`{"server_url":"http://[::1%25en0]:80"}`, "\xff", `{"API_KEY":"x","api_key":"\u0000"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := parseOnyxCLI(data)
		if err != nil {
			return
		}
		if again, err := wire.ServerURL(read.ServerURL); err != nil || again != read.ServerURL {
			t.Errorf("server %q: %v", read.ServerURL, err)
		}
		if CheckToken(read.Token.Reveal()) != nil || read.Persona < 0 {
			t.Errorf("unusable values passed: %+v", read)
		}
	})
}
