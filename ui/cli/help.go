package cli

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
	"go.mau.fi/util/exslices"

	"quarry/config"
	"quarry/internal/guard"
)

// helpFiles hold the prose of every command: "# quarry search", a line "exits: 3 9" or "exits: remote", and the
// sections.
//
//go:embed help/*.txt
var helpFiles embed.FS

const (
	sshHelp   = "ssh" // the entry of the root command over SSH
	helpWidth = 110   // columns of lists of flags
)

// helpEntry is the prose of one command.
type helpEntry struct {
	sections string // each with its title, without the examples
	exits    []int  // other codes than 0, 1, 2 and 130
	examples string
}

// lookupHelp returns the prose of the command with this path. A test checks that every command has some.
func lookupHelp(path string) helpEntry {
	files, _ := helpFiles.ReadDir("help") // an embedded folder can be read
	for _, file := range files {
		text, _ := helpFiles.ReadFile("help/" + file.Name())
		_, entry, found := strings.Cut("\n"+string(text), "\n# "+path+"\n")
		if !found {
			continue
		}
		entry, _, _ = strings.Cut(entry, "\n# ")
		sections, examples, _ := strings.Cut(strings.TrimSpace(entry), "\nExamples:\n")
		var exits []int
		if rest, ok := strings.CutPrefix(sections, "exits: "); ok {
			codes, after, _ := strings.Cut(rest, "\n")
			exits, sections = parseExits(codes), after
		}
		return helpEntry{strings.TrimSpace(sections), exits, examples}
	}
	return helpEntry{}
}

// parseExits reads a list of exit codes; "remote" stands for those of commands that talk to a server.
func parseExits(text string) []int {
	if text == "remote" {
		return []int{ExitNotConfigured, ExitAuth, ExitUnreachable, ExitRateLimited, ExitTimeout, ExitServer,
			ExitNotAvailable}
	}
	return exslices.CastFuncFilter(strings.Fields(text), func(field string) (int, bool) {
		code, err := strconv.Atoi(field)
		return code, err == nil
	})
}

func (a *app) helpCommand() *cobra.Command {
	var command *cobra.Command
	is := traits{class: reads, guests: true, arguments: offerHelp}
	command = a.newCommand("help [COMMAND]…", "Print the help of a command or topic",
		is, func(_ context.Context, arguments []string) {
			if topic := topicText(strings.Join(arguments, " ")); topic != "" {
				a.print(topic)
				return
			}
			found, rest, err := command.Root().Find(arguments)
			if err != nil || len(rest) > 0 {
				refuse("See: quarry --help", "unknown command or topic %q", strings.Join(arguments, " "))
			}
			found.InitDefaultHelpFlag()
			guard.Check(found.Help())
		})
	command.Hidden = true
	return command
}

func (a *app) helpText(command *cobra.Command) string {
	path := command.CommandPath()
	if a.program.Guest && !command.HasParent() {
		path = sshHelp
	}
	entry := lookupHelp(path)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", command.Short, usageLine(command))
	section := func(title, body string) {
		if body != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", title, indented(body))
		}
	}
	for part := range strings.SplitSeq(entry.sections, "\n\n") {
		if title, body, isTitle := strings.Cut(part, ":\n"); isTitle && !strings.Contains(title, "\n") {
			section(title, body)
		} else {
			fmt.Fprintf(&b, "\n%s\n", indented(part))
		}
	}
	if command.HasAvailableSubCommands() {
		section("Commands", commandList(command))
	}
	if !command.HasParent() && !a.program.Guest {
		section("Help topics", topicList())
	}
	if flags := command.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		section("Flags", strings.Trim(flags.FlagUsagesWrapped(helpWidth), "\n"))
	}
	global := command.InheritedFlags()
	if !command.HasParent() {
		global = command.PersistentFlags()
	}
	section("Global flags", strings.Trim(global.FlagUsagesWrapped(helpWidth), "\n"))
	section("Exit codes", exitCodeList(entry.exits))
	section("Examples", entry.examples)
	return b.String()
}

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
	return strings.Join(exslices.CastFuncFilter(command.Commands(), func(child *cobra.Command) (string, bool) {
		return fmt.Sprintf("%-16s %s", child.Name(), child.Short), !child.Hidden
	}), "\n")
}

func exitCodeList(special []int) string {
	return strings.Join(exslices.CastFunc(exitCodes(special), func(code int) string {
		return fmt.Sprintf("%-4d %s", code, exitMeaning(code))
	}), "\n")
}

// exitCodes adds the codes of every command to the other ones.
func exitCodes(special []int) []int {
	return slices.Concat([]int{ExitSuccess, ExitGeneral, ExitUsage}, special, []int{ExitInterrupted})
}

func exitMeaning(code int) string {
	return map[int]string{
		ExitSuccess:       "success, including a search without results",
		ExitGeneral:       "any other failure",
		ExitUsage:         "bad request or usage",
		ExitNotConfigured: "not configured",
		ExitAuth:          "authentication failed, or the token lacks permission",
		ExitUnreachable:   "server unreachable",
		ExitRateLimited:   "rate limited",
		ExitTimeout:       "timeout",
		ExitServer:        "server error",
		ExitNotAvailable:  "not found or not available: document, agent, library or route",
		ExitInterrupted:   "interrupted",
	}[code]
}

func (a *app) manCommand() *cobra.Command {
	return a.newCommand("man", "Print the manual page", traits{class: reads}, a.printManual)
}

// printManual prints the page of all commands. A command's own prose stays in its --help.
func (a *app) printManual(context.Context, []string) {
	root := a.command.Root()
	entry := lookupHelp(root.CommandPath())
	purpose, _, _ := strings.Cut(strings.TrimPrefix(entry.sections, "Purpose:\n"), "\n\nWhen not to use it:")
	root.Long = strings.NewReplacer("\n\n", "\n", "\n", " ").Replace(purpose)
	page := guard.Must(mango.NewManPage(1, root))
	page = page.WithSection("Exit status", exitCodeList(parseExits("remote"))).WithSection("Examples", entry.examples)
	a.print(page.Build(roff.NewDocument()))
}

//go:embed help/topics/*.txt
var topicFiles embed.FS

// helpTopics are the subjects of help beside the commands, with a line about each.
func helpTopics() [][2]string {
	return [][2]string{{"configuration", "Keys of the configuration file"}, {"environment", "Environment variables"},
		{"exit-codes", "Exit codes"}, {"query", "The query language"}}
}

// topicText returns the help of a subject; "" for an unknown one.
func topicText(name string) string {
	written, err := topicFiles.ReadFile("help/topics/" + name + ".txt")
	if err != nil {
		return ""
	}
	switch name {
	case "exit-codes":
		return fmt.Sprintf(string(written), exitCodeList(parseExits("remote"))+"\n")
	case "configuration":
		var b strings.Builder
		for _, key := range config.Keys() {
			fmt.Fprintf(&b, "%s\n    %s\n    Value: %s", key.Path, key.About, key.Values)
			if key.Default != "" {
				fmt.Fprintf(&b, " (default: %s)", key.Default)
			}
			b.WriteString("\n")
		}
		return fmt.Sprintf(string(written), strings.TrimSuffix(b.String(), "\n"))
	}
	return string(written)
}

func topicList() string {
	return strings.Join(exslices.CastFunc(helpTopics(), func(topic [2]string) string {
		return fmt.Sprintf("%-16s %s", topic[0], topic[1])
	}), "\n")
}
