//go:build unix

package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

func factsOf(path string, info fs.FileInfo) fileFacts {
	facts := fileFacts{mode: info.Mode(), othersRead: info.Mode().Perm()&0o044 != 0}
	facts.othersWrite = othersCanWrite(info)
	// A link is followed: what counts is where the file lies.
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	folder, err := os.Stat(filepath.Dir(path))
	if err != nil || (othersCanWrite(folder) && folder.Mode()&fs.ModeSticky == 0) {
		facts.othersWrite = true
	}
	return facts
}

func othersCanWrite(info fs.FileInfo) bool {
	if info.Mode().Perm()&0o022 != 0 {
		return true
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	return ok && owner.Uid != 0 && int(owner.Uid) != os.Geteuid()
}

// isNotDirectory: a part of the path is a file, so what it would lead to is not there either.
func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// shellCommand puts the command into a process group of its own, so that all of a pipe ends when its time is over.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}
