// Docs writes the reference of all commands from what the built program says of itself:
//
//	docs BINARY > docs/commands.md
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: docs BINARY > docs/commands.md")
	}
	fmt.Print("# Commands\n\nMade by `make docs` from `quarry help`; edit the help, not this file.\n\n" +
		"Every command also takes the global flags of [quarry](#quarry) and uses its exit codes; `quarry COMMAND --help` lists them.\n")
	if err := document(os.Args[1], nil); err != nil {
		log.Fatal(err)
	}
}

// document prints what a command's help says, and that of every command below it. Global flags and exit codes stand at
// the first command only.
func document(binary string, path []string) error {
	command := exec.Command(binary, append(append([]string{}, path...), "--help")...)
	command.Env = []string{"HOME=/nonexistent", "TERM=dumb"}
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s %s --help: %w", binary, strings.Join(path, " "), err)
	}
	fmt.Printf("\n## %s\n\n%s", strings.Join(append([]string{"quarry"}, path...), " "), markdown(string(output), len(path) == 0))
	for _, name := range commands(string(output)) {
		if err := document(binary, append(append([]string{}, path...), name)); err != nil {
			return err
		}
	}
	return nil
}

// markdown rewrites a help text: prose as text under a bold title, usage, flags and examples as code.
func markdown(help string, first bool) string {
	var text strings.Builder
	for i, section := range strings.Split(strings.TrimSpace(help), "\n\n") {
		title, body, isTitled := strings.Cut(section, ":\n")
		switch {
		case i == 0:
			fmt.Fprintf(&text, "%s.\n", section)
		case !isTitled || strings.Contains(title, "\n"):
			fmt.Fprintf(&text, "\n%s\n", unindented(section))
		case title == "Purpose":
			fmt.Fprintf(&text, "\n%s\n", unindented(body))
		case title == "When not to use it" || title == "Output":
			fmt.Fprintf(&text, "\n**%s:** %s\n", title, unindented(body))
		case title == "Commands" || !first && (title == "Global flags" || title == "Exit codes"):
		default:
			if lines := code(title, body); lines != "" {
				fmt.Fprintf(&text, "\n%s", lines)
			}
		}
	}
	return text.String()
}

func unindented(body string) string {
	return strings.TrimPrefix(strings.ReplaceAll(body, "\n  ", "\n"), "  ")
}

// code renders a section as a block of code, without the flag that every command has.
func code(title, body string) string {
	var lines []string
	for _, line := range strings.Split(body, "\n") {
		if !strings.Contains(line, "-h, --help ") {
			lines = append(lines, "    "+strings.TrimPrefix(line, "  "))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	if title == "Usage" || title == "Examples" {
		title = ""
	}
	if title != "" {
		title = "**" + title + ":**\n\n"
	}
	return title + strings.Join(lines, "\n") + "\n"
}

// commands lists what stands under "Commands:".
func commands(help string) (names []string) {
	_, list, found := strings.Cut(help, "\nCommands:\n")
	if !found {
		return nil
	}
	for _, line := range strings.Split(list, "\n") {
		name, _, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(line, "  ") || !ok {
			break
		}
		names = append(names, name)
	}
	return names
}
