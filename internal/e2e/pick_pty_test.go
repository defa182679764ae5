//go:build unix

package e2e

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"quarry/internal/testkit/screentest"
)

// pick runs quarry --pick in a shell whose pipes are its standard streams, and prints what came out of it.
func (h home) pick(arguments ...string) *screentest.Screen {
	h.t.Helper()
	script := `chosen=$(echo ignored | "$0" --pick "$@" 2>errors; echo "exit $?"); echo "$chosen"; cat errors`
	command := h.detached("sh", append([]string{"-c", script, binary(h.t)}, arguments...)...)
	command.Dir = h.dir
	return screentest.StartCommand(h.t, command, usual())
}

// leaves waits for the shell's end and returns what it printed.
func leaves(t *testing.T, screen *screentest.Screen) string {
	t.Helper()
	if err := screen.WaitEnd(); err != nil {
		t.Errorf("the shell ended with %v", err)
	}
	screen.RequireRestored()
	return strings.TrimSpace(screen.Text())
}

func TestPickPrintsThePassageThatIsChosen(t *testing.T) {
	t.Parallel()
	screen := newHome(t).pick("--sample", "-o", "citation", "roll back")
	screen.WaitText(found)
	screen.WaitText("↵ choose")
	screen.Press("tab", "tab")
	screen.WaitText("● 2 marked")
	screen.Press("enter")
	if got := leaves(t, screen); !regexp.MustCompile(`(?s)^\[1\] \[?Runbook: rolling back a release.*\n\[2\] .*\nexit 0$`).MatchString(got) {
		t.Errorf("printed %q", got)
	}
}

func TestPickIsLeft(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"q", "ctrl+c", "esc"} {
		screen := newHome(t).pick("--sample", "roll back")
		screen.WaitText("↵ choose")
		screen.Wait("the end of the search, which esc would stop", regexp.MustCompile(`documents · [\d.]+ m?s`).MatchString)
		screen.Press(key)
		if got := leaves(t, screen); got != "exit 130" {
			t.Errorf("%q: printed %q", key, got)
		}
	}
}

func TestPickPrintsPathsOfALibrary(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	docs := filepath.Join(h.dir, "docs")
	if err := os.MkdirAll(docs, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"taxi rules.md": "# Taxi\n\nTaxis need a receipt.\n",
		"post.jsonl": `{"id":"posted","semantic_identifier":"Posted","sections":[{"text":"hotels need a receipt"}],"source":"web","metadata":{}}` + "\n"} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.must("add", docs)
	screen := h.pick("-o", "path", "hotels")
	screen.WaitText("Posted")
	screen.WaitText("↵ choose")
	screen.Press("enter")
	screen.WaitText("not a file on this machine; -o link prints its link: Posted")
	screen.Press("/", "ctrl+u")
	screen.Type("taxis")
	screen.WaitText("Taxis need")
	screen.Press("enter")
	screen.WaitText("↵ choose")
	screen.Press("enter")
	if got, want := leaves(t, screen), filepath.Join(docs, "taxi rules.md")+"\nexit 0"; strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestPickWithoutPaths(t *testing.T) {
	t.Parallel()
	got := leaves(t, newHome(t).pick("--sample", "-o", "path"))
	if !strings.HasPrefix(got, "exit 9\nerror: the documents of the sample library are not files on this machine\nhint: ") ||
		!strings.Contains(got, "-o link") {
		t.Errorf("printed %q", got)
	}
}

func TestPickNeedsATerminal(t *testing.T) {
	t.Parallel()
	c := newHome(t).command(t.Context(), "--pick", "--sample", "roll back")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.Env = append(c.Env, "TERM=xterm-256color")
	var exit *exec.ExitError
	if err := c.Run(); !errors.As(err, &exit) || exit.ExitCode() != 2 || stdout.Len() > 0 ||
		!strings.HasPrefix(stderr.String(), "error: --pick needs a terminal: ") || !strings.Contains(stderr.String(), "\nhint: ") {
		t.Errorf("%v, %q, %q", err, stdout.String(), stderr.String())
	}
}
