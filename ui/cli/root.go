package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/target"
)

// defaultMaxOutput bounds what a script gets, in bytes, unless it asks for another bound.
const defaultMaxOutput = 50_000

// globalFlags mean the same for every command.
type globalFlags struct {
	Server    string        `flag:"server" usage:"search this server (<URL>)"`
	Library   string        `flag:"library" usage:"search the library in this folder (<DIR>)"`
	Sample    bool          `flag:"sample" usage:"search the bundled sample library"`
	Profile   string        `flag:"profile" usage:"search the server of this profile (<NAME>)"`
	Timeout   time.Duration `flag:"timeout" usage:"give up after <DURATION> (default 5m to search or ask, else 30s)"`
	MaxOutput int
	Budget    int      `flag:"budget" usage:"print what fits in <N> tokens (estimated), no matter --max-output"`
	JSON      bool     `flag:"json,j" usage:"print JSON"`
	Indent    bool     `flag:"indent" usage:"indent JSON (default on a terminal)"`
	Fields    []string `flag:"fields" usage:"print JSON with only these <FIELDS> of each result, separated by commas"`
	JQ        string   `flag:"jq" usage:"print what a jq <EXPRESSION> makes of the JSON"`
	Template  string   `flag:"template" usage:"print what a Go <TEMPLATE> makes of the JSON"`
	Debug     bool     `flag:"debug" usage:"print requests and times to standard error"`
	Quiet     bool     `flag:"quiet,q" usage:"no progress and no notes"`
	NoColor   bool     `flag:"no-color" usage:"no colors (also NO_COLOR)"`

	Tenant string // of admin
	rootFlags
}

// rootFlags are those of quarry without a command.
type rootFlags struct {
	Version bool   `flag:"version,v" usage:"print the versions of client and server"`
	Plain   bool   `flag:"plain" usage:"explore line by line, for screen readers (also ACCESSIBLE=1)"`
	Pick    bool   `flag:"pick" usage:"explore, and print what Enter chooses; exit code 130 without a choice"`
	Output  string `flag:"output,o" usage:"print what was picked as link, citation, passage, path or json (<FORM>)"`
}

// bindFlags defines the flags that the tags of a struct's fields describe: the name, with a short form behind a comma,
// and the usage, with the value's name in angle brackets. What a field holds is its default.
func bindFlags(flags *pflag.FlagSet, options any) {
	asName := strings.NewReplacer("<", "`", ">", "`")
	for field, value := range reflect.ValueOf(options).Elem().Fields() {
		name, short, _ := strings.Cut(field.Tag.Get("flag"), ",")
		if name == "" {
			continue
		}
		usage := asName.Replace(field.Tag.Get("usage"))
		switch into := value.Addr().Interface().(type) {
		case *bool:
			flags.BoolVarP(into, name, short, *into, usage)
		case *int:
			flags.IntVarP(into, name, short, *into, usage)
		case *string:
			flags.StringVarP(into, name, short, *into, usage)
		case *[]string:
			flags.StringSliceVarP(into, name, short, *into, usage)
		case *time.Duration:
			flags.DurationVarP(into, name, short, *into, usage)
		}
	}
}

func (a *app) root() *cobra.Command {
	options := &searchOptions{}
	root := &cobra.Command{
		Use:              "quarry [query…]",
		Short:            "Search company knowledge from the terminal",
		SilenceUsage:     true,
		SilenceErrors:    true,
		Args:             cobra.ArbitraryArgs,
		PersistentPreRun: func(command *cobra.Command, _ []string) { a.begin(command) },
		RunE: func(command *cobra.Command, arguments []string) error {
			switch {
			case a.flags.Version:
				a.printVersion(command.Context(), nil)
			case a.flags.Pick:
				a.pick(command, arguments, options)
			case command.Flags().Changed("output"):
				refuse("Add --pick, or choose the output of a search by --format.", "--output works with --pick only")
			case a.explores(command, arguments):
				a.explore(command, arguments, options)
			case len(arguments) == 0 && command.ArgsLenAtDash() < 0 && !hasSearchFlags(command):
				if a.flags.Plain {
					defer a.note("--plain needs a terminal for input and output: without one, quarry QUERY prints " +
						"results")
				}
				return command.Help()
			case len(arguments) == 0:
				a.search(command.Context(), nil, options)
			default:
				a.bareQuery(command, arguments, options)
			}
			return nil
		},
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	a.globalFlags(root.PersistentFlags())
	a.flags.Output = pickLink
	bindFlags(root.Flags(), &a.flags.rootFlags)
	a.register(root, "output", fixed(pickForms()))
	a.searchFlags(root, options)
	hideFlags(root.Flags(), "version", "plain", "pick", "output")
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.io.In)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		a.command = command
		return flagFailure(command, err)
	})
	root.SetHelpCommand(a.helpCommand())
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		a.print(a.helpText(command))
	})
	a.describe(root, traits{class: reads, guests: true, arguments: cobra.NoFileCompletions})
	root.AddCommand(slices.Concat(a.searchCommands(), a.listingCommands(), a.libraryCommands(), a.agentCommands(),
		a.setupCommands())...)
	a.completeTree(root)
	if a.program.Guest {
		a.restrict(root)
	}
	return root
}

