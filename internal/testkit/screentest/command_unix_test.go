//go:build unix

package screentest_test

import (
	"os/exec"
	"syscall"
	"testing"

	"quarry/internal/testkit/screentest"
)

func TestCommandBehindATerminal(t *testing.T) {
	t.Parallel()
	script := `stty size; printf 'name? '; read name; printf '\033[?1049h\033[1mhello %s' "$name"; read _; printf '\033[?1049l'; exit 3`
	screen := screentest.StartCommand(t, exec.Command("sh", "-c", script), screentest.Options{Width: 40, Height: 5})
	screen.WaitText("5 40")
	screen.WaitText("name?")
	screen.Type("world")
	screen.Press("enter")
	screen.WaitText("hello world")
	if !screen.Modes().AltScreen || !screen.Cell(0, 0).Style.Bold {
		t.Errorf("modes %+v\n%s", screen.Modes(), screen.Frame())
	}
	screen.Press("enter")
	if exit, ok := screen.WaitEnd().(*exec.ExitError); !ok || exit.ExitCode() != 3 {
		t.Errorf("ended with %v", exit)
	}
	screen.RequireRestored()
}

func TestSignalsAndResizesReachACommand(t *testing.T) {
	t.Parallel()
	script := `trap 'stty size' WINCH; trap 'echo bye; exit 0' TERM; echo ready; while :; do read _; done`
	screen := screentest.StartCommand(t, exec.Command("sh", "-c", script), screentest.Options{Width: 40, Height: 5})
	screen.WaitText("ready")
	screen.Resize(33, 7)
	screen.Press("enter")
	screen.WaitText("7 33")
	screen.Signal(syscall.SIGTERM)
	screen.Press("enter")
	if err := screen.WaitEnd(); err != nil {
		t.Error(err)
	}
	screen.WaitText("bye")
}
