package paint

import "testing"

func TestOver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		line string
		x    int
		want string
	}{
		{"abcdefgh", 2, "ab[]efgh"}, {"日本語字", 1, " [] 語字"}, {"ab", 4, "ab  []  "}, {"abcdefgh", 6, "abcdef[]"},
	} {
		if got := Over(test.line, "[]", test.x, 8); got != test.want || Width(got) != 8 {
			t.Errorf("%q at %d: %q, want %q", test.line, test.x, got, test.want)
		}
	}
}
