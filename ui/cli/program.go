// Package cli is the command line: every command reads its flags, asks the client and prints. Results go to standard
// output and nothing else does; progress, notes and errors go to standard error. A command, and what it alone calls,
// aborts with its error, see guard.Abort.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/theme"
	"quarry/ui/state"
	"quarry/ui/target"
)

// IO is where a command reads and writes, and what is known about it.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	Width   int // columns of the terminal; 0: unknown
	Env     uv.Environ
	Dir     string // working folder; empty: that of the process
	TempDir string // for complete copies of output that was cut; empty: none are written

	// ReadSecret reads a line from the terminal without showing it; nil where that is impossible.
	ReadSecret func() (string, error)
	// Now returns the time; nil means the system's clock.
	Now func() time.Time
}

// path returns where a path that was typed leads.
func (s IO) path(typed string) string { return config.PathIn(s.Dir, typed) }

// isDumb reports whether the terminal can only print lines.
func (s IO) isDumb() bool { return s.Env.Getenv("TERM") == "dumb" }

// interactive reports whether a person sits at both ends.
func (s IO) interactive() bool { return s.InTTY && s.OutTTY && !s.isDumb() }

// columns returns the width to lay text out for.
func (s IO) columns() int {
	const fallback = 80
	return cmp.Or(max(0, s.Width), fallback)
}

// Program configures the commands.
type Program struct {
	Version string
	Commit  string // of the build; may be empty
	Date    string // of the commit, RFC 3339; may be empty

	// Host returns the machine that commands work on. It is called when a command first needs it, so that help and
	// mistakes in flags need no configuration.
	Host func() (Host, error)
	// ReadOnly refuses every change of a library, directory, token or profile (QUARRY_READONLY).
	ReadOnly bool

	// Guest restricts the commands to searching, for visitors over SSH. Output is cut only if they ask for it.
	Guest bool
	// Broke is called with a panic, which ends the command; nil: only the person hears of it.
	Broke func(error)

	// KeyProblems returns why configured keys cannot be used, keys by action; empty if they can.
	KeyProblems func(keys map[string][]string) []string
	// State returns what is remembered of a target between runs.
	State func(target.Choice) *state.Store
	// Explore opens the explorer and returns when the person leaves it, or when ctx ends, with the terminal as it was.
	Explore func(ctx context.Context, exploration Exploration) error
	// Serve answers requests until ctx ends.
	Serve func(ctx context.Context, options target.ServeOptions) error
}

// Host is a machine with its configuration, its libraries and its way to servers. *target.Host is the real one. Guests
// reach Decide and Open only.
type Host interface {
	// Decide returns where a run searches. It opens nothing.
	Decide(request target.Request) (target.Choice, error)
	// Open connects. Nothing is read or sent before it is called.
	Open(ctx context.Context, choice target.Choice) (*client.Session, error)
	// CheckSlack returns the owner of a Slack token, also with an error about their right to search.
	CheckSlack(ctx context.Context, choice target.Choice) (owner string, err error)
	// CheckEmbeddings reads the model that runs in this process and returns its name; "" without one.
	CheckEmbeddings() (name string, err error)
	// MakeVectors lets libraries that are opened from now on make vectors in the background while they are open.
	MakeVectors()
	// Private reports whether no copies of what was printed may be kept.
	Private() bool
	Warnings() []config.Warning

	// OpenLibrary opens the library of this machine, in dir or in its usual place. Without create, a library that does
	// not exist is target.ErrNoLibrary.
	OpenLibrary(ctx context.Context, dir string, create bool) (*client.Session, error)
	// Administer opens the library of this machine, or that in dir, for the owner of a tenant; "" is the default
	// tenant. Looking makes nothing on disk.
	Administer(ctx context.Context, dir, tenant string, change bool) (*client.Session, error)
	// LibraryFolder returns the folder that OpenLibrary opens.
	LibraryFolder(dir string) string
	// MayWrite checks that the library in dir can be written, or made there.
	MayWrite(dir string) error

	// Trial returns the choice of a profile that is not saved.
	Trial(profile config.Profile, typed config.Secret) (target.Choice, error)
	SaveProfile(ctx context.Context, profile config.NewProfile) (config.Saved, error)
}

// host returns the machine that the command works on.
func (a *app) host() Host { return guard.Must(a.program.Host()) }

// decideTarget returns where a request leads.
func (a *app) decideTarget(request target.Request) (target.Choice, error) {
	return guard.Result(func() target.Choice { return guard.Must(a.host().Decide(request)) })
}

// open connects to a target.
func (a *app) open(ctx context.Context, choice target.Choice) *client.Session {
	return guard.Must(a.host().Open(ctx, choice))
}

// openLibrary opens the library of this machine, or that of --library, if it exists or is to be created.
func (a *app) openLibrary(create bool) opener {
	return func(ctx context.Context) *client.Session {
		return guard.Must(a.host().OpenLibrary(ctx, a.flags.Library, create))
	}
}

// openAdmin opens the library of this machine, or that of --library, for administration.
func (a *app) openAdmin(change bool) opener {
	return func(ctx context.Context) *client.Session {
		return guard.Must(a.host().Administer(ctx, a.flags.Library, a.flags.Tenant, change))
	}
}

