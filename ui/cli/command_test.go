package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// lacks lists what a command does not say about itself.
func lacks(a *app, command *cobra.Command) (missing []string) {
	is := a.traits[command]
	if is.class == 0 {
		missing = append(missing, "a class: does it change a library, directory, token or profile?")
	}
	if argumentOf(command) != "" && command.ValidArgsFunction == nil {
		missing = append(missing, "what completes its arguments")
	}
	if lookupHelp(command.CommandPath()).sections == "" {
		missing = append(missing, "a help text")
	}
	if is.guests && is.class > reads {
		missing = append(missing, "a reason why visitors over SSH may change something")
	}
	if path := commandPath(command); strings.HasPrefix(path, "admin ") && !command.HasSubCommands() &&
		(is.open == nil || is.class == changes || (is.class == reads) != (command.Name() == "list")) {
		missing = append(missing, "the class of a command that administers: only lists read")
	}
	if is.json != nil && len(is.json()) == 0 {
		missing = append(missing, "types of its JSON")
	}
	return missing
}

// Everything that depends on a command follows from its traits, so that every command has them.
func TestCommandsSayWhatTheyAre(t *testing.T) {
	a := &app{out: &gate{}, err: &gate{}}
	for command := range commandsBelow(a.root()) {
		for _, missing := range lacks(a, command) {
			t.Errorf("%s lacks %s", command.CommandPath(), missing)
		}
	}
	// It fails for a command that says nothing.
	silent := &cobra.Command{Use: "trial NAME"}
	if got := fmt.Sprint(lacks(a, silent)); !strings.Contains(got, "class") || !strings.Contains(got, "arguments") ||
		!strings.Contains(got, "help text") {
		t.Errorf("of a command that says nothing: %s", got)
	}
}

// Commands is what documentation and the tests of command lines read.
func TestCommandsListsLeaves(t *testing.T) {
	all := Commands()
	for _, want := range []CommandInfo{
		{Path: "search", Guests: true, Schema: "search"}, {Path: "add", Changes: true, Schema: "add"},
		{Path: "admin user add", Changes: true, Schema: "admin-user-add"}, {Path: "admin token list", Schema: "admin-token-list"},
		{Path: "config edit", Changes: true}, {Path: "serve"}, {Path: "mcp", Guests: true},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("lacks %+v", want)
		}
	}
	if len(all) < 40 || slices.ContainsFunc(all, func(c CommandInfo) bool { return c.Path == "admin" || c.Path == "help" }) {
		t.Errorf("%d commands: %+v", len(all), all)
	}
}
