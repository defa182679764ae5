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
	fmt.Print("# Commands\n\nMade by `make docs` from `quarry help`; edit the help, not this file.\n")
	if err := document(os.Args[1], nil); err != nil {
		log.Fatal(err)
	}
}

// document prints the help of a command and of every command below it.
func document(binary string, path []string) error {
	command := exec.Command(binary, append(append([]string{}, path...), "--help")...)
	command.Env = []string{"HOME=/nonexistent", "TERM=dumb"}
	help, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s %s --help: %w", binary, strings.Join(path, " "), err)
	}
	fmt.Printf("\n## %s\n\n```\n%s\n```\n", strings.Join(append([]string{"quarry"}, path...), " "),
		strings.TrimSpace(string(help)))
	for _, name := range commands(string(help)) {
		if err := document(binary, append(append([]string{}, path...), name)); err != nil {
			return err
		}
	}
	return nil
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
