package explorer

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"
)

// framesPerSecond is the most that Bubble Tea allows: a key waits for the next frame, so this is what typing feels like.
const framesPerSecond = 120

// Terminal is where an explorer runs.
type Terminal struct {
	In, Out *os.File
	Env     []string // "KEY=value"
}

// Run runs an explorer until the person leaves it or ctx ends; the terminal is restored in any case. The error is that
// of ctx when it ended.
func Run(ctx context.Context, options Options, terminal Terminal) error {
	if width, height, err := term.GetSize(int(terminal.Out.Fd())); err == nil {
		options.Width, options.Height = width, height
	}
	session, stop := context.WithCancel(ctx)
	model := New(session, options)
	program := tea.NewProgram(model, tea.WithContext(ctx), tea.WithInput(terminal.In), tea.WithOutput(terminal.Out),
		tea.WithEnvironment(terminal.Env), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(),
		tea.WithColorProfile(options.Profile), tea.WithWindowSize(options.Width, options.Height))
	_, err := program.Run()
	stop()
	closed := model.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the explorer broke: %w", err)
	case err != nil:
		return fmt.Errorf("run the explorer: %w", err)
	}
	return closed
}

// Close releases the target.
func (m *Model) Close() error {
	if m.session == nil || m.session.Close == nil {
		return nil
	}
	if err := m.session.Close(); err != nil {
		return fmt.Errorf("close %s: %w", m.target.Where, err)
	}
	return nil
}
