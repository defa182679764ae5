// Package e2e tests the built binary as a person or a script runs it.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// binary is the program under test, built once for the whole package.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "quarry-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "quarry")
		if runtime.GOOS == "windows" {
			binary += ".exe"
		}
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../..")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// home is a person's folders, empty at first.
type home struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T) home {
	t.Helper()
	return home{t, t.TempDir()}
}

// environ leaves nothing of the caller's own configuration in reach.
func (h home) environ() []string {
	return []string{
		"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + h.dir, "TEMP=" + h.dir, "TMP=" + h.dir,
		"SystemRoot=" + os.Getenv("SystemRoot"), "XDG_CONFIG_HOME=" + filepath.Join(h.dir, "config"),
		"XDG_DATA_HOME=" + filepath.Join(h.dir, "data"), "XDG_STATE_HOME=" + filepath.Join(h.dir, "state"),
		"XDG_CACHE_HOME=" + filepath.Join(h.dir, "cache"), "QUARRY_HOME=" + h.library(),
	}
}

func (h home) library() string { return filepath.Join(h.dir, "library") }

func (h home) command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = h.environ()
	return c
}

// outcome is how a run ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func (h home) run(stdin string, args ...string) outcome {
	h.t.Helper()
	c := h.command(h.t.Context(), args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatalf("run %v: %v", args, err)
	}
	return outcome{c.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a command that has to succeed and returns its standard output.
func (h home) must(args ...string) string {
	h.t.Helper()
	o := h.run("", args...)
	if o.code != 0 {
		h.t.Fatalf("%v: exit %d\n%s\n%s", args, o.code, o.stderr, o.stdout)
	}
	return o.stdout
}
