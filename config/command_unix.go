//go:build unix

package config

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand puts the command into a process group of its own, so that all of a pipe ends when its time is over.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}
