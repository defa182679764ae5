package config

import "testing"

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{"plain/path.md": "plain/path.md", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "x#1": "'x#1'"} {
		if got := ShellQuote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
