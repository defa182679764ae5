package explorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"

	"quarry/internal/guard"
)

// FramesPerSecond is the most that Bubble Tea allows: a key waits for the next frame, so this is what typing feels like.
const FramesPerSecond = 120

// resizePause is how long a change of size waits for the next one: who drags a window sends many.
const resizePause = 16 * time.Millisecond

// Terminal is where an explorer runs. A local one is a pair of files, and is asked for its size and heard for its signals.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Env []string // "KEY=value"
	// FramesPerSecond is how often the screen may change; 0: FramesPerSecond.
	FramesPerSecond int

	// Pace waits before each key and each paste of a terminal elsewhere, as long as it wants; an error ends the keys. Nil:
	// nothing waits.
	Pace func(context.Context) error
	// Sizes reports how a terminal elsewhere is resized; it is closed when that one is. Nil: a local terminal.
	Sizes <-chan Size
	// Notices are shown to the person at once, like keys that somebody else pressed. Nil: there are none.
	Notices <-chan string
}

// Size is a terminal's, in cells.
type Size struct{ Width, Height int }

// noticeMsg is something that the person must hear of.
type noticeMsg struct{ text string }

// ErrBroke is the error of a panic. Unless Bubble Tea caught it, and printed it on standard error, it wraps a
// *guard.PanicError.
var ErrBroke = errors.New("the explorer broke")

// Run runs an explorer until the person leaves it or ctx ends; the terminal is restored in any case. The error is that
// of ctx when it ended.
func Run(ctx context.Context, options Options, terminal Terminal) error {
	if terminal.FramesPerSecond == 0 {
		terminal.FramesPerSecond = FramesPerSecond
	}
	session, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	model := New(session, options)
	var program *tea.Program
	broke := func(err error) {
		stop(fmt.Errorf("%w: %w", ErrBroke, err))
		guard.Go(func() { program.Quit() }, func(error) { program.Kill() }) // which waits for who calls this
	}
	program = tea.NewProgram(guarded{model, broke}, tea.WithContext(ctx), tea.WithInput(terminal.input(session)), tea.WithOutput(terminal.Out),
		tea.WithEnvironment(terminal.Env), tea.WithFPS(terminal.FramesPerSecond), tea.WithoutSignalHandler(),
		tea.WithColorProfile(options.Profile), tea.WithWindowSize(options.Width, options.Height))
	// Bubble Tea begins to listen for changes of size some time after the first frame: one before that would be lost.
	resized := make(chan os.Signal, 1)
	if !terminal.elsewhere() {
		notifyResize(resized)
		defer signal.Stop(resized)
		resized <- nil // the size may have changed since it was read
	}
	followed := make(chan struct{})
	guard.Go(func() {
		defer close(followed)
		follow(session, program, terminal, resized)
	}, broke)
	if terminal.elsewhere() {
		guard.Go(func() { readKeys(session, program, terminal, broke) }, broke)
	}
	_, err := program.Run()
	if cause := context.Cause(session); errors.Is(cause, ErrBroke) {
		err = cause
	}
	stop(nil)
	<-followed
	closed := model.Close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrBroke):
		return err
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("%w: %w", ErrBroke, err)
	case err != nil:
		return fmt.Errorf("run the explorer: %w", err)
	}
	return closed
}

// follow sends changes of size and notices to the program. Of sizes in quick succession only the last counts.
func follow(ctx context.Context, program *tea.Program, terminal Terminal, resized <-chan os.Signal) {
	sizes, notices := terminal.Sizes, terminal.Notices
	var last tea.Msg
	var pause <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case size, open := <-sizes:
			if !open {
				sizes = nil
				continue
			}
			last = tea.WindowSizeMsg{Width: size.Width, Height: size.Height}
			if pause == nil {
				pause = time.After(resizePause)
			}
		case <-resized:
			last = tea.RequestWindowSize()
			if pause == nil {
				pause = time.After(resizePause)
			}
		case <-pause:
			pause = nil
			program.Send(last)
		case text, open := <-notices:
			if !open {
				notices = nil
				continue
			}
			program.Send(noticeMsg{text})
		}
	}
}

// Close releases the target.
func (m *Model) Close() error {
	if m.conn.session == nil || m.conn.session.Close == nil {
		return nil
	}
	if err := m.conn.session.Close(); err != nil {
		return fmt.Errorf("close %s: %w", m.target.Where, err)
	}
	return nil
}
