package explorer

import (
	"context"
	"strings"
	"testing"
	"time"

	"quarry/internal/testkit/screentest/terminal"
)

func TestKeysOfATerminalElsewhereComeAtTheirPace(t *testing.T) {
	t.Parallel()
	screen := terminal.New(terminal.Options{Width: 80, Height: 24})
	defer screen.Close()
	waiting, release := make(chan struct{}, 1), make(chan struct{})
	pace := func(ctx context.Context) error {
		select {
		case waiting <- struct{}{}:
		default:
		}
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	sizes := make(chan Size)
	defer close(sizes)
	ended := make(chan error, 1)
	go func() {
		ended <- Run(t.Context(), Options{Target: sampleTarget(t), Theme: "dark", Width: 80, Height: 24},
			Terminal{In: screen.Input(), Out: screen.Cooked(), Env: []string{"TERM=xterm-256color"}, Sizes: sizes, Pace: pace})
	}()
	sees := func(text string) {
		t.Helper()
		if !screen.Wait(5*time.Minute, func(shown string) bool { return strings.Contains(shown, text) }) {
			t.Fatalf("%q does not come:\n%s", text, screen.Text())
		}
	}
	sees("documents in")
	screen.Send("rollback")
	<-waiting
	if strings.Contains(screen.Text(), "rollback") {
		t.Error("a key came before its time")
	}
	close(release)
	sees("rollback")
	screen.Send("\x03")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
