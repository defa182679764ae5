// Docs writes the reference of all commands from what the built program says of itself:
//
//	docs BINARY > docs/commands.md
//	docs > docs/configuration.md          the keys of the configuration file
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"

	"quarry/config"
	"quarry/ui/cli"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 1 {
		fmt.Print(configuration())
		return
	}
	if len(os.Args) != 2 {
		log.Fatal("usage: docs [BINARY]")
	}
	fmt.Print("# Commands\n\nMade by `make docs` from `quarry help`; edit the help, not this file.\n\n" +
		"Every command also takes the global flags of [quarry](#quarry) and uses its exit codes; `quarry COMMAND --help` lists them.\n")
	if err := document(os.Args[1], nil); err != nil {
		log.Fatal(err)
	}
	if err := topics(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// topics prints the subjects of help beside the commands. The keys of the configuration have a page of their own.
func topics(binary string) error {
	help, err := exec.Command(binary, "--help").Output()
	if err != nil {
		return err
	}
	for _, name := range listed(string(help), "Help topics") {
		if name == "configuration" {
			continue
		}
		text, err := exec.Command(binary, "help", name).Output()
		if err != nil {
			return fmt.Errorf("%s help %s: %w", binary, name, err)
		}
		title, body, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		fmt.Printf("\n## %s\n\n    $ quarry help %s\n\n    %s\n", title, name, strings.ReplaceAll(strings.TrimSpace(body), "\n", "\n    "))
	}
	return nil
}

// configuration returns a table of the keys of the file.
func configuration() string {
	var text strings.Builder
	text.WriteString("# Configuration\n\nMade by `make docs` from the keys that quarry knows.\n\n" +
		"    $ quarry config path\n    /home/jo/.config/quarry/config.yaml\n    $ quarry config set theme dark\n    $ quarry config list\n\n" +
		"The file is YAML: `profiles.work.server_url` is `server_url` below `work` below `profiles`. A variable of the environment\n" +
		"overrides its key. Secrets are read from standard input (`pass show onyx | quarry config set profiles.work.token`), and\n" +
		"`config get` masks them. `QUARRY_READONLY` refuses changes. Without a terminal only `theme`, `keys`, `age_warning`, `instant`, `fast` and\n" +
		"`private` are changed, unless `QUARRY_ALLOW_CONFIG=1` is set. A token in the environment without a server goes to the server\n" +
		"of Onyx's own CLI: that of its configuration file, else `https://cloud.onyx.app`.\n\n" +
		"| key | value | default | meaning |\n|---|---|---|---|\n")
	for _, key := range config.Keys() {
		about := key.About
		if key.Env != "" {
			about += " (`" + key.Env + "`)"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", key.Path, key.Values, key.Default, about)
	}
	return text.String()
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
	fmt.Printf("\n## %s\n\n%s%s", strings.Join(append([]string{"quarry"}, path...), " "), markdown(string(output), len(path) == 0),
		traits(strings.Join(path, " ")))
	for _, name := range listed(string(output), "Commands") {
		if err := document(binary, append(append([]string{}, path...), name)); err != nil {
			return err
		}
	}
	return nil
}

// traits says in a line what a command is, beside its help.
func traits(path string) string {
	all := cli.Commands()
	at := slices.IndexFunc(all, func(c cli.CommandInfo) bool { return c.Path == path })
	if at < 0 {
		return ""
	}
	var said []string
	if name := all[at].Schema; name != "" {
		said = append(said, "JSON: ["+name+"](schema/"+name+".json).")
	}
	if all[at].Changes {
		said = append(said, "Disabled by `QUARRY_READONLY`.")
	}
	if all[at].Guests {
		said = append(said, "Available over SSH.")
	}
	if len(said) == 0 {
		return ""
	}
	return "\n" + strings.Join(said, " ") + "\n"
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
		case title == "Commands" || title == "Help topics" || !first && (title == "Global flags" || title == "Exit codes"):
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

// listed lists the names under a title.
func listed(help, title string) (names []string) {
	_, list, found := strings.Cut(help, "\n"+title+":\n")
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
