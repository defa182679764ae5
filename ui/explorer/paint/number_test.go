package paint

import "testing"

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", -123: "-123", -1234: "-1,234", 1234567: "1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d is written %s", n, got)
		}
	}
}
