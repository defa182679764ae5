package text

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandWords(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                          nil,
		"  \t ":                     nil,
		"vim":                       {"vim"},
		" code  --wait\t--new ":     {"code", "--wait", "--new"},
		`"C:\Program Files\v.exe"`:  {`C:\Program Files\v.exe`},
		`'/opt/my editor' -c 'a b'`: {"/opt/my editor", "-c", "a b"},
		`vim -c "it's"`:             {"vim", "-c", "it's"},
		`my\ editor/edit -w`:        {"my editor/edit", "-w"},
		`vim "a\"b" 'c\d'`:          {"vim", `a"b`, `c\d`},
		`vim ""`:                    {"vim", ""},
		`a"b c"d`:                   {"ab cd"},
		"vim; rm -rf $HOME `id` *":  {"vim;", "rm", "-rf", "$HOME", "`id`", "*"}, // only words are looked at
	} {
		got, err := CommandWords(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{`"`, `vim 'a`, `vim "a'`} {
		if words, err := CommandWords(line); err == nil {
			t.Errorf("%q: %q", line, words)
		}
	}
}

func FuzzCommandWords(f *testing.F) {
	for _, seed := range []string{"vim", `code --wait "a b"`, `'`, `"a'b"`, "\u2003vim\u00a0", "vim \x00 \xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := CommandWords(line)
		if err != nil || strings.Contains(line, `\`) {
			return
		}
		without := func(text string) string { // what no split may change
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(`"'`, r) || strings.TrimSpace(string(r)) == "" {
					return -1
				}
				return r
			}, text)
		}
		if got := without(strings.Join(words, "")); got != without(line) {
			t.Errorf("%q became %q", line, words)
		}
		var quoted []string
		for _, word := range words {
			if !strings.Contains(word, `"`) {
				quoted = append(quoted, `"`+word+`"`)
			}
		}
		if again, err := CommandWords(strings.Join(quoted, " ")); err != nil || len(again) != len(quoted) {
			t.Errorf("%q read again: %q, %v", quoted, again, err)
		}
	})
}