func (a *app) globalFlags(flags *pflag.FlagSet) {
	bindFlags(flags, &a.flags)
	flags.IntVar(&a.flags.MaxOutput, "max-output", -1,
		fmt.Sprintf("cut the output at this many `BYTES`, 0 for never (default %d without a terminal)",
			defaultMaxOutput))
	flags.Lookup("max-output").DefValue = "0" // the usage line has the default
}

// hasSearchFlags reports whether a flag of search was given.
func hasSearchFlags(root *cobra.Command) bool {
	found := false
	root.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) { found = found || flag.Hidden && flag.Changed })
	return found
}

// hideFlags keeps flags working without listing them.
func hideFlags(flags *pflag.FlagSet, shown ...string) {
	flags.VisitAll(func(flag *pflag.Flag) { flag.Hidden = !slices.Contains(shown, flag.Name) })
}

// begin runs before every command, when its flags are known.
func (a *app) begin(command *cobra.Command) {
	a.command = command
	a.usePalettes()
	if a.flags.Timeout < 0 || command.Flags().Changed("timeout") && a.flags.Timeout == 0 {
		refuse("Give a duration like 30s or 10m.", "--timeout must be greater than 0")
	}
	if command.Flags().Changed("max-output") && a.flags.MaxOutput < 0 {
		refuse("Give a number of bytes, or 0 for no limit.", "--max-output must not be negative")
	}
	if command.Flags().Changed("budget") && a.flags.Budget < 1 {
		refuse("Give a number of tokens, or omit the flag.", "--budget must be greater than 0")
	}
	a.refuseToGuest(command)
	emptyFlag(command)
	exclusiveFlags(command)
	a.readShape(command)
	a.noteWarnings(command)
}

// flagFailure says what is wrong with a flag in words of the command line, not in those of the library that reads it.
func flagFailure(command *cobra.Command, err error) error {
	do := "See: " + command.CommandPath() + " --help"
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		flag := invalid.GetFlag()
		expected := flagValue(flag.Value.Type())
		return usage("Give "+expected+". "+do, "--%s %q is not %s", flag.Name, invalid.GetValue(), expected)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		command.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
		if near := wire.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			do = fmt.Sprintf("Did you mean --%s? %s", near, do)
		}
		return usage(do, "unknown flag --%s", unknown.GetSpecifiedName())
	}
	return usage(do, "%s", err)
}

// filterAsFlag refuses a filter with a minus that is not inside a quoted query: -source:slack would be read as -s
// ource:slack.
func filterAsFlag(arguments []string) {
	for _, argument := range arguments {
		name, _, isFilter := strings.Cut(argument, ":")
		field, excludes := strings.CutPrefix(strings.ToLower(name), "-")
		switch {
		case argument == "--" || strings.HasPrefix(argument, "__"): // the library's own, for shells
			return
		case isFilter && excludes && slices.Contains(client.FilterNames(), field):
			filter := text.OneLine(argument)
			refuse(fmt.Sprintf("Quote the query and put -- before it: quarry search -- %s",
				config.ShellQuote("WORDS "+filter)),
				"%q is read as a flag", filter)
		}
	}
}

// flagValue names what a flag of a type takes.
func flagValue(kind string) string {
	names := map[string]string{"int": "a whole number", "duration": "a duration like 30s or 10m",
		"bool": "true or false"}
	return cmp.Or(names[kind], "a valid value")
}

// emptyFlag refuses a flag with an empty value: a variable that is not set, more often than not, and what it should
// have narrowed or led elsewhere must not run without it. Only search takes --source "" for all sources, as Onyx's CLI
// does.
func emptyFlag(command *cobra.Command) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			values = list.GetSlice()
		} else if flag.Value.Type() != "string" {
			return
		}
		if flag.Name == "source" && command.Name() != "remove" {
			return
		}
		blank := func(value string) bool { return strings.TrimSpace(value) == "" }
		if len(values) == 0 || slices.ContainsFunc(values, blank) {
			refuse("Give a value, or omit the flag.", "--%s is empty", flag.Name)
		}
	})
}

