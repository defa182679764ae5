package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// asMeter is the argument with which the test's program runs another one and says how much memory that took.
const asMeter = "measure-memory"

func init() {
	if len(os.Args) > 2 && os.Args[1] == asMeter {
		os.Exit(meter(os.Args[2], os.Args[3:]))
	}
}

// memory runs a command, and returns the most memory in KB that it or a process that it started had. Until a new process
// runs its program it has the memory of the one that started it, which Linux counts: so a small process starts it.
func (h home) memory(ctx context.Context, stdout, stderr io.Writer, args ...string) (int, error) {
	h.t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		h.t.Fatal(err)
	}
	defer read.Close()
	c := exec.CommandContext(ctx, os.Args[0], append([]string{asMeter, binary(h.t)}, args...)...)
	c.Env, c.Stdout, c.Stderr, c.ExtraFiles = h.environ(), stdout, stderr, []*os.File{write}
	err = c.Run()
	_ = write.Close()
	var used int
	if _, wrong := fmt.Fscan(read, &used); wrong != nil {
		h.t.Errorf("the memory was not measured: %v", wrong)
	}
	return used, err
}

// meter runs a program, and writes to the file that it was given how much memory it took.
func meter(program string, args []string) (code int) {
	runtime.LockOSThread() // with whose end the program would be killed
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr, c.SysProcAttr = os.Stdout, os.Stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := c.Run()
	if c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.NewFile(3, "meter"), c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	return c.ProcessState.ExitCode()
}
