package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// setupCommands returns the commands about the configuration and the program.
func (a *app) setupCommands() []*cobra.Command {
	return []*cobra.Command{a.configCommand(), a.schemaCommand(), a.completionCommand(), a.manCommand(),
		a.newCommand("configure", "Set up a server or a library interactively", traits{class: changes}, a.configure),
		a.newCommand("validate-config", "Test the configuration and the connection",
			traits{class: reads, json: prints(validateOutput{})}, a.validate),
		a.newCommand("version", "Print the versions of client and server",
			traits{class: reads, guests: true, json: prints(versionOutput{})}, a.printVersion)}
}

func (a *app) configCommand() *cobra.Command {
	unset := false
	is := traits{class: changes, arguments: a.offerKeys(keysToSet)}
	setCommand := a.newCommand("set KEY…", "Set a key of the configuration file",
		is, func(_ context.Context, arguments []string) { a.configSet(arguments, unset) })
	setCommand.Flags().BoolVar(&unset, "unset", false, "remove the key instead")
	return a.group("config", "Show and change the configuration file",
		a.newCommand("path", "Print the path of the configuration file",
			traits{class: reads, json: prints(pathOutput{})}, a.configPath),
		a.newCommand("list", "List the keys that have a value", traits{class: reads, json: prints([]config.Setting{})},
			a.configList),
		a.newCommand("get KEY", "Print the value of a key",
			traits{class: reads, arguments: a.offerKeys(keysToGet), json: prints(valueOutput{})}, a.configGet),
		setCommand,
		a.newCommand("edit", "Edit the configuration file", traits{class: changes}, a.configEdit))
}

// pathOutput is the JSON of config path.
type pathOutput struct {
	Path   string `json:"path" jsonschema:"of the configuration file, which may not exist"`
	Schema int    `json:"schema" jsonschema:"version of this format"`
}

// valueOutput is the JSON of config get.
type valueOutput struct {
	Key    string `json:"key"`
	Value  string `json:"value" jsonschema:"masked if it is a secret"`
	Schema int    `json:"schema" jsonschema:"version of this format"`
}

// configFile returns the configuration file without reading it, so that a broken one can be found and mended.
func (a *app) configFile() *config.Config {
	return config.At(guard.Must(config.Locate(a.io.Env.LookupEnv)), a.io.Env.LookupEnv)
}

func (a *app) configPath(context.Context, []string) {
	file := a.configFile()
	a.printOr(pathOutput{file.File, schemaVersion}, file.File+"\n")
}

func (a *app) loadConfig() *config.Config {
	return guard.Must(config.Load(guard.Must(config.Locate(a.io.Env.LookupEnv)), a.io.Env.LookupEnv))
}

func (a *app) configList(context.Context, []string) {
	a.uncopied = true
	printList(a, "config", a.loadConfig().Settings(), "No keys are set.",
		table{header: []string{"KEY", "VALUE", "FROM"}},
		func(s config.Setting) []string { return []string{s.Key, s.Value, s.From} })
}

func (a *app) configGet(_ context.Context, arguments []string) {
	value := guard.Must(a.loadConfig().Get(arguments[0]))
	if value == "" {
		do := "See its default: quarry help configuration"
		if strings.HasPrefix(arguments[0], "profiles.") {
			do = "See the keys that have one: quarry config list"
		}
		guard.Abort(fail(ExitNotAvailable, do, "%s has no value", arguments[0]))
	}
	a.printOr(valueOutput{arguments[0], value, schemaVersion}, value+"\n")
}

func (a *app) configSet(arguments []string, unset bool) {
	if len(arguments) == 0 {
		refuse("Example: quarry config set theme dark", "missing argument KEY")
	}
	a.mayRedirect(arguments[0])
	file := a.configFile()
	if unset {
		a.configUnset(file, arguments)
		return
	}
	key := guard.Must(config.LookupKey(arguments[0]))
	value := a.newValue(key, arguments)
	if action, ok := strings.CutPrefix(arguments[0], "keys."); ok && a.program.KeyProblems != nil {
		if problems := a.program.KeyProblems(map[string][]string{action: strings.Split(value, ",")}); len(
			problems) > 0 {
			refuse("The actions and their keys are in docs/keys.md.", "%s", problems[0])
		}
	}
	guard.Check(file.Set(arguments[0], value))
	a.say("Set %s in %s.", arguments[0], file.File)
	if key.Env != "" && a.io.Env.Getenv(key.Env) != "" {
		a.note("%s overrides it", key.Env)
	}
	a.sayTarget(arguments[0])
}

// mayRedirect refuses to change, without a terminal, where searches, questions and tokens go: an agent that follows
// what a document says has a pipe, though its standard input may be the terminal of the person who started it. Whoever
// runs programs as this user can write the file itself; this prevents accidents.
func (a *app) mayRedirect(path string) {
	if a.io.OutTTY && a.io.ErrTTY || config.IsPresentation(path) || a.io.Env.Getenv("QUARRY_ALLOW_CONFIG") == "1" {
		return
	}
	key, err := config.LookupKey(path)
	// --unset removes all of one.
	if group, _, _ := strings.Cut(path, "."); err != nil && group != "profiles" && group != "llm" {
		guard.Abort(err)
	}
	about, _, _ := strings.Cut(cmp.Or(key.About, "all of its keys"), ";")
	refuse("A person does this in a terminal; QUARRY_ALLOW_CONFIG=1 allows it to a script.",
		"%s cannot be changed without a terminal: it decides more than how results look (%s)",
		text.Clip(text.OneLine(path), 100), about)
}

