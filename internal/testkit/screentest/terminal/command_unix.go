//go:build unix

package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"
)

// Command is a program of its own process behind a terminal.
type Command struct {
	*Terminal
	cmd           *exec.Cmd
	master, slave *os.File
	before, after *term.State
	input, output sync.WaitGroup
	done          chan struct{}
	err           error
}

// Run starts a command behind a terminal. Close ends both. The command's environment is left as it is, but for TERM and
// COLORTERM where it has none.
func Run(cmd *exec.Cmd, options Options) (*Command, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	c := &Command{Terminal: New(options), cmd: cmd, master: master, slave: slave, done: make(chan struct{})}
	if err := c.start(options); err != nil {
		c.Terminal.Close()
		return nil, errors.Join(err, slave.Close(), master.Close())
	}
	c.output.Go(c.copyOutput)
	c.input.Go(func() { _, _ = io.Copy(c.master, c.Terminal.Input()) })
	go c.wait()
	return c, nil
}

func (c *Command) start(options Options) (err error) {
	if err := c.setSize(options.Width, options.Height); err != nil {
		return err
	}
	if c.before, err = term.GetState(int(c.slave.Fd())); err != nil {
		return fmt.Errorf("read the terminal's settings: %w", err)
	}
	if c.cmd.Env == nil {
		c.cmd.Env = os.Environ()
	}
	// The last entry of a name counts: what the caller set stays.
	c.cmd.Env = append([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, c.cmd.Env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.slave, c.slave, c.slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.cmd.Path, err)
	}
	return nil
}

// copyOutput ends when nobody has the terminal open any more.
func (c *Command) copyOutput() {
	buffer := make([]byte, 64*1024)
	for {
		n, err := c.master.Read(buffer)
		if n > 0 {
			_, _ = c.Terminal.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// wait holds the terminal open until the command has ended, so that its settings can be read then, and lets it go, so
// that the last of its output is read to the end.
func (c *Command) wait() {
	c.err = c.cmd.Wait()
	c.after, _ = term.GetState(int(c.slave.Fd()))
	_ = c.slave.Close()
	c.output.Wait()
	c.End()
	close(c.done)
}

func (c *Command) setSize(width, height int) error {
	err := pty.Setsize(c.master, &pty.Winsize{Cols: uint16(max(0, width)), Rows: uint16(max(0, height))})
	if err != nil {
		return fmt.Errorf("set the terminal's size: %w", err)
	}
	return nil
}

// Resize changes the size of the window; the kernel signals the program.
func (c *Command) Resize(width, height int) error {
	c.Terminal.Resize(width, height)
	return c.setSize(width, height)
}

// Signal sends a signal to the program.
func (c *Command) Signal(signal os.Signal) error { return c.cmd.Process.Signal(signal) }

// Pid is the number of the process.
func (c *Command) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the program has ended and everything that it wrote is on the screen.
func (c *Command) Done() <-chan struct{} { return c.done }

// Err is how the program ended; it waits for that.
func (c *Command) Err() error {
	<-c.done
	return c.err
}

// Restored reports whether the program left the settings of the terminal line (echo, line editing, signals) as it found
// them. It waits for the end of the program.
func (c *Command) Restored() bool {
	<-c.done
	return c.after != nil && reflect.DeepEqual(c.before, c.after)
}

// Close kills the program if it still runs, and closes the terminal.
func (c *Command) Close() {
	select {
	case <-c.done:
	default:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	c.Terminal.Close()
	c.input.Wait()
	_ = c.master.Close()
}