// libraryFolder returns the folder of the library that openLibrary opens.
func (a *app) libraryFolder() string {
	host, err := a.program.Host()
	if err != nil {
		return a.flags.Library
	}
	return host.LibraryFolder(a.flags.Library)
}

// namedLibrary returns the folder of --library, absolute: what is printed for later must work in any folder. Without
// the flag it returns "".
func (a *app) namedLibrary() string {
	if a.flags.Library == "" {
		return ""
	}
	return a.libraryFolder()
}

// private reports whether no copies of what was printed may be kept.
func (a *app) private() bool {
	host, err := a.program.Host()
	return err == nil && host.Private()
}

// request collects the flags that choose a target.
func (a *app) request() target.Request {
	return target.Request{Server: a.flags.Server, Library: a.flags.Library, Profile: a.flags.Profile,
		Sample: a.flags.Sample, Terminal: a.io.interactive()}
}

var _ Host = (*target.Host)(nil)

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
	shape   shape
	out     *gate // results
	err     *gate // everything else
	style   theme.Palette
	palette atomic.Pointer[theme.Palette] // of standard error; read concurrently when a command is abandoned
	started time.Time
	command *cobra.Command // the one that runs
	waits   atomic.Bool    // the command ends by itself when interrupted

	completes bool // a shell asks for values to complete
	uncopied  bool // no complete copy of a cut output is kept
	traits    map[*cobra.Command]traits

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
	filterAsFlag(arguments)
	a.completes = len(arguments) > 0 && strings.HasPrefix(arguments[0], cobra.ShellCompRequestCmd)
	root := a.root()
	if a.program.Guest && len(arguments) > 0 && strings.HasPrefix(arguments[0], "__") { // the library's own, for shells
		return a.refusedToGuests(root, arguments[0])
	}
	root.SetArgs(append([]string{}, arguments...)) // nil would mean the arguments of the process
	return root.ExecuteContext(ctx)
}

// stopReason returns the error of a stopped command: the cause of the context if that is a failure.
func stopReason(ctx context.Context) error {
	if reason, ok := errors.AsType[*Failure](context.Cause(ctx)); ok {
		return fail(ExitInterrupted, reason.Do, "%s", reason.What)
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
		return fail(ExitGeneral, do, "internal error; it was logged")
	}
	return fail(ExitGeneral, do, "internal error: %s", panicked.Value)
}

// finish prints the two lines of an error and returns the exit code.
func (a *app) finish(ctx context.Context, err error) int {
	if panicked, ok := errors.AsType[*guard.PanicError](err); ok {
		err = a.panicFailure(panicked)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, errOutputClosed) {
		if failure, ok := errors.AsType[*Failure](err); !ok || failure.Code != ExitInterrupted {
			err = stopReason(ctx)
		}
	}
	failure := a.explain(err)
	switch {
	case failure == nil:
		return ExitSuccess
	case failure.What == "":
		return failure.Code
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errs().Error.Render("error:"), printable(failure.What))
	advise := a.withTarget
	if a.program.Guest {
		advise = guestAdvice
	}
	do := advise(failure)
	if do != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.errs().Muted.Render("hint:"), printable(text.Sentence(do)))
	}
	return failure.Code
}

// note prints a note on standard error.
func (a *app) note(format string, arguments ...any) {
	if a.flags.Quiet {
		return
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errs().Warning.Render("note:"), printable(fmt.Sprintf(format, arguments...)))
}

// debug prints a line with --debug.
func (a *app) debug(format string, arguments ...any) {
	if a.flags.Debug {
		fmt.Fprintf(a.err, "%s %s\n", a.errs().Muted.Render("debug:"), printable(fmt.Sprintf(format, arguments...)))
	}
}

func (a *app) debugRequest(t client.Trace) {
	outcome := strconv.Itoa(t.Status)
	if t.Err != nil {
		outcome = t.Err.Error()
	}
	a.debug("%s %s: %s in %s", t.Method, strings.TrimPrefix(t.URL, client.InProcessURL), outcome,
		t.Took.Round(time.Microsecond))
}

// say prints a plain line on standard error, unless --quiet.
func (a *app) say(format string, arguments ...any) {
	if !a.flags.Quiet {
		fmt.Fprintln(a.err, printable(fmt.Sprintf(format, arguments...)))
	}
}

// printable folds what would move a terminal's cursor, so that a path or an argument stays text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '�'
		}
		return r
	}, text)
}

func (a *app) now() time.Time {
	if a.io.Now != nil {
		return a.io.Now()
	}
	return time.Now()
}

func (a *app) usePalettes() {
	a.style = theme.New(theme.Profile(a.io.OutTTY, a.flags.NoColor, a.io.Env))
	errs := theme.New(theme.Profile(a.io.ErrTTY, a.flags.NoColor, a.io.Env))
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
	return commandPath(a.command)
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
	}, nil) // nothing in it panics
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
	timer := time.AfterFunc(busyAfter, guard.Func(func() { s.show(doing) }, nil)) // nobody misses the line
	return func() {
		timer.Stop()
		s.end()
	}
}

func (s *statusLine) show(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || !s.app.io.ErrTTY || s.app.flags.Quiet || s.app.io.isDumb() {
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
