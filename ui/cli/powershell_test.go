package cli

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

// scanPowerShell reads a script by the lexical grammar of PowerShell (language specification, 2.3): comments, strings in
// single and double quotes, here-strings, and brackets. It returns an error for what has no end or no beginning.
func scanPowerShell(script string) error {
	var open []byte
	closing := map[byte]byte{'(': ')', '{': '}', '[': ']'}
	for i := 0; i < len(script); i++ {
		rest := script[i:]
		skip := func(begin, end string) error {
			at := strings.Index(rest[len(begin):], end)
			if at < 0 {
				return fmt.Errorf("%q has no end: %.60q", begin, rest)
			}
			i += len(begin) + at + len(end) - 1
			return nil
		}
		var err error
		switch c := script[i]; {
		case strings.HasPrefix(rest, "<#"):
			err = skip("<#", "#>")
		case strings.HasPrefix(rest, "@'\n"):
			err = skip("@'", "\n'@")
		case strings.HasPrefix(rest, "@\"\n"):
			err = skip("@\"", "\n\"@")
		case c == '#' && (i == 0 || strings.ContainsRune(" \t\n;{}()", rune(script[i-1]))):
			err = skip("#", "\n")
		case c == '\'': // two of them in it are one
			err = skip("'", "'")
		case c == '"':
			for i++; i < len(script) && script[i] != '"'; i++ {
				if script[i] == '`' {
					i++
				}
			}
			if i >= len(script) {
				err = fmt.Errorf("a string has no end: %.60q", rest)
			}
		case c == '`':
			i++
		case closing[c] != 0:
			open = append(open, closing[c])
		case c == ')' || c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return fmt.Errorf("%c closes nothing: %.60q", c, rest)
			}
			open = open[:len(open)-1]
		}
		if err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("not closed: %q", open)
	}
	return nil
}

// TestPowerShellScript: no PowerShell runs here, but the script has its lexical grammar, and what is completed has nothing
// that one would evaluate.
func TestPowerShellScript(t *testing.T) {
	for _, broken := range []string{"if ($a) {", "\"a", "'it''s", "@'\nx'@", "$a)", "(]", "<# x", "\"a`\""} {
		if scanPowerShell(broken) == nil {
			t.Errorf("%q has no error", broken)
		}
	}
	for _, right := range []string{"", "# it's\n", "'it''s {'", "\"a`\" {\"", "@\"\n{ \" '\n\"@", "$a[1] -replace '\\(','`$&'", "`(", "<# ( #>"} {
		if err := scanPowerShell(right); err != nil {
			t.Errorf("%q: %v", right, err)
		}
	}
	s := newOnyx(t)
	synctest.Test(t, func(t *testing.T) {
		if err := scanPowerShell(run(t, s.inProcess(), terminal{}, "completion", "powershell").check(t, ExitSuccess).out); err != nil {
			t.Error(err)
		}
		for _, arguments := range [][]string{{""}, {"search", "-"}, {"ask", "-"}, {"add", "-"}, {"config", ""}, {"serve", "-"}} {
			got := run(t, s.inProcess(), terminal{}, append([]string{"__complete"}, arguments...)...).check(t, ExitSuccess)
			if strings.Contains(got.out, "`") || strings.Contains(got.out, "$(") {
				t.Errorf("%q offers %q", arguments, got.out)
			}
		}
	})
}
