package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// help is what a command says about itself, for a person and for a model alike.
type help struct {
	short    string   // one line, without a full stop
	purpose  string   // what it is for
	not      string   // when to use something else
	output   string   // what is printed
	exits    []int    // codes beside 0, 1, 2 and 130
	examples []string // commands that run as they stand
}

// document gives a command its help.
func (a *app) document(command *cobra.Command, text help) {
	command.Short = text.short
	command.DisableFlagsInUseLine = true
	command.SetHelpFunc(func(command *cobra.Command, _ []string) {
		_ = a.print([]byte(helpText(command, text))) // a closed pipe is all that can fail
	})
}

// help prints a command's own help.
func (a *app) help(command *cobra.Command) error {
	return command.Help()
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [command]",
		Short:  "print the help of a command",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			found, rest, err := command.Root().Find(arguments)
			if err != nil || len(rest) > 0 {
				return usage("See: quarry --help", "there is no command %q", strings.Join(arguments, " "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func helpText(command *cobra.Command, h help) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s.\n\nUsage:\n  %s\n", command.CommandPath(), h.short, usageLine(command))
	section := func(title, body string) {
		if body != "" {
			fmt.Fprintf(&text, "\n%s:\n%s\n", title, indented(body))
		}
	}
	section("Purpose", h.purpose)
	section("When not to use it", h.not)
	section("Output", h.output)
	if command.HasAvailableSubCommands() {
		section("Commands", commandList(command))
	}
	if flags := command.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		section("Flags", strings.Trim(flags.FlagUsagesWrapped(helpWidth), "\n"))
	}
	global := command.InheritedFlags()
	if !command.HasParent() {
		global = command.PersistentFlags()
	}
	section("Flags of every command", strings.Trim(global.FlagUsagesWrapped(helpWidth), "\n"))
	section("Exit codes", exitCodeList(h.exits))
	section("Examples", strings.Join(h.examples, "\n"))
	return text.String()
}

const helpWidth = 110

func usageLine(command *cobra.Command) string {
	if command.HasParent() {
		return command.Parent().CommandPath() + " " + command.Use
	}
	return command.Use + "\n  quarry <command> [arguments]"
}

func indented(body string) string {
	lines := strings.Split(body, "\n")
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, "  ") {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

func commandList(command *cobra.Command) string {
	var lines []string
	for _, child := range command.Commands() {
		if !child.Hidden {
			lines = append(lines, fmt.Sprintf("%-16s %s", child.Name(), child.Short))
		}
	}
	return strings.Join(lines, "\n")
}

func exitCodeList(special []int) string {
	codes := append([]int{ExitSuccess, ExitGeneral, ExitUsage}, special...)
	codes = append(codes, ExitInterrupted)
	var lines []string
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("%-4d %s", code, exitMeaning(code)))
	}
	return strings.Join(lines, "\n")
}

func exitMeaning(code int) string {
	switch code {
	case ExitSuccess:
		return "success, also when nothing was found"
	case ExitGeneral:
		return "failed for another reason"
	case ExitUsage:
		return "bad request or usage"
	case ExitNotConfigured:
		return "not configured"
	case ExitAuth:
		return "the token is missing, wrong, expired or not enough"
	case ExitUnreachable:
		return "the server cannot be reached"
	case ExitRateLimited:
		return "too many requests; wait"
	case ExitTimeout:
		return "no answer in time"
	case ExitServer:
		return "the server failed"
	case ExitNotAvailable:
		return "not there: document, agent, library or route"
	}
	return "interrupted"
}

// remoteExits are the codes of commands that talk to a server.
func remoteExits() []int {
	return []int{ExitNotConfigured, ExitAuth, ExitUnreachable, ExitRateLimited, ExitTimeout, ExitServer, ExitNotAvailable}
}
