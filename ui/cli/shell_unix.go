//go:build !windows

package cli

import "os/exec"

// ShellCommand returns what runs a command line of a person, such as $EDITOR, with arguments after its own. The shell
// reads it, as it does for git and man.
func ShellCommand(line string, arguments ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", line + ` "$@"`, line}, arguments...)...)
}
