package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.mau.fi/util/exslices"

	"quarry/client"
	"quarry/client/field"
	"quarry/client/wire"
	"quarry/config"
	"quarry/internal/guard"
	"quarry/internal/text"
	"quarry/ui/passage"
	"quarry/ui/target"
)

func (a *app) adminCommand() *cobra.Command {
	command := a.group("admin", "Administer a served library", a.adminUsers(), a.adminGroups(), a.adminTokens(),
		a.adminConnectors(), a.adminAgents(), a.adminSets(), a.adminTenants())
	a.describe(command, traits{class: reads, open: a.openAdministered(false)})
	command.PersistentFlags().StringVar(&a.flags.Tenant, "tenant", "",
		"administer this tenant of the library (`NAME`) (default \"default\")")
	return command
}

// administration is what a command of admin does, with its argument, if it takes one.
type administration func(ctx context.Context, c *client.Client, name string)

// administer returns a command of admin.
func (a *app) administer(use, short string, is traits, run administration) *cobra.Command {
	is.open = a.openAdministered(false)
	return a.newCommand(use, short, is, func(ctx context.Context, arguments []string) {
		a.with(ctx, a.openAdministered(is.class == administers),
			func(ctx context.Context, c *client.Client) { run(ctx, c, strings.Join(arguments, "")) })
	})
}

// openAdministered opens this machine's library, or what a flag names. It makes nothing without change.
func (a *app) openAdministered(change bool) opener {
	return func(ctx context.Context) *client.Session {
		isTenant := a.command.Parent().Name() == "tenant"
		switch {
		case a.flags.Sample:
			refuse("Omit --sample.", "the sample library cannot be administered")
		case isTenant && a.flags.Tenant != "":
			refuse("Give the tenant as the argument: "+a.command.CommandPath()+" NAME",
				"--tenant does not apply to this command")
		case a.flags.Server == "" && a.flags.Profile == "":
			a.noteOtherTarget()
			return a.openAdmin(change)(ctx)
		case a.flags.Tenant != "":
			refuse("Omit --tenant: the token determines the tenant.", "--tenant works only on a local library")
		}
		choice := a.decide(a.request())
		if choice.Kind == target.KindSample || choice.Kind == target.KindSlack {
			refuse("Give --server URL or --library DIR.", "%s cannot be administered", choice.Describe())
		}
		return a.open(ctx, choice)
	}
}

// addCommand returns a command that makes a thing and prints it: as JSON for scripts, in a line for people. read
// returns what the argument and the flags ask for.
func addCommand[Request, T any](a *app, use, short string, read func(name string) Request,
	add func(*client.Client, context.Context, Request) (*wire.Added[T], error),
	describe func(*wire.Added[T]) string) *cobra.Command {
	is := traits{class: administers, arguments: cobra.NoFileCompletions, json: prints(*new(T))}
	return a.administer(use, short, is, func(ctx context.Context, c *client.Client, name string) {
		added := guard.Must(add(c, ctx, read(name)))
		a.noteNewUsers(added.NewUsers)
		a.report(added.Item, describe(added))
	})
}

func (a *app) noteNewUsers(emails []string) {
	for _, email := range emails {
		a.note("created user %s", email)
	}
}

// report prints a value as JSON for scripts, or a line about it for people.
func (a *app) report(value any, line string) {
	if a.wantsJSON() {
		a.printJSON(value)
	} else {
		a.say("%s", line)
	}
}

// listCommand returns a command that lists the things of a kind.
func listCommand[T any](a *app, kind administered[T]) *cobra.Command {
	is := traits{class: reads, json: prints([]T{})}
	return a.administer("list", "List "+strings.ReplaceAll(kind.plural, "-", " "), is,
		func(ctx context.Context, c *client.Client, _ string) {
			found := guard.Must(kind.list(c, ctx))
			a.uncopied = true
			printList(a, kind.plural, found, kind.none+a.libraryFlag(), kind.table, kind.cells)
		})
}

// checkEmails refuses what is no address.
func checkEmails(emails ...string) {
	for _, email := range emails {
		if !strings.Contains(email, "@") {
			refuse("Give an address like jo@acme.com.", "%q is not an email address", email)
		}
	}
}

// refuseSource refuses an unknown source, and names the one that was probably meant.
func refuseSource(source string) {
	refuseValueOf(field.Of(field.Source), source, wire.SourceValues())
}

// audienceFlags adds the flags for who has access: everybody, unless they name users or groups.
func audienceFlags(flags *pflag.FlagSet, users, groups *[]string, restricted *bool) {
	flags.StringSliceVar(users, "user", []string{}, "limit access to this user (`EMAIL`); repeatable")
	flags.StringSliceVar(groups, "group", []string{}, "limit access to this group (`NAME`); repeatable")
	flags.BoolVar(restricted, "restricted", false, "limit access to administrators if no user or group is given")
}

