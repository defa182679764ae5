// Package cli is the command line: every command reads its flags, asks the client and prints. Results go to standard
// output and nothing else does; progress, notes and errors go to standard error.
package cli

import (
	"context"
	"io"
	"strings"
	"time"

	"quarry/client"
	"quarry/config"
	"quarry/ui/target"
)

// IO is where a command reads and writes, and what is known about it.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer

	InTTY, OutTTY, ErrTTY bool

	Width   int      // columns of the terminal; 0: unknown
	Env     []string // "KEY=value"
	TempDir string   // for complete copies of output that was cut; empty: none are written

	// ReadSecret reads a line from the terminal without showing it; nil where that is impossible.
	ReadSecret func() (string, error)
	// Now returns the time; nil means the system's clock.
	Now func() time.Time
}

func (s IO) getenv(key string) string {
	for _, entry := range s.Env {
		if value, found := strings.CutPrefix(entry, key+"="); found {
			return value
		}
	}
	return ""
}

// isDumb reports whether the terminal can only print lines.
func (s IO) isDumb() bool { return s.getenv("TERM") == "dumb" }

// interactive reports whether a person sits at both ends.
func (s IO) interactive() bool { return s.InTTY && s.OutTTY && !s.isDumb() }

// columns returns the width to lay text out for.
func (s IO) columns() int {
	const fallback = 80
	if s.Width <= 0 {
		return fallback
	}
	return s.Width
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
	// Private reports whether no copies of what was printed may be kept.
	Private() bool
	Warnings() []config.Warning

	// OpenLibrary opens the library of this machine, in dir or in its usual place. Without create, a library that does
	// not exist is target.ErrNoLibrary.
	OpenLibrary(ctx context.Context, dir string, create bool) (*client.Session, error)
	// Administer opens the library of this machine, or that in dir, for the owner of a tenant; "" is the default tenant.
	// Looking makes nothing on disk.
	Administer(ctx context.Context, dir, tenant string, change bool) (*client.Session, error)
	// LibraryFolder returns the folder that OpenLibrary opens.
	LibraryFolder(dir string) string
	// MayWrite checks that the library in dir can be written, or made there.
	MayWrite(dir string) error

	// Trial returns the choice of a profile that is not saved.
	Trial(profile config.Profile, typed config.Secret) (target.Choice, error)
	SaveProfile(ctx context.Context, profile config.NewProfile) (config.Saved, error)
}

// onHost calls a method of the host, once there is one.
func onHost[T any](a *app, call func(Host) (T, error)) (result T, err error) {
	host, err := a.program.Host()
	if err != nil {
		return result, err
	}
	return call(host)
}

// decideTarget returns where a request leads.
func (a *app) decideTarget(request target.Request) (target.Choice, error) {
	return onHost(a, func(host Host) (target.Choice, error) { return host.Decide(request) })
}

// open connects to a target.
func (a *app) open(ctx context.Context, choice target.Choice) (*client.Session, error) {
	return onHost(a, func(host Host) (*client.Session, error) { return host.Open(ctx, choice) })
}

// openLibrary opens the library of this machine, or that of --library, if it exists.
func (a *app) openLibrary(ctx context.Context) (*client.Session, error) {
	return onHost(a, func(host Host) (*client.Session, error) { return host.OpenLibrary(ctx, a.flags.library, false) })
}

// openAdmin opens the library of this machine, or that of --library, for administration.
func (a *app) openAdmin(ctx context.Context, change bool) (*client.Session, error) {
	return onHost(a, func(host Host) (*client.Session, error) {
		return host.Administer(ctx, a.flags.library, a.flags.tenant, change)
	})
}

// libraryFolder returns the folder of the library that openLibrary opens.
func (a *app) libraryFolder() string {
	host, err := a.program.Host()
	if err != nil {
		return a.flags.library
	}
	return host.LibraryFolder(a.flags.library)
}

// private reports whether no copies of what was printed may be kept.
func (a *app) private() bool {
	host, err := a.program.Host()
	return err == nil && host.Private()
}

// request collects the flags that choose a target.
func (a *app) request() target.Request {
	return target.Request{Server: a.flags.server, Library: a.flags.library, Profile: a.flags.profile, Sample: a.flags.sample,
		Terminal: a.io.interactive()}
}

var _ Host = (*target.Host)(nil)
