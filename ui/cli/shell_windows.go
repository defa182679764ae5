package cli

import (
	"cmp"
	"os/exec"

	"quarry/internal/text"
)

// ShellCommand returns what runs a command line of a person, such as %EDITOR%, with arguments after its own. It is
// split at spaces outside of quotation marks.
func ShellCommand(line string, arguments ...string) *exec.Cmd {
	words, err := text.CommandWords(line)
	if len(words) == 0 {
		words = []string{""}
	}
	command := exec.Command(words[0], append(words[1:], arguments...)...)
	command.Err = cmp.Or(err, command.Err)
	return command
}
