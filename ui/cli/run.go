package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/theme"
)

// errInterrupted says that the user stopped the command.
var errInterrupted = errors.New("interrupted")

// unwindTime is how long a stopped command may take to print what it finished. Together with the way from the signal
// to here it stays below the tenth of a second in which an interruption must be over.
const unwindTime = 60 * time.Millisecond

// app is one run of the program.
type app struct {
	io      IO
	program Program
	flags   globalFlags
	out     *gate // results
	err     *gate // everything else
	style   theme.Palette
	palette atomic.Pointer[theme.Palette] // of standard error; read concurrently when a command is abandoned
	started time.Time
	command *cobra.Command // the one that runs
	waits   atomic.Bool    // the command ends by itself when interrupted

	onAbandon atomic.Pointer[func()] // called when the command is interrupted and does not return in time
}

// Run executes one command line and returns the exit code. When ctx ends, the command prints what it has and the code
// is 130.
func Run(ctx context.Context, streams IO, arguments []string, program Program) int {
	a := &app{io: streams, program: program, out: &gate{to: streams.Out}, err: &gate{to: streams.Err}}
	a.started = a.now()
	a.usePalettes()
	done := make(chan error, 1)
	guard.Go(func() { done <- a.execute(ctx, arguments) }, func(err error) { done <- err })
	select {
	case err := <-done:
		return a.finish(ctx, err)
	case <-ctx.Done():
	}
	if a.waits.Load() {
		return a.finish(ctx, <-done)
	}
	timer := time.NewTimer(unwindTime)
	defer timer.Stop()
	select {
	case err := <-done:
		return a.finish(ctx, err)
	case <-timer.C:
		if onAbandon := a.onAbandon.Load(); onAbandon != nil {
			(*onAbandon)()
		}
		a.out.shut()
		code := a.finish(ctx, errInterrupted)
		a.err.shut()
		return code
	}
}

func (a *app) execute(ctx context.Context, arguments []string) error {
	if a.program.Guest && len(arguments) > 0 && strings.HasPrefix(arguments[0], "__") { // the library's own, for shells
		return refusedToGuests(arguments[0])
	}
	root := a.root()
	root.SetArgs(append([]string{}, arguments...)) // nil would mean the arguments of the process
	return root.ExecuteContext(ctx)
}

// stopped is why the command was stopped. Whoever stops it may say so.
func stopped(ctx context.Context) error {
	var told interface {
		error
		Remedy() string
	}
	if errors.As(context.Cause(ctx), &told) {
		return &Failure{Code: ExitInterrupted, What: told.Error(), Do: told.Remedy()}
	}
	return errInterrupted
}

// panicFailure is the error of a panic. Guests see no details.
func (a *app) panicFailure(panicked *guard.PanicError) error {
	if a.program.Broke != nil {
		a.program.Broke(panicked)
	}
	do := "Please report this error with the command."
	if a.program.Guest {
		return &Failure{Code: ExitGeneral, What: "internal error; it was logged", Do: do}
	}
	return &Failure{Code: ExitGeneral, What: "internal error: " + panicked.Value, Do: do}
}

// finish prints the two lines of an error and returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	var panicked *guard.PanicError
	if errors.As(err, &panicked) {
		err = a.panicFailure(panicked)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, errOutputClosed) {
		var failure *Failure
		if !errors.As(err, &failure) || failure.Code != ExitInterrupted {
			err = stopped(ctx)
		}
	}
	failure := a.explain(err)
	if failure == nil {
		return ExitSuccess
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errs().Error.Render("error:"), printable(failure.What))
	do := failure.Do
	if a.program.Guest {
		do = guestAdvice(failure)
	}
	if do != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.errs().Muted.Render("hint:"), printable(text.Sentence(do)))
	}
	return failure.Code
}

// note prints a note on standard error.
func (a *app) note(format string, arguments ...any) {
	if a.flags.quiet {
		return
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errs().Warning.Render("note:"), printable(fmt.Sprintf(format, arguments...)))
}

// say prints a plain line on standard error, unless --quiet.
func (a *app) say(format string, arguments ...any) {
	if !a.flags.quiet {
		fmt.Fprintln(a.err, printable(fmt.Sprintf(format, arguments...)))
	}
}

// printable folds what would move a terminal's cursor, so that a path or an argument stays text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || isBidiControl(r) {
			return '�'
		}
		return r
	}, text)
}

func isBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

func (a *app) now() time.Time {
	if a.io.Now != nil {
		return a.io.Now()
	}
	return time.Now()
}

func (a *app) usePalettes() {
	a.style = theme.New(theme.Profile(a.io.OutTTY, a.flags.noColor, a.io.Env))
	errs := theme.New(theme.Profile(a.io.ErrTTY, a.flags.noColor, a.io.Env))
	a.palette.Store(&errs)
}

// errs is the palette of standard error.
func (a *app) errs() theme.Palette {
	if set := a.palette.Load(); set != nil {
		return *set
	}
	return theme.Palette{}
}

// commandName is the name of the running command as the user types it, without the program's own.
func (a *app) commandName() string {
	if a.command == nil || !a.command.HasParent() {
		return "search"
	}
	_, name, _ := strings.Cut(a.command.CommandPath(), " ")
	return name
}

// gate is a writer that can be closed while somebody still writes to it, also for ever.
type gate struct {
	mu   sync.Mutex // held while writing
	to   io.Writer
	over atomic.Bool
}

// Write passes on, or fails with errOutputClosed when the reader went away or the run is over.
func (g *gate) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over.Load() {
		return 0, errOutputClosed
	}
	n, err := g.to.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		g.over.Store(true)
		return n, errOutputClosed
	}
	return n, err
}

// shut closes the gate. It waits a moment for a write in progress; a reader that does not read must not
// keep the program from ending.
func (g *gate) shut() {
	g.over.Store(true)
	written := make(chan struct{})
	guard.Go(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		close(written)
	}, func(error) {}) // nothing in it panics
	select {
	case <-written:
	case <-time.After(unwindTime):
	}
}

// busyAfter is how long a command is silent before the status line appears.
const busyAfter = 200 * time.Millisecond

// clearLine empties the line that the cursor is in.
const clearLine = "\r\x1b[K"

// statusLine is a dim line on a terminal that says what a command does.
type statusLine struct {
	app *app

	mu    sync.Mutex
	shown bool
	over  bool
}

// busy shows a line if the work takes longer than a moment, until stop is called.
func (a *app) busy(doing string) (stop func()) {
	s := &statusLine{app: a}
	timer := time.AfterFunc(busyAfter, guard.Func(func() { s.show(doing) }, func(error) {})) // nobody misses the line
	return func() {
		timer.Stop()
		s.end()
	}
}

func (s *statusLine) show(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.app.io.ErrTTY || s.app.flags.quiet || s.app.io.isDumb() {
		return
	}
	s.shown = true
	doing = ansi.Truncate(printable(text.OneLine(doing)), max(1, s.app.io.columns()-1), "…")
	_, _ = fmt.Fprint(s.app.err, clearLine+s.app.errs().Muted.Render(doing))
}

// end removes the line; none is shown any more.
func (s *statusLine) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over = true; s.shown {
		s.shown = false
		_, _ = fmt.Fprint(s.app.err, clearLine)
	}
}
