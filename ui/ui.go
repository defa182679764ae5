// Package ui wires the parts of the program together: it gives the command line a machine to work on, the explorer, and
// the listeners.
package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"quarry/config"
	"quarry/internal/guard"
	"quarry/ui/cli"
	"quarry/ui/explorer"
	"quarry/ui/target"
)

// Process is what the operating system gives a program.
type Process struct {
	In, Out, Err *os.File
	Arguments    []string // without the program's name
	Env          uv.Environ
	Dir          string // working folder; empty: that of the operating system's process
	TempDir      string // empty: os.TempDir()
	Version      string
	Commit, Date string           // of the build; may be empty
	Executable   string           // path of this program; empty: it does not run itself
	Model        string           // the packed sentence encoder of this program; empty: none
	Now          func() time.Time // nil: time.Now
}

// Run runs one command line and returns its exit code. When ctx ends the command stops.
func Run(ctx context.Context, process Process) int {
	if len(process.Arguments) == 2 && process.Arguments[0] == target.ReadersCommand {
		if err := target.ServeReaders(ctx, process.In, process.Out, process.Arguments[1]); err != nil {
			fmt.Fprintln(process.Err, err)
			return config.ExitGeneral
		}
		return 0
	}
	process.Env = absoluteEnv(process.Env, process.Dir)
	temp, _ := filepath.Abs(cmp.Or(process.TempDir, os.TempDir())) // TMPDIR may be relative, and what is printed is not
	streams := cli.IO{
		In: process.In, Out: process.Out, Err: process.Err,
		InTTY: isTerminal(process.In), OutTTY: isTerminal(process.Out), ErrTTY: isTerminal(process.Err),
		Env: process.Env, Dir: process.Dir, TempDir: temp, Now: process.Now,
	}
	for _, file := range []*os.File{process.Out, process.Err} {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && streams.Width == 0 {
			streams.Width = width
		}
	}
	if streams.InTTY {
		streams.ReadSecret = func() (string, error) { return readSecret(ctx, int(process.In.Fd())) }
	}
	run := newRun(process)
	defer run.readers.Close()
	return cli.Run(ctx, streams, process.Arguments, run.program())
}

// absoluteEnv resolves the variables that name a file or folder of this program, so that nothing else has to know dir.
func absoluteEnv(env []string, dir string) []string {
	if dir == "" {
		return env
	}
	env = slices.Clone(env)
	for i, entry := range env {
		key, value, _ := strings.Cut(entry, "=")
		if value != "" && (key == "QUARRY_HOME" || key == "QUARRY_CONFIG") {
			env[i] = key + "=" + config.PathIn(dir, value)
		}
	}
	return env
}

// run is one run of the program. The configuration is read when it is first needed.
type run struct {
	process Process
	lookup  config.Env
	host    func() (*target.Host, error)
	readers target.Readers
}

func newRun(process Process) *run {
	r := &run{process: process, lookup: process.Env.LookupEnv}
	r.host = sync.OnceValues(r.fresh)
	return r
}

func (r *run) program() cli.Program {
	return cli.Program{
		Version: r.process.Version, Commit: r.process.Commit, Date: r.process.Date,
		ReadOnly: config.ReadOnly(r.lookup),
		Host: func() (cli.Host, error) {
			host, err := r.host()
			if err != nil {
				return nil, err
			}
			return host, nil
		},
		Broke: r.printStack, Explore: r.explore, Serve: r.serve, State: r.stateOf, KeyProblems: explorer.KeyProblems,
	}
}

// printStack prints where a panic happened, for the report of it.
func (r *run) printStack(err error) {
	if caught, ok := errors.AsType[*guard.PanicError](err); ok {
		fmt.Fprintln(r.process.Err, caught.Stack)
	}
}

// readSecret reads a line without showing it. An interruption restores the terminal's echo.
func readSecret(ctx context.Context, terminal int) (string, error) {
	state, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	restore := context.AfterFunc(ctx, func() { _ = term.Restore(terminal, state) })
	defer restore()
	secret, err := term.ReadPassword(terminal)
	return string(secret), err
}

func isTerminal(file *os.File) bool {
	return isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd())
}
