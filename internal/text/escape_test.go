package text

import (
	"strings"
	"testing"
)

func TestEscapeWidth(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "text": 0, "\x1b": 1, "\x1b[31mred": 5, "\x1b[31": 4, "\x1b]0;title\x07text": 10, "\x1b]0;no end": 2,
		"\x1bP1\x1b\\x": 5, "\x1b(Bx": 3, "\x1b7x": 2, "\u009b1mx": 4, "\u009d0;t\u009cx": 7, "é": 0, "\x1bé": 1,
	} {
		if got := EscapeWidth(s); got != want {
			t.Errorf("EscapeWidth(%q) = %d, want %d", s, got, want)
		}
	}
}

func FuzzEscapeWidth(f *testing.F) {
	f.Add("\x1b]8;;x\x1b\\")
	f.Fuzz(func(t *testing.T, s string) {
		width := EscapeWidth(s)
		if begins := strings.HasPrefix(s, "\x1b") || len(s) > 1 && s[0] == 0xc2 && s[1] < 0xa0 && s[1] >= 0x80; begins != (width > 0) || width > len(s) {
			t.Errorf("EscapeWidth(%q) = %d", s, width)
		}
	})
}
