package ssh

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"

	charm "charm.land/ssh"

	"quarry/ui/explorer"
)

func TestClamped(t *testing.T) {
	for window, want := range map[charm.Window]explorer.Size{
		{Width: 80, Height: 24}:            {Width: 80, Height: 24},
		{Width: 250, Height: 80}:           {Width: 250, Height: 80},
		{Width: 80, Height: 500}:           {Width: 80, Height: 80},
		{Width: 500, Height: 80}:           {Width: 250, Height: 80},
		{Width: 0, Height: 0}:              {},
		{Width: 1, Height: 65535}:          {Width: 1, Height: 80},
		{Width: 65535, Height: 65535}:      {Width: 250, Height: 80},
		{Width: math.MaxUint32, Height: 1}: {Width: 250, Height: 1},
		{Width: -1, Height: math.MinInt32}: {},
	} {
		if got := clamped(window); got != want {
			t.Errorf("%d x %d: %+v, want %+v", window.Width, window.Height, got, want)
		}
	}
}

// The systemd unit of the documentation has room for as many sessions as are let in by default, each with the budget
// that docs/performance.md gives it, and for searches beside them.
func TestTheUnitHasRoomForAllSessions(t *testing.T) {
	text, err := os.ReadFile("../../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	const session, searches = 8, 1000 // MB
	found := regexp.MustCompile(`\nMemoryMax=(\d+)G\n`).FindSubmatch(text)
	if found == nil {
		t.Fatal("there is no MemoryMax=…G")
	}
	if gigabytes, _ := strconv.Atoi(string(found[1])); gigabytes<<10 < Defaults().Sessions*session+searches {
		t.Errorf("%s GB for %d sessions", found[1], Defaults().Sessions)
	}
}
