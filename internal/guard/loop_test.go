package guard_test

import (
	"testing"

	"quarry/internal/guard"
)

// TestLoop: what is asked for during a run is run once more, also after a panic, and nothing after Stop.
func TestLoop(t *testing.T) {
	var loop guard.Loop
	runs, panics := 0, 0 // of one goroutine at a time
	begun, proceed := make(chan bool), make(chan bool)
	do := func() {
		runs++
		begun <- true
		<-proceed
		panic("one run")
	}
	broke := func(error) { panics++ }
	loop.Kick(do, broke)
	<-begun
	for range 3 {
		loop.Kick(do, broke)
	}
	proceed <- true
	<-begun
	proceed <- true
	loop.Wait()
	if runs != 2 || panics != 2 {
		t.Errorf("%d runs and %d panics, want 2 and 2", runs, panics)
	}
	loop.Stop()
	loop.Kick(do, broke)
	loop.Wait()
	if runs != 2 {
		t.Errorf("%d runs after Stop", runs)
	}
}
