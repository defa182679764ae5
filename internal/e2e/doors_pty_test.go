//go:build unix

package e2e

import (
	"strings"
	"testing"

	"quarry/internal/testkit/screentest"
)

// TestInheritedTerminalIsNoPerson: a program that captures what quarry prints often leaves it the terminal as standard input.
func TestInheritedTerminalIsNoPerson(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	script := `out=$("$0" config set active evil 2>errors); echo "captured: exit $?"; cat errors; "$0" config set rate 60/h; echo "shown: exit $?"`
	command := h.detached("sh", "-c", script, binary(t))
	command.Dir = h.dir
	got := leaves(t, screentest.StartCommand(t, command, usual()))
	for _, want := range []string{"captured: exit 2", "error: active cannot be changed without a terminal: it decides more than how", "Set rate in ", "shown: exit 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
}
