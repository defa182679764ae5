// Package ui wires the rooms of the program together: it hands the command line what opens targets, libraries and
// listeners, and tells it about the streams that it was started with.
package ui

import (
	"context"
	"fmt"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"quarry/ui/cli"
)

// Process is what the operating system gives a program.
type Process struct {
	In, Out, Err *os.File
	Arguments    []string // without the program's name
	Env          []string // "KEY=value"
	Version      string
	Commit, Date string // of the build; may be empty
}

// Run runs one command line and returns its exit code. When ctx ends the command stops.
func Run(ctx context.Context, process Process) int {
	streams := cli.IO{
		In: process.In, Out: process.Out, Err: process.Err,
		InTTY: isTerminal(process.In), OutTTY: isTerminal(process.Out), ErrTTY: isTerminal(process.Err),
		Env: process.Env, TempDir: os.TempDir(),
	}
	for _, file := range []*os.File{process.Out, process.Err} {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && streams.Width == 0 {
			streams.Width = width
		}
	}
	if streams.InTTY {
		streams.ReadSecret = func() (string, error) { return readSecret(ctx, int(process.In.Fd())) }
	}
	return cli.Run(ctx, streams, process.Arguments, newDoors(process).cli())
}

// readSecret reads a line without showing it. Whoever interrupts gets a terminal back that shows what is typed.
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
