package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"quarry/config"
	"quarry/internal/text"
)

// foreignCommands are commands of other programs, with the command of quarry that does what is probably meant. A script
// that calls one of them by mistake must fail, and not get the results of a search for the word.
var foreignCommands = map[string]string{
	"list": "sources", "ls": "sources", "ll": "sources", "dir": "sources", "show": "read", "get": "read", "cat": "read", "open": "read", "view": "read",
	"fetch": "read", "describe": "read", "find": "search", "grep": "search", "query": "search", "lookup": "search", "chat": "ask", "login": "configure",
	"signin": "configure", "auth": "configure", "logout": "configure", "signout": "configure", "init": "configure", "setup": "configure", "connect": "configure",
	"delete": "remove", "del": "remove", "rm": "remove", "uninstall": "remove", "purge": "remove", "clean": "remove", "set": "config", "unset": "config",
	"settings": "config", "edit": "config", "install": "install-skill", "update": "sync", "upgrade": "sync", "refresh": "sync", "pull": "sync", "reindex": "sync",
	"watch": "sync", "import": "add", "index": "add", "ingest": "add", "upload": "add", "create": "add", "new": "add", "push": "add", "export": "collection",
	"save": "collection", "start": "serve", "stop": "serve", "restart": "serve", "run": "serve", "deploy": "serve", "up": "serve", "down": "serve", "daemon": "serve",
	"exec": "serve", "info": "status", "stats": "status", "ps": "status", "doctor": "validate-config", "check": "validate-config", "test": "validate-config",
	"whoami": "validate-config", "ping": "validate-config", "user": "admin", "users": "admin", "token": "admin", "tokens": "admin", "image": "help",
	"experiments": "help", "install-onyx": "help", "quit": "help", "exit": "help", "logs": "help", "shell": "help", "usage": "help",
}

// shortestNear is the number of letters of a command from which a word within one edit of it is taken for it: below
// that, too many words are.
const shortestNear = 5

// refuseCommandWord returns a usage error for one bare word that was meant as a command: one of another program, or one
// of quarry with a mistake. After -- no word was, and no search has filters by mistake; list --limit 5 may be one.
func (a *app) refuseCommandWord(root *cobra.Command, words []string, options *searchOptions) error {
	if len(words) != 1 || root.ArgsLenAtDash() == 0 || options.narrows() {
		return nil
	}
	word := strings.ToLower(words[0])
	near := foreignCommands[word]
	if near == "" {
		if near = nearestCommand(root, []string{word}); len(near) < shortestNear {
			return nil
		}
	}
	if a.program.Guest && !slices.Contains(a.guestCommands(root), near) {
		near = "help"
	}
	do := fmt.Sprintf("Run: quarry %s%s; to search for the word: quarry search %s%[2]s", near, a.targetFlags(),
		config.ShellQuote(words[0]))
	return usage(do, "%q is not a command; did you mean %q?", text.OneLine(words[0]), near)
}
