package explorer

import (
	"context"
	"errors"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// Whatever breaks, the terminal is given back as it was.
func TestAPanicRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	target := longLibrary().library(t)
	open := target.Open
	target.Open = func(ctx context.Context) (*Session, error) {
		session, err := open(ctx)
		session.Close = func() error { panic("while closing") }
		return session, err
	}
	screen := start(t, 120, 30, Options{Target: target, Query: "rollback"})
	screen.WaitText("2 passages")
	screen.Message(arrivedMsg{target: Target{Open: func(context.Context) (*Session, error) { panic("while opening") }}})
	if err := screen.WaitEnd(); !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("the program ended with %v", err)
	}
	screen.RequireRestored()
}
