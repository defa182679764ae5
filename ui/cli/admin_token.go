package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/passage"
	"quarry/ui/target"
)

const longestTokenName = 100 // characters

func (a *app) adminCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "admin",
		Short: "Administer a served library",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.group,
	}
	token := &cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke access tokens",
		Args:  cobra.ArbitraryArgs,
		RunE:  a.group,
	}
	token.AddCommand(a.tokenAddCommand(), a.tokenListCommand(), a.tokenRemoveCommand())
	command.AddCommand(a.adminUserCommand(), a.adminGroupCommand(), token, a.adminConnectorCommand(), a.adminAgentCommand(),
		a.adminSetCommand(), a.adminTenantCommand())
	command.PersistentFlags().StringVar(&a.flags.tenant, "tenant", "", "administer this tenant of the library (`NAME`) (default \"default\")")
	return command
}

// group prints the help of a command that only holds others, and refuses what none of them is called.
func (a *app) group(command *cobra.Command, arguments []string) error {
	if len(arguments) == 0 {
		return a.help(command)
	}
	var names []string
	for _, child := range command.Commands() {
		names = append(names, child.Name())
	}
	do := "See: " + command.CommandPath() + " --help"
	if near := wire.Nearest(arguments[0], names); near != "" {
		do = fmt.Sprintf("Did you mean: %s %s", command.CommandPath(), near)
	}
	return usage(do, "%q is not a command of %s", arguments[0], command.CommandPath())
}

func (a *app) tokenAddCommand() *cobra.Command {
	request := target.TokenRequest{}
	days := 0
	command := &cobra.Command{
		Use:   "add --name NAME",
		Short: "Create an access token",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if command.Flags().Changed("expires") {
				request.Days = &days
			}
			if err := a.mayChange(); err != nil {
				return err
			}
			return a.tokens(command.Context(), func(ctx context.Context, store Tokens) error {
				if err := checkTokenRequest(request, arguments); err != nil {
					return err
				}
				token, newUser, err := store.Add(ctx, request)
				if err != nil {
					return err
				}
				if newUser {
					a.note("there was no user %s, so one was made", request.User)
				}
				return a.printToken(token)
			})
		},
	}
	flags := command.Flags()
	flags.StringVar(&request.Name, "name", "", "what the token is for (`NAME`), 1 to 100 characters")
	flags.StringVar(&request.User, "user", "", "whose token it is (`EMAIL`) (default the owner)")
	flags.StringSliceVar(&request.Scopes, "scope", nil,
		"what it may do (`SCOPE`), like read:search; repeatable (default all that the user may)")
	flags.IntVar(&days, "expires", 0, "after how many `DAYS` it stops working (default never)")
	return command
}

func checkTokenRequest(request target.TokenRequest, arguments []string) error {
	name := strings.TrimSpace(request.Name)
	switch {
	case len(arguments) > 0:
		return usage("Give the name with --name.", "%q: this command takes no arguments", arguments[0])
	case name == "":
		return usage("Say what the token is for: --name laptop", "a token needs a name")
	case len([]rune(name)) > longestTokenName:
		return usage("Give a shorter name.", "the name has %d characters; at most 100 are allowed", len([]rune(name)))
	case request.Days != nil && *request.Days < 1:
		return usage("Give a number of days from 1 on.", "--expires %d is out of range", *request.Days)
	case request.User != "" && !strings.Contains(request.User, "@"):
		return usage("Give the user's email address.", "--user %q is not an email address", request.User)
	}
	return nil
}

