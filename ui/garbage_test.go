package ui

import "testing"

func TestTheMoreVisitorsTheLessGarbage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ usual, visitors, want int }{
		{100, 0, 100}, {100, 29, 100}, {100, 30, 50}, {100, 99, 50}, {100, 100, 15}, {100, 250, 15},
		{10, 0, 10}, {10, 200, 10}, {30, 50, 30}, // who runs the server asked for less
		{-1, 0, -1}, {-1, 200, -1}, // or turned it off
	} {
		if got := (&garbage{usual: test.usual}).percent(test.visitors); got != test.want {
			t.Errorf("of %d %%, %d among %d visitors, want %d", test.usual, got, test.visitors, test.want)
		}
	}
}
