package config

import (
	"context"
	"io/fs"
	"os/exec"
	"syscall"
)

// factsOf assumes that others have no access: the user's own folders are closed to them by inherited rights, which file
// modes do not show.
func factsOf(_ string, info fs.FileInfo) fileFacts { return fileFacts{mode: info.Mode()} }

func isNotDirectory(error) bool { return false }

// shellCommand hands the line to cmd as it is: cmd does not read the quoting that Go would add.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "cmd")
	command.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /d /s /c "` + line + `"`}
	return command
}
