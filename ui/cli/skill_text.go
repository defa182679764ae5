package cli

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exslices"
)

// The skills for AI agents are made from the commands themselves, so that they describe the program that writes them.

// skillCommands are the commands that a skill describes.
func skillCommands() []string {
	return []string{"search", "read", "sources", "document-sets", "tags", "agents", "ask", "validate-config"}
}

// skillFlags are the flags of search that a skill describes, with those of every command.
func skillFlags() []string {
	return []string{"source", "since", "until", "days", "document-set", "tag", "agent-id", "limit", "no-query-expansion", "format", "budget",
		"json", "fields", "jq"}
}

const skillDescription = "Search and read this organization's documents (wiki pages, chat, tickets, code reviews, email, files) with the " +
	"quarry command. Use it when an answer depends on internal knowledge, such as processes, decisions, people, incidents or products."

// frontMatter begins a SKILL.md.
func frontMatter(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %q\n---\n\n", name, description)
}

// skillFiles are the texts of skills, each with places for what follows from the commands.
//
//go:embed help/skill/*.txt
var skillFiles embed.FS

func skillText(name string, parts ...any) string {
	written, _ := skillFiles.ReadFile("help/skill/" + name + ".txt") // an embedded folder can be read
	return fmt.Sprintf(string(written), parts...)
}

// commandSkill is the skill that install-skill writes.
func commandSkill(root *cobra.Command) string {
	return frontMatter("quarry", skillDescription) + skillText("commands", skillUsage(root, ""), commandTable(root))
}

// skillUsage describes how to work, the flags, the output and the exit codes. The flags of target are part of each
// command. What it says about the output for agents is what the help of search says.
func skillUsage(root *cobra.Command, target string) string {
	_, output, _ := strings.Cut(lookupHelp("quarry search").sections, "\nagent: ")
	output, _, _ = strings.Cut(output, "\nndjson:")
	return skillText("usage", target, flagTable(childNamed(root, "search")), strings.ReplaceAll(output, "\n", " "), exitTable())
}

// childNamed finds a command of the root; nil if there is none.
func childNamed(root *cobra.Command, name string) *cobra.Command {
	for _, command := range root.Commands() {
		if command.Name() == name {
			return command
		}
	}
	return nil
}

func commandTable(root *cobra.Command) string {
	return strings.Join(exslices.CastFunc(skillCommands(), func(name string) string {
		command := childNamed(root, name)
		return fmt.Sprintf("| `quarry %s` | %s | %s |\n", command.Use, command.Short, avoid(command))
	}), "")
}

// avoid returns the first sentence of what the help of a command says about when not to use it.
func avoid(command *cobra.Command) string {
	_, rest, _ := strings.Cut(lookupHelp(command.CommandPath()).sections, "When not to use it:\n")
	rest, _, _ = strings.Cut(rest, "\n\n")
	first, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), ". ")
	return strings.TrimSuffix(first, ".") + "."
}

func flagTable(search *cobra.Command) string {
	var b strings.Builder
	for _, name := range skillFlags() {
		flag := search.Flag(name)
		value, does := pflag.UnquoteUsage(flag)
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(&b, "| `--%s%s` | %s |\n", name, value, strings.ReplaceAll(does, "|", `\|`))
	}
	return b.String()
}

func exitTable() string {
	return strings.Join(exslices.CastFunc(exitCodes(parseExits("remote")), func(code int) string {
		return fmt.Sprintf("| %d | %s |\n", code, exitMeaning(code))
	}), "")
}
