package cli

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exerrors"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
)

// completionTime is how long a shell waits for values of a server; after that there are none.
const completionTime = time.Second

func (a *app) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return a.newCommand("completion SHELL", "Print a shell completion script",
		traits{class: reads, arguments: fixed(shells)}, func(_ context.Context, arguments []string) {
			root := a.command.Root()
			err := error(usage(wire.Hint(arguments[0], "Name one of bash, zsh, fish, powershell.", shells),
				"unknown shell %q", arguments[0]))
			switch arguments[0] {
			case "bash":
				err = root.GenBashCompletionV2(a.out, true)
			case "zsh":
				err = root.GenZshCompletion(a.out)
			case "fish":
				err = root.GenFishCompletion(a.out, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(a.out)
			}
			guard.Check(err)
		})
}

// files completes with files.
func files(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// fixed completes with the same values always.
func fixed(values []cobra.Completion) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// offer lists what a server has, as far as it begins with what is typed; nothing if it cannot be listed.
type offer func(ctx context.Context, c *client.Client, typed string) []cobra.Completion

// flagValues returns the completion of flags by their names, the same for every command that has them.
func (a *app) flagValues() map[string]cobra.CompletionFunc {
	values := map[string]cobra.CompletionFunc{
		"library": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"profile": a.offerProfiles, "also": a.offerProfiles, "history": files, "from": files,
		"session": cobra.NoFileCompletions,
		"format":  fixed(searchFormats()),
		"sort":    fixed([]string{wire.SortRelevance, wire.SortNewest, wire.SortOldest}),
		"to":      fixed(wire.Engines()), "as": fixed(offeredSources()),
		"role": fixed([]string{"basic", "admin"}), "access": fixed([]string{"public", "private", "sync"}),
	}
	listed := map[string]offer{
		"set":      offerValues(field.Set),
		"agent":    offerAgents(func(agent wire.Persona) string { return agent.Name }),
		"agent-id": offerAgents(func(agent wire.Persona) string { return strconv.Itoa(agent.ID) }),
		"user":     users().offer, "creator": users().offer, "group": groups().offer, "connector": connectors().offer,
		"tenant": tenants().offer,
	}
	for _, row := range field.All() {
		if row.Flag != nil {
			listed[row.Flag.Name] = offerValues(row.ID)
		}
	}
	for flag, one := range listed {
		values[flag] = a.offeredTo(flag, one)
	}
	return values
}

// register sets the values of a flag that has none, if a shell asks: cobra keeps what is registered, and so the whole
// run, as long as the process lives.
func (a *app) register(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if !a.completes {
		return
	}
	if _, known := command.GetFlagCompletionFunc(flag); known {
		return
	}
	exerrors.PanicIfNotNil(command.RegisterFlagCompletionFunc(flag, complete)) // a flag that the command does not have
}

// offeredTo completes a flag with what a server or library has. Of a list separated by commas the last item is
// completed.
func (a *app) offeredTo(flag string, values offer) cobra.CompletionFunc {
	return func(command *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		first := ""
		if _, isList := command.Flag(flag).Value.(pflag.SliceValue); isList {
			first = typed[:strings.LastIndexByte(typed, ',')+1]
		}
		found := a.complete(command, values, typed[len(first):])
		for i := range found {
			found[i] = first + found[i]
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// offered completes the only argument of a command with what a server or library has.
func (a *app) offered(values offer) cobra.CompletionFunc {
	return func(command *cobra.Command, arguments []string, typed string) (found []cobra.Completion,
		_ cobra.ShellCompDirective) {
		if len(arguments) == 0 {
			found = a.complete(command, values, typed)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete returns what there is; whatever fails or takes too long, there is nothing to offer.
func (a *app) complete(command *cobra.Command, values offer, typed string) []cobra.Completion {
	a.command, a.flags.Quiet = command, true
	open := a.traits[command].open
	if open == nil {
		open = a.openDecided
	}
	ask := func(ctx context.Context) (found []cobra.Completion, err error) {
		a.with(ctx, open, func(ctx context.Context, c *client.Client) { found = values(ctx, c, typed) })
		return found, nil
	}
	found, _ := guard.Within(context.Background(), completionTime, ask) // the shell gives no context
	return completable(found)
}

const (
	longestValue       = 200 // bytes
	longestDescription = 80  // characters
)

// completable leaves values that mean nothing else to a shell: somebody else chose the names, and a shell inserts what
// several of them have in common as it is.
func completable(found []cobra.Completion) (safe []cobra.Completion) {
	special := func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit) && !strings.ContainsRune(" _-.:@/=+,%#'", r)
	}
	for _, one := range found {
		value, about, _ := strings.Cut(one, "\t")
		if value == "" || len(value) > longestValue || strings.ContainsFunc(value, special) ||
			strings.ContainsRune("-_ #'", rune(value[0])) {
			continue
		}
		if about = text.Shorten(printable(text.OneLine(about)), longestDescription); about != "" {
			value = cobra.CompletionWithDesc(value, about)
		}
		safe = append(safe, value)
	}
	return safe
}

// completeTree registers the values of flags.
func (a *app) completeTree(root *cobra.Command) {
	if !a.completes {
		return
	}
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	values := a.flagValues()
	for command := range commandsBelow(root) {
		visit := func(flag *pflag.Flag) {
			flag.Usage = strings.ReplaceAll(flag.Usage, "`", "") // marks of names of values, shown as they are
			if values[flag.Name] != nil {
				a.register(command, flag.Name, values[flag.Name])
			}
		}
		command.Flags().VisitAll(visit)
		command.PersistentFlags().VisitAll(visit)
	}
}

// commandsBelow yields a command and all below it.
func commandsBelow(command *cobra.Command) iter.Seq[*cobra.Command] {
	return func(yield func(*cobra.Command) bool) {
		for todo := []*cobra.Command{command}; len(todo) > 0; todo = todo[1:] {
			if !yield(todo[0]) {
				return
			}
			todo = append(todo, todo[0].Commands()...)
		}
	}
}

// offerHelp offers topics, and the commands below the ones that are given.
func offerHelp(help *cobra.Command, words []string, _ string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(words) == 0 {
		for _, topic := range helpTopics() {
			found = append(found, cobra.CompletionWithDesc(topic[0], topic[1]))
		}
	}
	if parent, rest, err := help.Root().Find(words); err == nil && len(rest) == 0 {
		for _, command := range parent.Commands() {
			if command.IsAvailableCommand() {
				found = append(found, cobra.CompletionWithDesc(command.Name(), command.Short))
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) offerProfiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	loaded, err := guard.Result(a.loadConfig)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completable(append(loaded.ProfileNames(), "local")), cobra.ShellCompDirectiveNoFileComp
}

// offerKeys completes with keys of the configuration file.
func (a *app) offerKeys(keys func(*config.Config) []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, arguments []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		loaded, err := guard.Result(a.loadConfig)
		if len(arguments) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completable(keys(loaded)), cobra.ShellCompDirectiveNoFileComp
	}
}

// keysToGet lists the keys that have a value.
func keysToGet(loaded *config.Config) []cobra.Completion {
	return exslices.CastFunc(loaded.Settings(), func(s config.Setting) cobra.Completion {
		return cobra.CompletionWithDesc(s.Key, s.Value)
	})
}

// keysToSet lists all keys, with the names of profiles and providers that there are.
func keysToSet(loaded *config.Config) (keys []cobra.Completion) {
	for _, key := range config.Keys() {
		names := []string{""}
		if strings.HasPrefix(key.Path, "profiles.") {
			names = loaded.ProfileNames()
		} else if strings.HasPrefix(key.Path, "llm.providers.") {
			names = slices.Sorted(maps.Keys(loaded.LLM.Providers))
		}
		for _, name := range names {
			keys = append(keys, cobra.CompletionWithDesc(strings.Replace(key.Path, "<name>", name, 1), key.About))
		}
	}
	return keys
}

// openDecided opens where a search would go.
func (a *app) openDecided(ctx context.Context) *client.Session {
	return a.open(ctx, guard.Must(a.decideTarget(a.request())))
}

// offeredSources lists the sources that documents can have.
func offeredSources() []cobra.Completion {
	return exslices.CastFunc(client.OfferedSources(), func(source string) cobra.Completion {
		return cobra.CompletionWithDesc(source, client.SourceDescription(source))
	})
}

func offerAgents(value func(wire.Persona) string) offer {
	return func(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
		personas, _ := c.Personas(ctx)
		return exslices.CastFuncFilter(personas, func(p wire.Persona) (cobra.Completion, bool) {
			return cobra.CompletionWithDesc(value(p), text.OneLine(p.Name+": "+p.Description)), p.IsListed
		})
	}
}

// offerValues lists the values of a field.
func offerValues(id field.ID) offer {
	return func(ctx context.Context, c *client.Client, typed string) []cobra.Completion {
		listing, _ := c.ListValues(ctx, id, typed, defaultTags)
		return exslices.CastFunc(listing.Values, func(value client.ListedValue) cobra.Completion {
			return cobra.CompletionWithDesc(value.Name, text.OneLine(value.About))
		})
	}
}