// exclusiveFlags refuses flags of which only one can be given. configure asks for the server of a profile and may get
// both.
func exclusiveFlags(command *cobra.Command) {
	for _, group := range [][]string{{"server", "library", "profile", "sample"}, {"agent", "agent-id"},
		{"days", "since"}, {"max-output", "budget"}, {"jq", "template"},
		{"outline", "section", "lines", "around"}, {"session", "agent"}, {"session", "agent-id"}} {
		var given []string
		for _, name := range group {
			if flag := command.Flags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() != "false" {
				given = append(given, "--"+name)
			}
		}
		if len(given) > 1 &&
			!(command.Name() == "configure" && slices.Equal(given, []string{"--server", "--profile"})) {
			refuse("Give only one of them.", "%s exclude each other", strings.Join(given, " and "))
		}
	}
}

// noteWarnings prints the warnings about the configuration. Commands that do not
// look at it say nothing about it.
func (a *app) noteWarnings(command *cobra.Command) {
	if command.Name() == "help" || command.Name() == "completion" || strings.HasPrefix(command.Name(), "__") ||
		a.program.Guest {
		return
	}
	if host, err := a.program.Host(); err == nil { // whoever needs the configuration says what is wrong with it
		a.noteAll(host.Warnings())
	}
}

func (a *app) noteAll(warnings []config.Warning) {
	for _, warning := range warnings {
		a.note("%s; %s", warning.Text, warning.Remedy)
	}
}

// chosen finds the target.
func (a *app) chosen(where target.Request) target.Choice {
	choice := guard.Must(a.decideTarget(where))
	a.noteAll(choice.Warnings)
	a.debug("target: %s (%s)", choice.Describe(), choice.Reason)
	return choice
}

// decide returns the target of a command, with a note if it is the sample library and no flag chose that.
func (a *app) decide(request target.Request) target.Choice {
	choice := a.chosen(request)
	if choice.Kind == target.KindSample && !a.flags.Sample {
		a.note("searching the bundled sample library; for your own documents: quarry add PATH, or quarry configure")
	}
	return choice
}

// deadline bounds a command by --timeout.
func (a *app) deadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.flags.Timeout > 0 {
		return context.WithTimeout(client.WithTimeout(ctx, a.flags.Timeout), a.flags.Timeout)
	}
	return ctx, func() {}
}

// limit bounds this run's output.
func (a *app) limit() bound {
	switch {
	case a.flags.Budget > 0:
		return bound{most: a.flags.Budget, inTokens: true}
	case a.flags.MaxOutput >= 0:
		return bound{most: a.flags.MaxOutput}
	case a.io.OutTTY || a.program.Guest:
		return bound{}
	}
	return bound{most: defaultMaxOutput}
}

// givenLimit is the limit that a flag sets, if one does.
func (a *app) givenLimit() bound {
	if a.flags.Budget > 0 || a.flags.MaxOutput >= 0 {
		return a.limit()
	}
	return bound{}
}

// bareQuery searches for words that follow no command.
func (a *app) bareQuery(command *cobra.Command, words []string, options *searchOptions) {
	if !a.io.interactive() {
		a.refuseCommandWord(command, words, options)
	}
	a.noteNearCommand(command, words)
	a.search(command.Context(), []string{strings.Join(words, " ")}, options)
}

// noteNearCommand notes that words may have been meant as a command.
func (a *app) noteNearCommand(command *cobra.Command, words []string) {
	if near := nearestCommand(command, words); near != "" {
		a.note("searching for %q; for the command: quarry %s", strings.Join(words, " "), near)
	}
}

// nearestCommand finds a command that is at most one edit and the case away from the first word. After -- no word was
// meant as one.
func nearestCommand(root *cobra.Command, words []string) string {
	const longest = 64 // bytes: the distance of a word costs its length
	if len(words) == 0 || len(words[0]) > longest || root.ArgsLenAtDash() == 0 {
		return ""
	}
	near, word := "", strings.ToLower(words[0])
	for _, command := range root.Commands() {
		switch name := command.Name(); {
		case command.Hidden:
		case name == word:
			return name
		case near == "" && text.EditDistance(word, name) == 1:
			near = name
		}
	}
	return near
}

// refuseChoice refuses a value of a flag that is not among the few that there are.
func refuseChoice(what, value string, all []string) {
	refuse(wire.Hint(value, "Choose one of "+strings.Join(all, ", ")+".", all), "unknown %s %q", what, value)
}

// refuseValue refuses a value that is not among the known ones, which another command lists.
func refuseValue(what, value, list string, known ...[]string) {
	refuse(wire.Hint(value, "See: "+list, known...), "unknown %s %q", what, value)
}
