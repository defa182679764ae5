// Package ui wires the rooms of the program together: it hands the command line what opens targets, libraries and
// listeners, and tells it about the streams that it was started with.
package ui

import (
	"context"
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
	Commit       string
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
		streams.ReadSecret = func() (string, error) {
			secret, err := term.ReadPassword(int(process.In.Fd()))
			return string(secret), err
		}
	}
	return cli.Run(ctx, streams, process.Arguments, newDoors(process).cli())
}

func isTerminal(file *os.File) bool {
	return isatty.IsTerminal(file.Fd()) || isatty.IsCygwinTerminal(file.Fd())
}
