package index

import (
	"testing"
	"time"
)

// TestDayEdges: of documents with a date without a time, exactly those of the days pass, in every zone.
func TestDayEdges(t *testing.T) {
	for offset := -12; offset <= 14; offset++ {
		zone := time.FixedZone("day", offset*3600)
		f := Filter{Since: time.Date(2026, 3, 5, 0, 0, 0, 0, zone), Until: time.Date(2026, 3, 8, 0, 0, 0, 0, zone).Add(-time.Microsecond)}
		passes, fails := f.DayEdges()
		for day := 1; day <= 12; day++ {
			at := time.Date(2026, 3, day, 0, 0, 0, 0, time.UTC)
			isIn := !at.Before(f.Since) && !at.After(f.Until)
			if isIn = (isIn || at.Equal(passes)) && !at.Equal(fails); isIn != (day >= 5 && day <= 7) {
				t.Errorf("%d hours, 2026-03-%02d passes: %v", offset, day, isIn)
			}
		}
	}
	moment := Filter{Since: time.Date(2026, 3, 5, 8, 0, 0, 0, time.FixedZone("day", 3600)), Until: time.Date(2026, 3, 6, 0, 0, 0, 0, time.UTC)}
	if passes, fails := moment.DayEdges(); !passes.IsZero() || !fails.IsZero() {
		t.Errorf("a moment has edges: %v, %v", passes, fails)
	}
}
