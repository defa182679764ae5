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
)

const longestTokenName = 100 // characters

func (a *app) adminCommand() *cobra.Command {
	token := a.adminGroup("token", "Create, list and revoke access tokens", a.tokenAddCommand(), a.tokenListCommand(), a.tokenRemoveCommand())
	command := a.adminGroup("admin", "Administer a served library", a.adminUserCommand(), a.adminGroupCommand(), token,
		a.adminConnectorCommand(), a.adminAgentCommand(), a.adminSetCommand(), a.adminTenantCommand())
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

// tokenCommandOf makes a command that looks at tokens, or changes them.
func (a *app) tokenCommandOf(use, short string, change bool, run administration) *cobra.Command {
	return a.administering("these are the tokens of", use, short, change, run)
}

func (a *app) tokenAddCommand() *cobra.Command {
	request := wire.DirectoryTokenRequest{}
	days := 0
	var command *cobra.Command
	command = a.tokenCommandOf("add --name NAME", "Create an access token", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			if command.Flags().Changed("expires") {
				request.ExpirationDays = &days
			}
			if err := checkTokenRequest(request, arguments); err != nil {
				return err
			}
			added, err := c.AdminAddToken(ctx, request)
			if err != nil {
				return err
			}
			a.noteNewUsers(added.NewUsers)
			return a.printToken(added.Item)
		})
	flags := command.Flags()
	flags.StringVar(&request.Name, "name", "", "what the token is for (`NAME`), 1 to 100 characters")
	flags.StringVar(&request.User, "user", "", "whose token it is (`EMAIL`) (default the owner)")
	flags.StringSliceVar(&request.Scopes, "scope", nil,
		"what it may do (`SCOPE`), like read:search; repeatable (default all that the user may)")
	flags.IntVar(&days, "expires", 0, "after how many `DAYS` it stops working (default never)")
	return command
}

func checkTokenRequest(request wire.DirectoryTokenRequest, arguments []string) error {
	name, days := strings.TrimSpace(request.Name), request.ExpirationDays
	switch {
	case len(arguments) > 0:
		return usage("Give the name with --name.", "%q: this command takes no arguments", arguments[0])
	case name == "":
		return usage("Say what the token is for: --name laptop", "a token needs a name")
	case len([]rune(name)) > longestTokenName:
		return usage("Give a shorter name.", "the name has %d characters; at most 100 are allowed", len([]rune(name)))
	case days != nil && *days < 1:
		return usage("Give a number of days from 1 on.", "--expires %d is out of range", *days)
	case request.User != "" && !strings.Contains(request.User, "@"):
		return usage("Give the user's email address.", "--user %q is not an email address", request.User)
	}
	return nil
}

// printToken shows a new token. This is the only time that it can be seen.
func (a *app) printToken(token wire.NewAccessToken) error {
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
	return a.tokenCommandOf("list", "List access tokens", false, func(ctx context.Context, c *client.Client, arguments []string) error {
		if err := a.noArguments(arguments); err != nil {
			return err
		}
		found, err := c.AdminTokens(ctx)
		if err != nil {
			return err
		}
		return a.printTokens(found)
	})
}

func (a *app) printTokens(found []wire.DirectoryToken) error {
	whose := slices.ContainsFunc(found, func(token wire.DirectoryToken) bool { return token.User != "" })
	header := tokenCells(whose, "ID", "NAME", "USER", "TOKEN", "CREATED", "EXPIRES", "LAST USED", "SCOPES")
	return adminList(a, "tokens", found, "No tokens. Make one with: quarry admin token add --name NAME", header,
		func(token wire.DirectoryToken) []string {
			scopes := "all of the user's"
			if token.Scopes != nil {
				scopes = strings.Join(token.Scopes, ", ")
			}
			return tokenCells(whose, strconv.Itoa(token.ID), token.Name, token.User, token.TokenDisplay,
				passage.Day(token.CreatedAt), dayOr(token.ExpiresAt, "never"), dayOr(token.LastUsedAt, "never"), scopes)
		})
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
	return a.tokenCommandOf("remove ID", "Revoke an access token", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			if len(arguments) != 1 {
				return usage("Give one number of: quarry admin token list", "remove takes one token, not %d", len(arguments))
			}
			id, err := strconv.Atoi(arguments[0])
			if err != nil {
				return usage("Give the number of a token: quarry admin token list", "%q is not a number", arguments[0])
			}
			if err := c.AdminRemoveToken(ctx, id); err != nil {
				return err
			}
			a.say("Token %d no longer works.", id)
			return nil
		})
}
