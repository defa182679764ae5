package client

import (
	"encoding/json"
	"testing"
	"time"
)

// TestDaysOfAZone reads days as those of the zone of now, and sends their bounds with its offset.
func TestDaysOfAZone(t *testing.T) {
	for name, offset := range map[string]int{"west": -8, "east": 9, "utc": 0} {
		zone := time.FixedZone(name, offset*3600)
		now := time.Date(2026, 3, 20, 12, 0, 0, 0, zone)
		request := ParseQuery("x since:2026-03-05 until:2026-03", now).Request()
		since, until := time.Date(2026, 3, 5, 0, 0, 0, 0, zone), time.Date(2026, 4, 1, 0, 0, 0, 0, zone).Add(-time.Microsecond)
		if !request.TimeCutoff.Equal(since) || !request.TimeUntil.Equal(until) {
			t.Errorf("%s: %v, %v", name, request.TimeCutoff, request.TimeUntil)
		}
		sent, err := json.Marshal(request.TimeCutoff)
		want := map[string]string{"west": `"2026-03-05T00:00:00-08:00"`, "east": `"2026-03-05T00:00:00+09:00"`, "utc": `"2026-03-05T00:00:00Z"`}[name]
		if err != nil || string(sent) != want {
			t.Errorf("%s: sent %s, %v", name, sent, err)
		}
		if moment, _, ok := ParseDate("2026-03-05T08:00:00Z", zone); !ok || moment.Format(time.RFC3339) != "2026-03-05T08:00:00Z" {
			t.Errorf("%s: a moment became %v", name, moment)
		}
	}
}
