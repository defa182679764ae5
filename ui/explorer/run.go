package explorer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"quarry/internal/guard"
)

// FramesPerSecond is the most that Bubble Tea allows: a key waits for the next frame, so this is what typing feels
// like.
const FramesPerSecond = 120

// resizePause is how long a change of size waits for the next one: who drags a window sends many.
const resizePause = 16 * time.Millisecond

// quitWithin bounds the wait at the end for another process that writes the history.
const quitWithin = 2 * time.Second

// Terminal is where an explorer runs. A local one is a pair of files, and is asked for its size and heard for its
// signals.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	Env uv.Environ
	// FramesPerSecond is how often the screen may change; 0: FramesPerSecond.
	FramesPerSecond int

	// Pace waits before each key and each paste of a terminal elsewhere, as long as it wants; an error ends the keys.
	// Nil: nothing waits.
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
	first := terminal.sized(tea.WindowSizeMsg{Width: options.Width, Height: options.Height})
	options.Width, options.Height = first.Width, first.Height
	session, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	model := New(session, options)
	var program *tea.Program
	broke := func(err error) {
		stop(fmt.Errorf("%w: %w", ErrBroke, err))
		guard.Go(func() { program.Quit() }, func(error) { program.Kill() }) // which waits for who calls this
	}
	program = tea.NewProgram(guarded{model, broke}, tea.WithContext(ctx), tea.WithInput(terminal.input(session)),
		tea.WithOutput(terminal.Out),
		tea.WithEnvironment(terminal.Env), tea.WithFPS(terminal.FramesPerSecond), tea.WithoutSignalHandler(),
		tea.WithColorProfile(options.Profile), tea.WithWindowSize(options.Width, options.Height),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg {
			if size, ok := msg.(tea.WindowSizeMsg); ok {
				return terminal.sized(size)
			}
			return msg
		}))
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
		case <-resized:
			last = tea.RequestWindowSize()
		case <-pause:
			program.Send(last)
			last, pause = nil, nil
		case text, open := <-notices:
			if !open {
				notices = nil
				continue
			}
			program.Send(noticeMsg{text})
		}
		if last != nil && pause == nil {
			pause = time.After(resizePause)
		}
	}
}

// Close saves what is remembered and releases the target.
func (m *Model) Close() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), quitWithin)
	defer cancel()
	return errors.Join(m.target.State.Save(ctx), m.release())
}

func (m *Model) release() error {
	if m.conn.session == nil || m.conn.session.Close == nil {
		return nil
	}
	if err := m.conn.session.Close(); err != nil {
		return fmt.Errorf("close %s: %w", m.target.Where, err)
	}
	return nil
}

// sized returns the size of a terminal, for one that reports none (a serial console, expect, some starts of containers)
// as its variables have it, else 80 × 24.
func (t Terminal) sized(size tea.WindowSizeMsg) tea.WindowSizeMsg {
	if size.Width > 0 && size.Height > 0 {
		return size
	}
	const widest = 1000
	number := func(name string, usual int) int {
		n, err := strconv.Atoi(t.Env.Getenv(name))
		if err != nil || n <= 0 || n > widest {
			return usual
		}
		return n
	}
	return tea.WindowSizeMsg{Width: number("COLUMNS", 80), Height: number("LINES", 24)}
}

// elsewhere reports whether the terminal is not of this machine.
func (t Terminal) elsewhere() bool { return t.Sizes != nil }

// input is what Bubble Tea itself reads. Of a terminal elsewhere that is nothing: see readKeys.
func (t Terminal) input(ctx context.Context) io.Reader {
	if t.elsewhere() {
		return silence{ctx}
	}
	return t.In
}

// silence is a keyboard on which nobody types until ctx ends.
type silence struct{ ctx context.Context }

// Read is io.Reader's.
func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, io.EOF
}

// readKeys passes on the keys of a terminal elsewhere, until there are no more: then the explorer ends. Bubble Tea's
// own reader waits for ever to hand over a key that came too late for the program, which among many explorers in one
// process keeps each of those and its screen; nor does it catch a panic over hostile keys.
func readKeys(ctx context.Context, program *tea.Program, terminal Terminal, broke func(error)) {
	reader := uv.NewTerminalReader(terminal.In, terminal.Env.Getenv("TERM"))
	events, ended := make(chan uv.Event), make(chan struct{})
	guard.Go(func() {
		defer close(ended)
		_ = reader.StreamEvents(ctx, events) // only its end matters
	}, broke)
	for {
		select {
		case event := <-events:
			if terminal.Pace != nil && terminal.Pace(ctx) != nil {
				continue // the reader ends with ctx, too
			}
			program.Send(event)
		case <-ended:
			program.Quit()
			return
		}
	}
}

// guarded is a model whose panics end its program in order. Bubble Tea catches them, too, but prints them on the
// standard error of the process, which among many explorers is the log of who serves them. Of a panic in its renderer,
// whose goroutine recovers from nothing, neither can hear.
type guarded struct {
	inner tea.Model
	broke func(error)
}

// Init is tea.Model's.
func (g guarded) Init() (cmd tea.Cmd) {
	g.try(func() { cmd = g.inner.Init() })
	return g.command(cmd)
}

// Update is tea.Model's.
func (g guarded) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	g.try(func() { g.inner, cmd = g.inner.Update(msg) })
	return g, g.command(cmd)
}

// View is tea.Model's. A screen that cannot be drawn is empty.
func (g guarded) View() (view tea.View) {
	g.try(func() { view = g.inner.View() })
	return view
}

// command returns a command without its panics, and those of the commands that it gives.
func (g guarded) command(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		g.try(func() { msg = cmd() })
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = g.command(batch[i])
			}
		}
		return msg
	}
}

func (g guarded) try(f func()) { guard.Func(f, g.broke)() }
