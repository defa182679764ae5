package text

import "testing"

func TestTally(t *testing.T) {
	t.Parallel()
	nine := map[string]int{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		nine[name] = 1
	}
	eleven := map[string]int{"j": 3, "k": 2}
	for name := range nine {
		eleven[name] = 1
	}
	for _, test := range []struct {
		counts map[string]int
		total  int
		list   string
	}{
		{nil, 0, ""},
		{map[string]int{".png": 22, ".svg": 60, ".gif": 22}, 104, "60 .svg, 22 .gif, 22 .png"},
		{nine, 9, "1 a, 1 b, 1 c, 1 d, 1 e, 1 f, 1 g, 1 h, 1 i"},
		{eleven, 14, "3 j, 2 k, 1 a, 1 b, 1 c, 1 d, 1 e, 1 f, 3 other kinds"},
	} {
		if total, list := Tally(test.counts); total != test.total || list != test.list {
			t.Errorf("%v: %d, %q", test.counts, total, list)
		}
	}
}
