package cli

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exslices"
)

const notForGuests = "not available over SSH"

// CommandNames returns the words that name a command, so that a line that begins with one is no query: the commands
// that a guest may run, and those that are refused.
func CommandNames() []string { return commandNames() }

var commandNames = sync.OnceValue(func() []string {
	guest := &app{program: Program{Guest: true}, out: &gate{}, err: &gate{}}
	return append(exslices.CastFunc(guest.root().Commands(), (*cobra.Command).Name), "help")
})

// localFlags name files, servers or profiles of the machine that quarry runs on, or programs that would run there, with
// what a guest can do instead.
func localFlags() map[string]string {
	const decided = "Omit the flag: the server decides what is searched."
	const printed, query = "Omit the flag: results are printed.", "Give the query itself."
	const elsewhere = "Use it on your machine: ssh HOST search QUERY | jq EXPRESSION" // its memory cannot be bounded
	return map[string]string{"server": decided, "library": decided, "profile": decided, "sample": decided,
		"also":    decided,
		"history": decided, "from": "Send the saved search on standard input: --from -", "pick": printed,
		"output": printed, "saved": query, "new": query, "jq": elsewhere, "template": elsewhere,
		"debug": "Omit the flag: it is for the administrator of this server."}
}

// restrict leaves a guest the commands that only search. The names of the others stay known, so that nobody searches
// for the words of a command that is refused.
func (a *app) restrict(root *cobra.Command) {
	for _, command := range root.Commands() {
		if a.traits[command].guests {
			hideMachineFlags(command.Flags())
			continue
		}
		root.RemoveCommand(command)
		name := command.Name()
		root.AddCommand(&cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return a.refusedToGuests(root, name) }})
	}
	root.Short = "Search the documents of this server"
	hideMachineFlags(root.Flags())
	hideMachineFlags(root.PersistentFlags())
}

// joinGuestWords takes the words that a guest gave to search as one question: ssh joins its arguments to a line, so
// that the quotes around them are gone. Where some are left, each argument is searched on its own, as it is elsewhere.
func (a *app) joinGuestWords(words []string) []string {
	quoted := func(word string) bool { return strings.ContainsAny(word, " \t") }
	if !a.program.Guest || len(words) < 2 || slices.ContainsFunc(words, quoted) {
		return words
	}
	return []string{strings.Join(words, " ")}
}

func hideMachineFlags(flags *pflag.FlagSet) {
	for name := range localFlags() {
		if flag := flags.Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}

func (a *app) refusedToGuests(root *cobra.Command, name string) error {
	return usage("Commands over SSH: "+strings.Join(a.guestCommands(root), ", ")+".", "%s is %s", name, notForGuests)
}

// refuseToGuest refuses what a guest asks of the machine.
func (a *app) refuseToGuest(command *cobra.Command) {
	if !a.program.Guest {
		return
	}
	local := localFlags()
	for _, name := range slices.Sorted(maps.Keys(local)) {
		flag := command.Flags().Lookup(name)
		if flag != nil && flag.Changed && (name != "from" || flag.Value.String() != "-") {
			refuse(local[name], "--%s is %s", name, notForGuests)
		}
	}
}

// guestAdvice is what a guest can do about a failure. How this machine is set up is not theirs to change.
func guestAdvice(failure *Failure) string {
	switch failure.Code {
	case ExitAuth:
		return "Use another token, or ask the administrator of this server."
	case ExitUnreachable, ExitNotConfigured:
		return "Try again later, or ask the administrator of this server."
	}
	return failure.Do
}
