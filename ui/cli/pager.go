package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
)

// pager returns the command line of the person's pager; nil without one. As with gh there is none unless a variable names
// it, and an empty variable or cat turns it off.
func (a *app) pager() []string {
	if a.program.Guest || !a.io.OutTTY || a.io.isDumb() {
		return nil
	}
	named, ok := a.environment()("QUARRY_PAGER")
	if !ok {
		named = a.io.getenv("PAGER")
	}
	words := strings.Fields(named)
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	return words
}

// show prints what a person reads: through their pager on a terminal, else as it is.
func (a *app) show(output []byte) error {
	words := a.pager()
	if words == nil {
		return a.print(output)
	}
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(output), a.io.Out, a.io.Err
	command.Env, command.Dir = a.io.Env, a.io.Dir
	if a.io.getenv("LESS") == "" {
		command.Env = append(command.Env, "LESS=FRX") // short output is not paged, colors are shown
	}
	if a.io.getenv("LV") == "" {
		command.Env = append(command.Env, "LV=-c")
	}
	a.waits.Store(true) // the terminal is the pager's
	err := command.Run()
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) || errors.Is(err, errOutputClosed) {
		return nil // what a pager thinks of its end is not about the results
	}
	a.note("cannot run the pager %s: %v", words[0], err)
	return a.print(output)
}
