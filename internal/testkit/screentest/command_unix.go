//go:build unix

package screentest

import (
	"os/exec"
	"testing"

	tea "charm.land/bubbletea/v2"

	"quarry/internal/testkit/screentest/terminal"
)

// StartCommand runs a program of its own behind a pseudo-terminal until the test ends. The profile of the options is not
// used: the program finds it out from its environment.
func StartCommand(t testing.TB, cmd *exec.Cmd, options Options) *Screen {
	t.Helper()
	if options.Env != nil {
		cmd.Env = append(cmd.Environ(), options.Env...)
	}
	command, err := terminal.Run(cmd, options.terminal())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(command.Close)
	return &Screen{
		Terminal: command.Terminal, t: t, ended: command.Done(), command: command,
		result: func() (tea.Model, error) { return nil, command.Err() },
		resize: func(width, height int) {
			if err := command.Resize(width, height); err != nil {
				t.Error(err)
			}
		},
	}
}
