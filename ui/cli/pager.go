package cli

import (
	"bytes"
	"errors"
	"strings"
)

// pager returns the command line of the person's pager, or "". As with gh there is none unless a variable names
// it, and an empty variable or cat turns it off.
func (a *app) pager() string {
	if a.program.Guest || !a.io.OutTTY || a.io.isDumb() {
		return ""
	}
	named, ok := a.io.lookup("QUARRY_PAGER")
	if !ok {
		named = a.io.getenv("PAGER")
	}
	if named = strings.TrimSpace(named); named == "cat" {
		return ""
	}
	return named
}

// show prints what a person reads: through their pager on a terminal, else as it is.
func (a *app) show(output []byte) error {
	pager := a.pager()
	if pager == "" {
		return a.print(output)
	}
	command := ShellCommand(pager)
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
	if err == nil || errors.Is(err, errOutputClosed) {
		return nil
	}
	a.note("the pager %s failed: %v", pager, err) // whatever it has shown of them, the results are not lost
	return a.print(output)
}
