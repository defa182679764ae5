package ssh

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestArguments(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{"  \t\n", nil},
		{"roll back a release", []string{"roll", "back", "a", "release"}},
		{`"roll back" -slack`, []string{"--", `"roll back" -slack`}},
		{`what's new`, []string{"--", "what's new"}},
		{`release -draft `, []string{"--", "release -draft"}},
		{`search "roll back" it's`, []string{"search", "roll back", "it's"}},
		{`search 'a\b' "a\"b" a\ b`, []string{"search", `a\b`, `a"b`, "a b"}},
		{`search "open`, []string{"search", `"open`}},
		{`search --tag="k=v w"`, []string{"search", "--tag=k=v w"}},
		{`search --tag k='v w' ""`, []string{"search", "--tag", "k=v w", ""}},
		{`-- add`, []string{"--", "add"}},
		{`--no-color rollback`, []string{"--no-color", "rollback"}},
		{`rollback --source slack`, []string{"rollback", "--source", "slack"}},
		{`-h`, []string{"-h"}},
		{`search end\`, []string{"search", `end\`}},
		{"searching for add", []string{"searching", "for", "add"}},
		{"@/etc/passwd", []string{"@/etc/passwd"}},
		{"sources", []string{"sources"}},
		{"sources of revenue", []string{"--", "sources of revenue"}},
		{"help me expense a laptop", []string{"--", "help me expense a laptop"}},
		{"help search", []string{"help", "search"}},
		{"read me a story", []string{"--", "read me a story"}},
		{"read file:/a#1", []string{"read", "file:/a#1"}},
		{"read 'Leave › Who (hb/leave.md:7, 2026-03-12)'", []string{"read", "Leave › Who (hb/leave.md:7, 2026-03-12)"}},
		{"read 'the docs'", []string{"--", "read 'the docs'"}},
		{"sources --json", []string{"sources", "--json"}},
	}
	for _, test := range tests {
		if got := arguments(test.line); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
}

// quoted writes words so that they come out as they are.
func quoted(words []string) string {
	var line strings.Builder
	for _, word := range words {
		line.WriteString(` "` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`)
	}
	return line.String()
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "a b", `"a b" c`, `search 'x' "y\"z"`, `--tag="k=v`, "x\u00a0y\u2028z", `a\`, `"`, `='a b'`, "\x00\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got := arguments(line)
		if !utf8.ValidString(line) {
			return // what no query may hold
		}
		fields := strings.Fields(line)
		switch {
		case len(got) > 1 && got[0] == "--" && strings.TrimSpace(line) == got[1]: // a question as it was written
		case !strings.ContainsAny(line, `"'\`) && !slices.Equal(got, fields):
			t.Errorf("%q: %q, want %q", line, got, fields)
		case len(strings.Join(got, "")) > len(line):
			t.Errorf("%q: %q holds more than was written", line, got)
		}
		for _, word := range split(line) { // what stands there, in its order
			for _, r := range word {
				i := strings.IndexRune(line, r)
				if i < 0 {
					t.Fatalf("%q: %q was not written", line, word)
				}
				line = line[i+utf8.RuneLen(r):]
			}
		}
	})
}

func FuzzQuotedArguments(f *testing.F) {
	f.Add("a b", "", `\"'`)
	f.Add("k=v", "--x='y'", "\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		words := []string{a, b, c}
		if line := quoted(words); utf8.ValidString(line) {
			if got := split(line); !slices.Equal(got, words) {
				t.Errorf("%s: %q, want %q", line, got, words)
			}
		}
	})
}
