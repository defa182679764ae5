package cli

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/state"
)

// completionTime is how long a shell waits for values of a server; after that there are none.
const completionTime = time.Second

func (a *app) completionCommand() *cobra.Command {
	var command *cobra.Command
	command = a.newCommand("completion SHELL", "Print a shell completion script", func(_ context.Context, arguments []string) error {
		root := command.Root()
		switch arguments[0] {
		case "bash":
			return root.GenBashCompletionV2(a.out, true)
		case "zsh":
			return root.GenZshCompletion(a.out)
		case "fish":
			return root.GenFishCompletion(a.out, true)
		case "powershell":
			return root.GenPowerShellCompletionWithDesc(a.out)
		}
		return usage(nearestOf(arguments[0], "Name one of bash, zsh, fish, powershell.", command.ValidArgs), "unknown shell %q", arguments[0])
	})
	command.ValidArgs = []cobra.Completion{"bash", "zsh", "fish", "powershell"}
	return command
}

// offer lists what a server has, as far as it begins with what is typed; nothing if it cannot be listed.
type offer func(ctx context.Context, c *client.Client, typed string) []cobra.Completion

// completeFlags offers what a server or library has as values of a command's flags. A flag that the command lacks is
// left out.
func (a *app) completeFlags(command *cobra.Command, open opener) {
	for _, row := range field.All() {
		if row.Flag != nil {
			a.completeFlag(command, row.Flag.Name, open, offerValues(row.ID))
		}
	}
	for flag, values := range map[string]offer{
		"set":      offerValues(field.Set),
		"agent":    offerAgents(func(agent wire.Persona) string { return agent.Name }),
		"agent-id": offerAgents(func(agent wire.Persona) string { return strconv.Itoa(agent.ID) }),
	} {
		a.completeFlag(command, flag, open, values)
	}
	for flag, values := range map[string]func() []cobra.Completion{
		"session": func() []cobra.Completion { return nil },
		"format":  func() []cobra.Completion { return searchFormats() },
		"sort": func() []cobra.Completion {
			return []cobra.Completion{wire.SortRelevance, wire.SortNewest, wire.SortOldest}
		},
		"to": wire.Engines,
		"as": func() []cobra.Completion { return describeSources(sourceValues(client.IsOffered)) },
	} {
		a.register(command, flag, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return values(), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// register sets the values of a flag, if a shell asks: cobra keeps what is registered, and so the whole run, as long as
// the process lives.
func (a *app) register(command *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if !a.completes || command.Flag(flag) == nil {
		return
	}
	if err := command.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag does not exist: a mistake in the command that has it
	}
}

// completeFlag offers what a server or library has. Of a list separated by commas the last item is completed.
func (a *app) completeFlag(command *cobra.Command, flag string, open opener, values offer) {
	a.register(command, flag, func(ran *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		first := ""
		if _, isList := ran.Flag(flag).Value.(pflag.SliceValue); isList {
			first = typed[:strings.LastIndexByte(typed, ',')+1]
		}
		found := a.complete(ran, open, values, typed[len(first):])
		for i := range found {
			found[i] = first + found[i]
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
}

// completeArgument offers what a server or library has as the only argument of a command.
func (a *app) completeArgument(command *cobra.Command, open opener, values offer) {
	command.ValidArgsFunction = func(ran *cobra.Command, arguments []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		if len(arguments) == 0 {
			found = a.complete(ran, open, values, typed)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// complete returns what there is; whatever fails or takes too long, there is nothing to offer.
func (a *app) complete(command *cobra.Command, open opener, values offer, typed string) []cobra.Completion {
	a.command, a.flags.quiet = command, true
	ctx, cancel := context.WithTimeout(context.Background(), completionTime) // the shell gives no context
	defer cancel()
	done := make(chan []cobra.Completion, 1)
	guard.Go(func() {
		var found []cobra.Completion
		_ = a.with(ctx, open, func(ctx context.Context, c *client.Client) error {
			found = values(ctx, c, typed)
			return nil
		})
		done <- found
	}, func(error) { done <- nil })
	select {
	case found := <-done:
		return completable(found)
	case <-ctx.Done(): // a disk can be slower than any context
		return nil
	}
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
		if value == "" || len(value) > longestValue || strings.ContainsFunc(value, special) || strings.ContainsRune("-_ #'", rune(value[0])) {
			continue
		}
		if about = text.Shorten(printable(text.OneLine(about)), longestDescription); about != "" {
			value = cobra.CompletionWithDesc(value, about)
		}
		safe = append(safe, value)
	}
	return safe
}

// completeTree offers values of the arguments and flags that several commands have.
func (a *app) completeTree(root *cobra.Command) {
	if !a.completes {
		return
	}
	plainUsage(root)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	a.register(root, "library", cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs))
	a.register(root, "profile", a.offerProfiles)
	for _, command := range root.Commands() {
		switch command.Name() {
		case "add", "remove", "sync", "read":
			command.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveDefault)
		case "search":
			a.register(command, "also", a.offerProfiles)
		case "collection":
			a.register(command, "format", cobra.FixedCompletions(state.Formats(), cobra.ShellCompDirectiveNoFileComp))
		case "install-skill":
			names := exslices.CastFunc(harnesses(), func(h harness) cobra.Completion { return h.name })
			a.register(command, "agent", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
		case "config":
			a.completeKeys(command)
		case "admin":
			a.completeAdmin(command)
		}
		for _, flag := range []string{"history", "from"} {
			a.register(command, flag, cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault))
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
	loaded, err := a.loadConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completable(append(loaded.ProfileNames(), "local")), cobra.ShellCompDirectiveNoFileComp
}

// completeKeys offers the keys of the configuration file: those with a value to get, all to set.
func (a *app) completeKeys(command *cobra.Command) {
	for _, one := range command.Commands() {
		isGet := one.Name() == "get"
		if !isGet && one.Name() != "set" {
			continue
		}
		one.ValidArgsFunction = func(_ *cobra.Command, arguments []string, _ string) (keys []cobra.Completion, _ cobra.ShellCompDirective) {
			loaded, err := a.loadConfig()
			switch {
			case len(arguments) > 0 || err != nil:
			case isGet:
				keys = exslices.CastFunc(loaded.Settings(), func(s config.Setting) cobra.Completion {
					return cobra.CompletionWithDesc(s.Key, s.Value)
				})
			default:
				keys = keysToSet(loaded)
			}
			return completable(keys), cobra.ShellCompDirectiveNoFileComp
		}
	}
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

// completeAdmin offers what is administered: as the argument of what changes it, and in flags.
func (a *app) completeAdmin(admin *cobra.Command) {
	open := func(ctx context.Context) (*client.Session, error) { return a.openAdministered(ctx, false) }
	names := map[string]offer{
		"user":         offerNames((*client.Client).AdminUsers, func(u wire.DirectoryUser) (string, string) { return u.Email, u.Role }),
		"group":        offerNames((*client.Client).AdminGroups, func(g wire.DirectoryGroup) (string, string) { return g.Name, strings.Join(g.Users, ", ") }),
		"connector":    offerNames((*client.Client).AdminConnectors, func(c wire.DirectoryConnector) (string, string) { return c.Name, c.Source }),
		"document-set": offerNames((*client.Client).AdminDocumentSets, func(s wire.DirectorySet) (string, string) { return s.Name, s.Description }),
		"agent":        offerNames((*client.Client).AdminAgents, func(g wire.DirectoryAgent) (string, string) { return g.Name, g.Description }),
		"tenant":       offerNames((*client.Client).AdminTenants, func(t wire.DirectoryTenant) (string, string) { return t.Name, "" }),
		"token": offerNames((*client.Client).AdminTokens, func(t wire.DirectoryToken) (string, string) {
			return t.Name, strings.TrimSpace(strconv.Itoa(t.ID) + " " + t.User)
		}),
	}
	a.completeFlag(admin, "tenant", open, names["tenant"])
	for _, group := range admin.Commands() {
		for _, command := range group.Commands() {
			switch {
			case slices.Contains([]string{"add", "ensure", "list"}, command.Name()):
			case group.Name() == "tenant":
				a.completeArgument(command, open, offerRemovableTenants)
			default:
				a.completeArgument(command, open, names[group.Name()])
			}
			for flag, kind := range map[string]string{"user": "user", "creator": "user", "group": "group", "connector": "connector", "document-set": "document-set"} {
				a.completeFlag(command, flag, open, names[kind])
			}
			for flag, values := range map[string][]cobra.Completion{"source": describeSources(sourceValues(client.IsOffered)),
				"role": {"basic", "admin"}, "access": {"public", "private", "sync"}} {
				a.register(command, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
			}
		}
	}
}

// offerNames lists the names of a kind of things.
func offerNames[T any](list func(*client.Client, context.Context) ([]T, error), name func(T) (name, about string)) offer {
	return func(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
		found, _ := list(c, ctx)
		return exslices.CastFunc(found, func(one T) cobra.Completion { return cobra.CompletionWithDesc(name(one)) })
	}
}

// offerRemovableTenants leaves out the built-in tenant.
func offerRemovableTenants(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	found, _ := c.AdminTenants(ctx)
	return exslices.CastFuncFilter(found, func(t wire.DirectoryTenant) (cobra.Completion, bool) { return t.Name, t.Name != wire.DefaultTenant })
}

// openDecided opens where a search would go.
func (a *app) openDecided(ctx context.Context) (*client.Session, error) {
	choice, err := a.decideTarget(a.request())
	if err != nil {
		return nil, err
	}
	return a.open(ctx, choice)
}

func describeSources(values []string) []cobra.Completion {
	return exslices.CastFunc(values, func(source string) cobra.Completion {
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

// plainUsage removes the marks around the names of values from the descriptions of flags, which completion shows as they are.
func plainUsage(command *cobra.Command) {
	unmark := func(flag *pflag.Flag) { flag.Usage = strings.ReplaceAll(flag.Usage, "`", "") }
	command.Flags().VisitAll(unmark)
	command.PersistentFlags().VisitAll(unmark)
	for _, sub := range command.Commands() {
		plainUsage(sub)
	}
}