// tokens opens the tokens of this machine's library, or those of a server that a flag names.
func (a *app) tokens(ctx context.Context, use func(context.Context, Tokens) error) error {
	ctx, cancel := a.deadline(ctx)
	defer cancel()
	store, err := a.tokenStore(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	return use(ctx, store)
}

func (a *app) tokenStore(ctx context.Context) (Tokens, error) {
	if a.flags.sample {
		return nil, usage("Leave --sample out.", "the sample library has no tokens")
	}
	if a.flags.server == "" && a.flags.profile == "" {
		a.tellOtherTarget("these are the tokens of")
		return a.program.Tokens(ctx, a.flags.library, a.flags.tenant)
	}
	session, err := a.administered(ctx)
	if err != nil {
		return nil, err
	}
	return remoteTokens{session}, nil
}

// remoteTokens are the tokens of the caller on a server.
type remoteTokens struct{ session *client.Session }

// Add makes a token for the caller; a server makes none for anybody else.
func (r remoteTokens) Add(ctx context.Context, request target.TokenRequest) (*wire.NewAccessToken, bool, error) {
	if request.User != "" {
		return nil, false, usage("Run the command where the library lies, without --server and --profile.",
			"a server makes tokens only for the one who asks, not for --user %s", request.User)
	}
	token, err := r.session.Client.CreateToken(ctx, wire.AccessTokenRequest{
		Name: request.Name, ExpirationDays: request.Days, Scopes: request.Scopes,
	})
	return token, false, err
}

// List lists the caller's tokens.
func (r remoteTokens) List(ctx context.Context) ([]target.ListedToken, error) {
	tokens, err := r.session.Client.ListTokens(ctx)
	listed := make([]target.ListedToken, 0, len(tokens))
	for _, token := range tokens {
		listed = append(listed, target.ListedToken{AccessToken: token})
	}
	return listed, err
}

// Remove revokes one of the caller's tokens.
func (r remoteTokens) Remove(ctx context.Context, id int) error {
	return r.session.Client.DeleteToken(ctx, id)
}

// Close ends the session.
func (r remoteTokens) Close() error { return r.session.Close() }

// printToken shows a new token. This is the only time that it can be seen.
func (a *app) printToken(token *wire.NewAccessToken) error {
	if a.wantsJSON() {
		text, err := encodeJSON(token)
		if err != nil {
			return err
		}
		return a.print(text)
	}
	if err := a.print([]byte(token.Token + "\n")); err != nil {
		return err
	}
	expiry := "It does not expire."
	if token.ExpiresAt != nil {
		expiry = "It works until " + passage.Day(*token.ExpiresAt) + "."
	}
	a.say("This is the only time that it is shown. %s", expiry)
	a.say("Use it with: export QUARRY_SERVER_URL=http://HOST:PORT QUARRY_PAT=%s…", clipBytes([]byte(token.Token), 12))
	return nil
}

func (a *app) tokenListCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List access tokens",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			return a.tokens(command.Context(), func(ctx context.Context, store Tokens) error {
				if len(arguments) > 0 {
					return usage("See: quarry admin token list --help", "%q: this command takes no arguments", arguments[0])
				}
				found, err := store.List(ctx)
				if err != nil {
					return err
				}
				return a.printTokens(found)
			})
		},
	}
	return command
}

func (a *app) printTokens(found []target.ListedToken) error {
	if a.wantsJSON() {
		return a.printAnswer("tokens", rows[target.ListedToken](found), true, false)
	}
	if len(found) == 0 {
		a.say("No tokens. Make one with: quarry admin token add --name NAME%s", a.libraryFlag())
		return nil
	}
	whose := slices.ContainsFunc(found, func(token target.ListedToken) bool { return token.User != "" })
	t := table{header: tokenCells(whose, "ID", "NAME", "USER", "TOKEN", "CREATED", "EXPIRES", "LAST USED", "SCOPES"),
		style: a.style, width: a.io.columns()}
	for _, token := range found {
		scopes := "all of the user's"
		if token.Scopes != nil {
			scopes = strings.Join(token.Scopes, ", ")
		}
		t.rows = append(t.rows, tokenCells(whose, strconv.Itoa(token.ID), token.Name, token.User, token.TokenDisplay,
			passage.Day(token.CreatedAt), dayOr(token.ExpiresAt, "never"), dayOr(token.LastUsedAt, "never"), scopes))
	}
	return a.print([]byte(t.String()))
}

// tokenCells is a row of the list. A server lists the caller's own tokens and names no user.
func tokenCells(whose bool, cells ...string) []string {
	if whose {
		return cells
	}
	return slices.Delete(cells, 2, 3)
}

func dayOr(moment *string, otherwise string) string {
	if moment == nil {
		return otherwise
	}
	return passage.Day(*moment)
}

func (a *app) tokenRemoveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "remove ID",
		Short: "Revoke an access token",
		Args:  cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := a.mayChange(); err != nil {
				return err
			}
			return a.tokens(command.Context(), func(ctx context.Context, store Tokens) error {
				if len(arguments) != 1 {
					return usage("Give one number of: quarry admin token list", "remove takes one token, not %d", len(arguments))
				}
				id, err := strconv.Atoi(arguments[0])
				if err != nil {
					return usage("Give the number of a token: quarry admin token list", "%q is not a number", arguments[0])
				}
				if err := store.Remove(ctx, id); err != nil {
					return err
				}
				a.say("Token %d no longer works.", id)
				return nil
			})
		},
	}
	return command
}
