package config

import (
	"context"
	"os/exec"
	"syscall"
)

// shellCommand hands the line to cmd as it is: cmd does not read the quoting that Go would add.
func shellCommand(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "cmd")
	command.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /d /s /c "` + line + `"`}
	return command
}
