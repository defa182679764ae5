// Package e2e tests the program as a person or a script runs it. Most command lines run inside of the test, with a folder,
// an environment and streams of their own (home.run, and the scripts in testdata/script). What only the system can show,
// such as signals, closed streams, terminals and kills, is tried with processes of the built binary (home.command).
//
// With QUARRY_SLOW set, as make test-all does, the suites that are shortened elsewhere run in full.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"quarry/internal/testkit/filetest"
	"quarry/internal/testkit/longtest"
	"quarry/ui"
	"quarry/ui/target"
)

// buildFolder holds the built program.
var buildFolder string

func TestMain(m *testing.M) {
	// A command that runs inside of a test starts the test's binary where the program starts itself, for PDF files.
	if len(os.Args) > 1 && os.Args[1] == target.ReadersCommand {
		os.Exit(ui.Run(context.Background(), ui.Process{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Arguments: os.Args[1:]}))
	}
	os.Exit(func() int {
		var err error
		if buildFolder, err = os.MkdirTemp("", "quarry-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(buildFolder)
		return m.Run()
	}())
}

// binary returns the path of the program, which is built when a test first needs a process of it. The test's own binary
// would need no second link, but cannot stand in for main.go.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(buildFolder, "quarry")
	// Unlike go build, go run keeps the linked program in its cache: 0.6 s of processor time instead of 2.9.
	command := exec.Command("go", "run", "-ldflags=-s -w", "-buildvcs=false", "-exec=cp", "../..", path)
	if runtime.GOOS == "windows" { // has no cp
		path += ".exe"
		command = exec.Command("go", "build", "-ldflags=-s -w", "-buildvcs=false", "-o", path, "../..")
	}
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)))
	}
	return path, nil
})

// onlySlow skips a test of which another one is the short form.
func onlySlow(t *testing.T, short string) {
	t.Helper()
	if !longtest.Enabled() {
		t.Skipf("NOT TRIED: for make test-all (QUARRY_SLOW); %s is the short form", short)
	}
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
		"QUARRY_EMBEDDINGS_MODE=off",
	}
}

func (h home) library() string { return filepath.Join(h.dir, "library") }

// pdfEngine has the home keep the engine for PDF files where all tests do, and returns the folder.
func (h home) pdfEngine() string {
	h.t.Helper()
	shared, err := filetest.PDFEngine()
	if err != nil {
		h.t.Fatal(err)
	}
	own := filepath.Join(h.dir, "cache", "quarry", "pdf")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Symlink(shared, own); err != nil { // a system without links compiles it anew
		return own
	}
	return shared
}

// command returns a process of the built program.
func (h home) command(ctx context.Context, args ...string) *exec.Cmd {
	h.t.Helper()
	c := exec.CommandContext(ctx, binary(h.t), args...)
	c.Env = h.environ()
	return c
}

// outcome is how a run ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// process is run as a process of the built program.
func (h home) process(stdin string, args ...string) outcome {
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

// timed runs a command that has to succeed as a process, and returns how long that took.
func (h home) timed(args ...string) time.Duration {
	h.t.Helper()
	start := time.Now()
	if o := h.process("", args...); o.code != 0 {
		h.t.Fatalf("%v: exit %d\n%s\n%s", args, o.code, o.stderr, o.stdout)
	}
	return time.Since(start)
}

// run runs a command line inside of this process, in the folder of the home.
func (h home) run(stdin string, args ...string) outcome {
	return runInside(h.t.Context(), h.inside(args...), stdin)
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

// inside returns what ui.Run needs besides its streams.
func (h home) inside(args ...string) ui.Process {
	executable, _ := os.Executable()
	return ui.Process{Arguments: args, Env: h.environ(), Dir: h.dir, TempDir: h.dir, Version: "development", Executable: executable}
}

// runInside runs a command line with pipes for its streams, as a script does. A stream that is set already is kept.
func runInside(ctx context.Context, process ui.Process, stdin string) (o outcome) {
	var input sync.WaitGroup
	if process.In == nil {
		near, far := pipe()
		process.In = near
		input.Go(func() { // a command that reads nothing closes the near end first
			_, _ = io.WriteString(far, stdin)
			_ = far.Close()
		})
	}
	var outputs []func() string
	for _, stream := range []**os.File{&process.Out, &process.Err} {
		read := func() string { return "" }
		if *stream == nil {
			*stream, read = collect()
		}
		outputs = append(outputs, read)
	}
	o.code = ui.Run(ctx, process)
	_ = process.In.Close()
	input.Wait()
	o.stdout, o.stderr = outputs[0](), outputs[1]()
	return o
}

func pipe() (near, far *os.File) {
	near, far, err := os.Pipe()
	if err != nil {
		panic(err) // too many open files
	}
	return near, far
}

// collect returns the end of a pipe to write to, and what closes it and returns all that was written.
func collect() (far *os.File, written func() string) {
	near, far := pipe()
	var all []byte
	var reading sync.WaitGroup
	reading.Go(func() {
		all, _ = io.ReadAll(near)
		_ = near.Close()
	})
	return far, func() string {
		_ = far.Close()
		reading.Wait()
		return string(all)
	}
}

func (h home) write(name, content string) {
	h.t.Helper()
	path := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
}
