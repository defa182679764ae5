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
		is, func(_ context.Context, arguments []string) error {
			return a.configSet(arguments, unset)
		})
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
func (a *app) configFile() (*config.Config, error) {
	paths, err := config.Locate(a.io.Env.LookupEnv)
	if err != nil {
		return nil, err
	}
	return config.At(paths, a.io.Env.LookupEnv), nil
}

func (a *app) configPath(context.Context, []string) error {
	file, err := a.configFile()
	if err != nil {
		return err
	}
	return a.printOr(pathOutput{file.File, schemaVersion}, file.File+"\n")
}

func (a *app) loadConfig() (*config.Config, error) {
	paths, err := config.Locate(a.io.Env.LookupEnv)
	if err != nil {
		return nil, err
	}
	return config.Load(paths, a.io.Env.LookupEnv)
}

func (a *app) configList(context.Context, []string) error {
	loaded, err := a.loadConfig()
	if err != nil {
		return err
	}
	a.uncopied = true
	return printList(a, "config", loaded.Settings(), "No keys are set.",
		table{header: []string{"KEY", "VALUE", "FROM"}},
		func(s config.Setting) []string { return []string{s.Key, s.Value, s.From} })
}

func (a *app) configGet(_ context.Context, arguments []string) error {
	loaded, err := a.loadConfig()
	if err != nil {
		return err
	}
	value, err := loaded.Get(arguments[0])
	switch {
	case err != nil:
		return err
	case value == "":
		do := "See its default: quarry help configuration"
		if strings.HasPrefix(arguments[0], "profiles.") {
			do = "See the keys that have one: quarry config list"
		}
		return fail(ExitNotAvailable, do, "%s has no value", arguments[0])
	}
	return a.printOr(valueOutput{arguments[0], value, schemaVersion}, value+"\n")
}

func (a *app) configSet(arguments []string, unset bool) error {
	if len(arguments) == 0 {
		return usage("Example: quarry config set theme dark", "missing argument KEY")
	}
	if err := a.mayRedirect(arguments[0]); err != nil {
		return err
	}
	file, err := a.configFile()
	if err != nil {
		return err
	}
	if unset {
		return a.configUnset(file, arguments)
	}
	key, err := config.LookupKey(arguments[0])
	if err != nil {
		return err
	}
	value, err := a.newValue(key, arguments)
	if err != nil {
		return err
	}
	if action, ok := strings.CutPrefix(arguments[0], "keys."); ok && a.program.KeyProblems != nil {
		if problems := a.program.KeyProblems(map[string][]string{action: strings.Split(value, ",")}); len(
			problems) > 0 {
			return usage("The actions and their keys are in docs/keys.md.", "%s", problems[0])
		}
	}
	if err := file.Set(arguments[0], value); err != nil {
		return err
	}
	a.say("Set %s in %s.", arguments[0], file.File)
	if key.Env != "" && a.io.Env.Getenv(key.Env) != "" {
		a.note("%s overrides it", key.Env)
	}
	a.sayTarget(arguments[0])
	return nil
}

// mayRedirect refuses to change, without a terminal, where searches, questions and tokens go: an agent that follows
// what a document says has a pipe, though its standard input may be the terminal of the person who started it. Whoever
// runs programs as this user can write the file itself; this prevents accidents.
func (a *app) mayRedirect(path string) error {
	if a.io.OutTTY && a.io.ErrTTY || config.IsPresentation(path) || a.io.Env.Getenv("QUARRY_ALLOW_CONFIG") == "1" {
		return nil
	}
	key, err := config.LookupKey(path)
	// --unset removes all of one.
	if group, _, _ := strings.Cut(path, "."); err != nil && group != "profiles" && group != "llm" {
		return err
	}
	about, _, _ := strings.Cut(cmp.Or(key.About, "all of its keys"), ";")
	return usage("A person does this in a terminal; QUARRY_ALLOW_CONFIG=1 allows it to a script.",
		"%s cannot be changed without a terminal: it decides more than how results look (%s)",
		text.Clip(text.OneLine(path), 100), about)
}

func (a *app) configUnset(file *config.Config, arguments []string) error {
	if len(arguments) > 1 {
		return usage("Omit the value, or --unset.", "unexpected argument %q", arguments[1])
	}
	found, err := file.Unset(arguments[0])
	switch {
	case err != nil:
		return err
	case !found:
		a.say("%s is not set in %s.", arguments[0], file.File)
		return nil
	}
	a.say("Removed %s from %s.", arguments[0], file.File)
	a.sayTarget(arguments[0])
	return nil
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
func (a *app) newValue(key config.Key, arguments []string) (string, error) {
	switch {
	case len(arguments) > 2:
		return "", usage("Quote a value with spaces; separate the items of a list by commas.", "unexpected argument %q",
			arguments[2])
	case key.Secret && len(arguments) == 2:
		return "", usage("Others can see arguments. Give it on standard input: quarry config set "+arguments[0]+
			" < FILE", "%s is a secret", arguments[0])
	case !key.Secret && len(arguments) < 2:
		return "", usage("It takes "+key.Values+".", "missing value of %s", arguments[0])
	case !key.Secret:
		return arguments[1], nil
	}
	value, err := a.readSecret(arguments[0])
	if err == nil && value == "" {
		err = usage("To remove the key: quarry config set "+arguments[0]+" --unset", "the value of %s is empty",
			arguments[0])
	}
	return value, err
}

// readSecret reads one line, from the terminal without showing it.
func (a *app) readSecret(name string) (string, error) {
	const longest = 16 << 10
	if a.io.InTTY && a.io.ReadSecret != nil {
		fmt.Fprintf(a.err, "%s: ", name)
		line, err := a.io.ReadSecret()
		fmt.Fprintln(a.err)
		return strings.TrimSpace(line), err
	}
	line, err := bufio.NewReader(io.LimitReader(a.io.In, longest+1)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(line) > longest {
		return "", usage("Give only the secret.", "standard input has more than %d characters", longest)
	}
	return strings.TrimSpace(line), nil
}

// configEdit opens a copy of the file in the person's editor, and replaces the file if what was written is valid.
func (a *app) configEdit(context.Context, []string) error {
	if !a.io.interactive() {
		return usage("Change one key: quarry config set KEY VALUE", "`config edit` needs a terminal")
	}
	file, err := a.configFile()
	if err != nil {
		return err
	}
	before, err := file.Text()
	if err != nil {
		return fmt.Errorf("read %s: %w", file.File, err)
	}
	if err := os.MkdirAll(filepath.Dir(file.File), 0o700); err != nil {
		return fmt.Errorf("make the folder of the configuration: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(file.File), "config-*.yaml") // for its owner only
	if err != nil {
		return fmt.Errorf("make a copy to edit: %w", err)
	}
	_, err = draft.Write(before)
	if err = errors.Join(err, draft.Close()); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	if err := a.runEditor(draft.Name()); err != nil {
		return errors.Join(err, os.Remove(draft.Name()))
	}
	after, err := os.ReadFile(draft.Name())
	if err != nil {
		return fmt.Errorf("read what was written: %w", err)
	}
	if bytes.Equal(before, after) {
		a.say("Nothing was changed.")
		return os.Remove(draft.Name())
	}
	if err := file.Replace(after); err != nil {
		return &Failure{Code: ExitNotConfigured, What: strings.ReplaceAll(err.Error(), file.File, draft.Name()),
			Err: err, Do: "Nothing was changed; what you wrote is in " + draft.Name()}
	}
	a.say("Saved %s.", file.File)
	return os.Remove(draft.Name())
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