func (a *app) configUnset(file *config.Config, arguments []string) {
	if len(arguments) > 1 {
		refuse("Omit the value, or --unset.", "unexpected argument %q", arguments[1])
	}
	if !guard.Must(file.Unset(arguments[0])) {
		a.say("%s is not set in %s.", arguments[0], file.File)
		return
	}
	a.say("Removed %s from %s.", arguments[0], file.File)
	a.sayTarget(arguments[0])
}

// sayTarget says where searches go after the change of a key that can move them.
func (a *app) sayTarget(key string) {
	if key != "active" && !strings.HasPrefix(key, "profiles.") {
		return
	}
	host, err := target.NewHost(a.io.Env.LookupEnv, a.program.Version) // the program's own has read the old file
	if err != nil {
		return
	}
	if choice, err := host.Decide(target.Request{Terminal: a.io.interactive()}); err == nil {
		a.say("Searches now go to %s (%s).", choice.Describe(), choice.Reason)
	}
}

// newValue is the value on the command line, or for a secret that on standard input.
func (a *app) newValue(key config.Key, arguments []string) string {
	switch {
	case len(arguments) > 2:
		refuse("Quote a value with spaces; separate the items of a list by commas.",
			"unexpected argument %q", arguments[2])
	case key.Secret && len(arguments) == 2:
		refuse("Others can see arguments. Give it on standard input: quarry config set "+arguments[0]+
			" < FILE", "%s is a secret", arguments[0])
	case !key.Secret && len(arguments) < 2:
		refuse("It takes "+key.Values+".", "missing value of %s", arguments[0])
	case !key.Secret:
		return arguments[1]
	}
	value := a.readSecret(arguments[0])
	if value == "" {
		refuse("To remove the key: quarry config set "+arguments[0]+" --unset", "the value of %s is empty",
			arguments[0])
	}
	return value
}

// readSecret reads one line, from the terminal without showing it.
func (a *app) readSecret(name string) string {
	const longest = 16 << 10
	if a.io.InTTY && a.io.ReadSecret != nil {
		fmt.Fprintf(a.err, "%s: ", name)
		line, err := a.io.ReadSecret()
		fmt.Fprintln(a.err)
		guard.Check(err)
		return strings.TrimSpace(line)
	}
	line, err := bufio.NewReader(io.LimitReader(a.io.In, longest+1)).ReadString('\n')
	if !errors.Is(err, io.EOF) {
		guard.While("read standard input", err)
	}
	if len(line) > longest {
		refuse("Give only the secret.", "standard input has more than %d characters", longest)
	}
	return strings.TrimSpace(line)
}

// configEdit opens a copy of the file in the person's editor, and replaces the file if what was written is valid.
func (a *app) configEdit(context.Context, []string) {
	if !a.io.interactive() {
		refuse("Change one key: quarry config set KEY VALUE", "`config edit` needs a terminal")
	}
	file := a.configFile()
	before, err := file.Text()
	guard.While("read "+file.File, err)
	guard.While("make the folder of the configuration", os.MkdirAll(filepath.Dir(file.File), 0o700))
	draft, err := os.CreateTemp(filepath.Dir(file.File), "config-*.yaml") // for its owner only
	guard.While("make a copy to edit", err)
	_, err = draft.Write(before)
	if err = errors.Join(err, draft.Close()); err == nil {
		err = a.runEditor(draft.Name())
	}
	if err != nil {
		guard.Abort(errors.Join(err, os.Remove(draft.Name())))
	}
	after, err := os.ReadFile(draft.Name())
	guard.While("read what was written", err)
	if bytes.Equal(before, after) {
		a.say("Nothing was changed.")
	} else if err := file.Replace(after); err != nil {
		guard.Abort(&Failure{Code: ExitNotConfigured, What: strings.ReplaceAll(err.Error(), file.File, draft.Name()),
			Err: err, Do: "Nothing was changed; what you wrote is in " + draft.Name()})
	} else {
		a.say("Saved %s.", file.File)
	}
	guard.Check(os.Remove(draft.Name()))
}

func (a *app) runEditor(path string) error {
	editor := cmp.Or(strings.TrimSpace(a.io.Env.Getenv("VISUAL")), strings.TrimSpace(a.io.Env.Getenv("EDITOR")), "vi")
	command := ShellCommand(editor, path)
	command.Stdin, command.Stdout, command.Stderr, command.Env = a.io.In, a.io.Out, a.io.Err, a.io.Env
	command.Dir = a.io.Dir
	a.waits.Store(true) // the terminal is the editor's
	if err := command.Run(); err != nil {
		return fail(ExitGeneral, "Set EDITOR to your editor.", "the editor %s failed: %w", editor, err)
	}
	return nil
}