// audienceText describes who has access.
func audienceText(public bool, users, groups []string) string {
	if public {
		return "everybody"
	}
	return listOr("administrators", groups, users)
}

// listOr joins names for a cell.
func listOr(none string, lists ...[]string) string {
	return cmp.Or(strings.Join(slices.Concat(lists...), ", "), none)
}

func dayOr(moment *string, otherwise string) string {
	return cmp.Or(passage.Day(text.OrEmpty(moment)), otherwise)
}

func (a *app) adminTenants() *cobra.Command {
	var force bool
	is := traits{class: administers, json: prints(wire.DirectoryTenant{}),
		arguments: a.offered(offerTenants)}
	remove := a.administer("remove NAME", "Remove a tenant with all its content",
		is, func(ctx context.Context, c *client.Client, name string) {
			tenant, err := c.AdminRemoveTenant(ctx, name, force)
			if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == wire.CodeTenantNotEmpty {
				do := "Delete everything in it: quarry admin tenant remove " + name + " --force" + a.libraryFlag()
				refuse(do, "%s", refused.Error())
			}
			guard.Check(err)
			a.report(tenant, fmt.Sprintf("Removed tenant %s (%s).", name, listOr("empty", tenant.Holds())))
		})
	remove.Flags().BoolVar(&force, "force", false, "delete the tenant with everything in it")
	add := addCommand(a, "add NAME", "Create a tenant",
		func(name string) string { return name }, (*client.Client).AdminAddTenant,
		func(added *wire.Added[wire.DirectoryTenant]) string {
			name := added.Item.Name
			if !added.IsNew {
				return "Tenant " + name + " already exists."
			}
			return fmt.Sprintf("Created tenant %s. Create its first token: quarry admin token add NAME --tenant %s%s",
				name, name, a.libraryFlag())
		})
	return a.group("tenant", "Create, list and remove tenants", add, listCommand(a, tenants()), remove)
}

// offerTenants completes with the tenants that can be removed.
func offerTenants(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	return without(tenants().offer(ctx, c, ""), []string{wire.DefaultTenant})
}

func addableSource(as string) string {
	value, _ := field.Of(field.Source).Read(as)
	values := client.OfferedSources()
	if !slices.Contains(values, value) {
		all := strings.Join(slices.Sorted(slices.Values(values)), ", ")
		refuse(wire.Hint(value, "Choose one of "+all, values), "unknown source %q", as)
	}
	return value
}

// administered is a kind of object that admin lists.
type administered[T any] struct {
	noun   string // "document set"
	plural string // what their list is called: "document-sets"
	none   string // what is said where there are none
	list   func(*client.Client, context.Context) ([]T, error)
	// key returns the id of an object, and where its name is.
	key   func(*T) (id string, name *string)
	about func(T) string // what else tells it from others, for completion
	table table          // of their list
	cells func(T) []string
}

// offer completes with the names of the objects.
func (k administered[T]) offer(ctx context.Context, c *client.Client, _ string) []cobra.Completion {
	found, _ := k.list(c, ctx)
	return exslices.CastFunc(found, func(one T) cobra.Completion {
		_, name := k.key(&one)
		return strings.TrimSuffix(cobra.CompletionWithDesc(*name, k.about(one)), "\t")
	})
}

// find returns the object that an argument names by its name or id. One that the list lacks, or that a server cannot
// list, has only its name: it is for the change to refuse it.
func (k administered[T]) find(ctx context.Context, c *client.Client, argument string) (item T, listed bool) {
	all, err := k.list(c, ctx)
	if !errors.Is(err, client.ErrNotOffered) {
		guard.Check(err)
	}
	var labels []string
	for i := range all {
		if id, name := k.key(&all[i]); id == argument || *name == argument {
			item, labels = all[i], append(labels, fmt.Sprintf("%s (%s)", id, *name))
		}
	}
	switch len(labels) {
	case 0:
		_, name := k.key(&item)
		*name = argument
	case 1:
	default:
		refuse("Give a name or id that only one of them has.", "%q names %d %ss: %s", argument,
			len(labels), k.noun, strings.Join(labels, ", "))
	}
	return item, len(labels) == 1
}

