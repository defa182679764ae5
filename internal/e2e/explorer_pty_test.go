//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"quarry/internal/testkit/screentest"
)

// found is the best answer of the sample library to "roll back".
const found = "Runbook: rolling back a release"

// explore opens the explorer of the binary behind a terminal.
func (h home) explore(options screentest.Options, arguments ...string) *screentest.Screen {
	h.t.Helper()
	// The test's own context would kill the program before its last screen can be looked at.
	return screentest.StartCommand(h.t, h.detached(binary(h.t), arguments...), options)
}

func (h home) detached(name string, arguments ...string) *exec.Cmd {
	command := exec.Command(name, arguments...)
	command.Env = h.environ()
	return command
}

func usual() screentest.Options { return screentest.Options{Width: 120, Height: 40, Dark: true} }

func TestExplorerFindsReadsAndLeaves(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	shell := h.detached("sh", "-c", `echo before; "$0" "$@"; echo "exit $?"`, binary(h.t), "--sample", "roll back")
	screen := screentest.StartCommand(t, shell, usual())
	screen.WaitText(found)
	if modes := screen.Modes(); !modes.AltScreen || !modes.BracketedPaste || modes.Mouse {
		t.Errorf("while it runs the terminal is %+v", modes)
	}
	screen.Press("/", "ctrl+u")
	screen.Type("standby drain")
	screen.Wait("HW-119 to be the best", func(now string) bool {
		return regexp.MustCompile(`│▏ 1 +HW-119 Lantern 3: standby drain`).MatchString(now)
	})
	screen.Wait("the cursor behind the query", func(string) bool {
		x, y, visible := screen.Cursor()
		return visible && strings.HasSuffix(string([]rune(screen.Line(y))[:x]), "standby drain")
	})
	screen.Press("enter")
	screen.Wait("the focus to leave the query", func(string) bool {
		_, _, visible := screen.Cursor()
		return !visible
	})
	screen.Press("enter", "q")
	if err := screen.WaitEnd(); err != nil {
		t.Errorf("the shell ended with %v", err)
	}
	screen.RequireRestored()
	if got, want := strings.TrimSpace(screen.Text()), "before\nexit 0"; got != want {
		t.Errorf("the shell's screen is\n%s\nwant\n%s", got, want)
	}
}

func TestExplorerEndsOnSignals(t *testing.T) {
	t.Parallel()
	signals := []os.Signal{syscall.SIGTERM, os.Interrupt}
	if signal.Ignored(syscall.SIGHUP) {
		t.Log("SIGHUP is not tried: these tests run under nohup, and so does what they start")
	} else {
		signals = append(signals, syscall.SIGHUP)
	}
	for _, signal := range signals {
		screen := newHome(t).explore(usual(), "--sample", "roll back")
		screen.WaitText(found)
		screen.Signal(signal)
		var exit *exec.ExitError
		if err := screen.WaitEnd(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("%v: it ended with %v", signal, err)
		}
		screen.RequireRestored()
	}
}

func TestExplorerInTerminalsWithoutRoom(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 0}, {1, 1}, {0, 40}, {120, 0}, {19, 3}} {
		screen := newHome(t).explore(screentest.Options{Width: size[0], Height: size[1]}, "--sample", "roll back")
		screen.Wait("the program to take the terminal", func(string) bool { return screen.Modes().AltScreen })
		screen.Resize(120, 40)
		screen.WaitText(found)
		screen.Resize(size[0], size[1])
		screen.Press("ctrl+c")
		if err := screen.WaitEnd(); err != nil {
			t.Errorf("%v: it ended with %v", size, err)
		}
		screen.RequireRestored()
	}
}

func TestExplorerComesBackFromResizes(t *testing.T) {
	t.Parallel()
	screen := newHome(t).explore(usual(), "--sample", "roll back")
	screen.Wait("the end of the search", regexp.MustCompile(`· \d+ ms`).MatchString)
	screen.Press("down", "down", "down")
	screen.WaitText("▌ 4  ")
	before := listOf(screen.Text())
	for i := range 30 {
		screen.Resize(119-3*i, 39-i)
	}
	screen.Resize(120, 40)
	screen.Wait("the list of before the resizes:\n"+before, func(now string) bool { return listOf(now) == before })
	screen.Press("ctrl+c")
	screen.RequireRestored()
}

// listOf is the left side of a wide screen: the reader beside it may still be rendering.
func listOf(screen string) string {
	var left strings.Builder
	for line := range strings.Lines(screen) {
		left.WriteString(strings.TrimRight(string([]rune(line)[:min(50, len([]rune(line)))]), " \n") + "\n")
	}
	return left.String()
}

// raw keeps all that a program writes.
type raw struct {
	mu     sync.Mutex
	output bytes.Buffer
}

func (r *raw) tap(output []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.output.Write(output)
}

func (r *raw) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.output.String()
}

func TestDumbTerminalsGetPrint(t *testing.T) {
	t.Parallel()
	var written raw
	options := usual()
	options.Env, options.Tap = []string{"TERM=dumb"}, written.tap
	screen := newHome(t).explore(options, "--sample", "roll back")
	if err := screen.WaitEnd(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if !strings.Contains(written.String(), "rolling back a release") {
		t.Errorf("nothing was found:\n%s", written.String())
	}
	if strings.ContainsRune(written.String(), '\x1b') {
		t.Errorf("escape sequences were written: %q", written.String())
	}
}

// colours finds sequences that set a colour: 30 to 49 and 90 to 107, but for the defaults 39 and 49.
func colours(output string) (found []string) {
	for _, sequence := range regexp.MustCompile(`\x1b\[([0-9;:]*)m`).FindAllStringSubmatch(output, -1) {
		for parameter := range strings.SplitSeq(sequence[1], ";") {
			if regexp.MustCompile(`^([34][0-8](:.*)?|9[0-7]|10[0-7])$`).MatchString(parameter) {
				found = append(found, sequence[0])
			}
		}
	}
	return found
}

func TestNoColourIsHonoured(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{true, false} {
		var written raw
		options := usual()
		options.Tap = written.tap
		if !wanted {
			options.Env = []string{"NO_COLOR=1"}
		}
		screen := newHome(t).explore(options, "--sample", "roll back")
		screen.WaitText(found)
		screen.Press("down", "enter", "ctrl+c")
		if err := screen.WaitEnd(); err != nil {
			t.Errorf("it ended with %v", err)
		}
		if got := colours(written.String()); (len(got) > 0) != wanted {
			t.Errorf("with colours %t: %q", wanted, got)
		}
	}
}
