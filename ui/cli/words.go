package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/config"
	"quarry/internal/text"
)

// foreignCommands are commands of other programs behind the command of quarry that does what is probably meant. A
// script that calls one of them by mistake must fail, and not get the results of a search for the word.
const foreignCommands = `
	sources: list ls ll dir
	read: show get cat open view fetch describe
	search: find grep query lookup
	ask: chat
	configure: login signin auth logout signout init setup connect
	remove: delete del rm uninstall purge clean
	config: set unset settings edit
	install-skill: install
	sync: update upgrade refresh pull reindex watch
	add: import index ingest upload create new push
	collection: export save
	serve: start stop restart run deploy up down daemon exec
	status: info stats ps
	validate-config: doctor check test whoami ping
	admin: user users token tokens
	help: help image experiments install-onyx quit exit logs shell usage
`

// shortestNear is the number of letters of a command from which a word within one edit of it is taken for it: below
// that, too many words are.
const shortestNear = 5

// refuseCommandWord refuses one bare word that was meant as a command: one of another program, or one
// of quarry with a mistake. After -- no word was, and no search has filters by mistake; list --limit 5 may be one.
func (a *app) refuseCommandWord(root *cobra.Command, words []string, options *searchOptions) {
	if len(words) != 1 || root.ArgsLenAtDash() == 0 || options.narrows() {
		return
	}
	word := strings.ToLower(words[0])
	near, known := meantCommand(word)
	if !known {
		near = nearestCommand(root, words)
		if near == "" || near != word && len(near) < shortestNear {
			return
		}
	}
	if a.program.Guest && !slices.Contains(a.guestCommands(root), near) {
		near = "help"
	}
	do := fmt.Sprintf("Run: quarry %s%s; to search for the word: quarry search %s%[2]s", near, a.targetFlags(),
		config.ShellQuote(words[0]))
	refuse(do, "%q is not a command; did you mean %q?", text.OneLine(words[0]), near)
}

// meantCommand returns the command of quarry for one of another program.
var meantCommand = text.Table(foreignCommands)
