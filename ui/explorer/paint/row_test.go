package paint

import (
	"runtime"
	"testing"
)

// A row is copied into what remembers it, from a place that is gone then.
func TestRowsAreCopied(t *testing.T) {
	t.Parallel()
	draw := func() Row {
		var row Row
		row.Put(" ", 1)
		row.PutItem(7, "seven", 5)
		return row
	}
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = draw()
	}
	runtime.GC()
	for x, want := range map[int]int{0: 0, 1: 7, 5: 7, 6: 0} {
		if item, ok := rows[0].At(x); item != want || ok != (want != 0) {
			t.Errorf("column %d has item %d (%v), want %d", x, item, ok, want)
		}
	}
	if row := rows[0]; row.String() != " seven" || row.X != 6 {
		t.Errorf("%q in %d columns", row.String(), row.X)
	}
	rows[0].PutItem(8, "!", 1)
	if item, _ := rows[0].At(6); item != 8 {
		t.Error("a copy cannot be continued")
	}
}