// changeCommand returns a command that changes the object that its argument names, and prints it: as JSON for scripts,
// in a line for people, which done makes of its name.
func changeCommand[T any](a *app, use, short string, kind administered[T], done func(name string) string,
	change func(*client.Client, context.Context, *T) error) *cobra.Command {
	is := traits{class: administers, arguments: a.offered(kind.offer), json: prints(*new(T), unlistedOutput{})}
	return a.administer(use, short, is, func(ctx context.Context, c *client.Client, argument string) {
		item, listed := kind.find(ctx, c, argument)
		guard.Check(change(c, ctx, &item))
		_, name := kind.key(&item)
		var changed any = item
		if !listed {
			changed = unlistedOutput{*name}
		}
		a.report(changed, done(*name))
	})
}

// unlistedOutput is what is known of a changed object that the list lacks.
type unlistedOutput struct {
	Name string `json:"name" jsonschema:"as given"`
}

// doneWith returns what makes a line of a name.
func doneWith(format string) func(name string) string {
	return func(name string) string { return fmt.Sprintf(format, name) }
}

// without returns the elements of a list that another lacks.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return slices.Contains(other, one) })
}

// ensureTokenCommand prints the environment of a user's sandbox, whose token is made once and given out again.
func (a *app) ensureTokenCommand() *cobra.Command {
	var sandbox bool
	var address string
	request := wire.SandboxTokenRequest{}
	command := a.administer("ensure --sandbox --user EMAIL",
		"Print the environment of a user's sandbox, with its token",
		traits{class: administers, json: prints(sandboxOutput{})},
		func(ctx context.Context, c *client.Client, _ string) {
			checkSandbox(sandbox, request.User, &address)
			added := guard.Must(c.AdminEnsureSandboxToken(ctx, request))
			a.noteNewUsers(added.NewUsers)
			a.printSandbox(added, request.User, address)
		})
	flags := command.Flags()
	flags.BoolVar(&sandbox, "sandbox", false,
		"the token of the user's sandboxes, which can search and nothing else; required")
	flags.StringVar(&request.User, "user", "", "whose sandbox it is (`EMAIL`), created if unknown; required")
	flags.StringVar(&address, "url", "", "address of the served library as the sandbox reaches it (`URL`)")
	flags.BoolVar(&request.Renew, "renew", false, "replace a valid token; the old one ends at once")
	return command
}

// checkSandbox checks the flags, and completes the address.
func checkSandbox(sandbox bool, user string, address *string) {
	const example = "Example: quarry admin token ensure --sandbox --user jo@acme.com --url https://search.acme.com"
	switch {
	case !sandbox:
		refuse(example, "missing flag --sandbox")
	case user == "":
		refuse(example, "missing flag --user")
	case *address != "":
		completed, err := wire.ServerURL(*address)
		if err != nil {
			refuse("Give an address like https://search.acme.com.", "--url: %v", err)
		}
		*address = completed
	}
	checkEmails(user)
}

// sandboxEnvironment are the variables to inject into a sandbox.
type sandboxEnvironment struct {
	ServerURL string `json:"QUARRY_SERVER_URL,omitempty" jsonschema:"as --url gives it"`
	Token     string `json:"QUARRY_PAT"`
	ReadOnly  string `json:"QUARRY_READONLY"`
}

// sandboxOutput is the JSON of admin token ensure.
type sandboxOutput struct {
	Environment sandboxEnvironment `json:"environment" jsonschema:"variables to inject"`
	User        string             `json:"user"`
	ID          int                `json:"id" jsonschema:"of the token"`
	ExpiresAt   *string            `json:"expires_at"`
	Scopes      []string           `json:"scopes"`
	IsNew       bool               `json:"is_new" jsonschema:"false: the token existed before"`
	Schema      int                `json:"schema" jsonschema:"version of this format"`
}

// printSandbox prints the environment to inject, for a shell or as JSON.
func (a *app) printSandbox(added *wire.Added[wire.NewAccessToken], user, address string) {
	token := added.Item
	environment := sandboxEnvironment{address, token.Token, "1"}
	if address == "" {
		a.note("set QUARRY_SERVER_URL to the address of quarry serve as well, or give --url")
	}
	if a.flags.JSON {
		a.printJSON(sandboxOutput{environment, user, token.ID, token.ExpiresAt, token.Scopes, added.IsNew,
			schemaVersion})
		return
	}
	var b strings.Builder
	for _, variable := range objectOf(environment) {
		if !variable.leftOut {
			fmt.Fprintf(&b, "export %s=%s\n", variable.key, config.ShellQuote(fmt.Sprint(variable.value)))
		}
	}
	a.print(b.String())
	state := "Reused"
	if added.IsNew {
		state = "Created"
	}
	a.say("%s the sandbox token of %s. It expires on %s.", state, user, dayOr(token.ExpiresAt, "no day"))
}
