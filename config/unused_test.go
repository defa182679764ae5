package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsWithoutEffectAreTold(t *testing.T) {
	cases := map[string]string{
		"instant: true\n": "",
		"llm: {default: local/m, providers: {local: {base_url: \"http://127.0.0.1:1\"}}}\n":     "",
		"http: {metrics: open}\nrate: 60/h\n":                                                   "",
		"profiles: {work: {server_url: \"https://onyx.acme.example\", search_also: [local]}}\n": "",
	}
	for text, want := range cases {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Load(Paths{ConfigFile: file}, func(string) (string, bool) { return "", false })
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		told := ""
		for _, w := range c.Warnings {
			told += w.Text
		}
		if (want == "") != (told == "") || !strings.Contains(told, want) {
			t.Errorf("%s: told %q, want %q", text, told, want)
		}
	}
}
