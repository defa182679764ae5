package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/config"
)

// ensureTokenCommand prints the environment of a user's sandbox, whose token is made once and given out again.
func (a *app) ensureTokenCommand() *cobra.Command {
	var sandbox bool
	var address string
	request := wire.SandboxTokenRequest{}
	command := a.administer("ensure --sandbox --user EMAIL", "Print the environment of a user's sandbox, with its token",
		traits{class: administers, json: prints(sandboxOutput{})},
		func(ctx context.Context, c *client.Client, _ string) error {
			if err := checkSandbox(sandbox, request.User, &address); err != nil {
				return err
			}
			added, err := c.AdminEnsureSandboxToken(ctx, request)
			if err != nil {
				return err
			}
			a.noteNewUsers(added.NewUsers)
			return a.printSandbox(added, request.User, address)
		})
	flags := command.Flags()
	flags.BoolVar(&sandbox, "sandbox", false, "the token of the user's sandboxes, which can search and nothing else; required")
	flags.StringVar(&request.User, "user", "", "whose sandbox it is (`EMAIL`), created if unknown; required")
	flags.StringVar(&address, "url", "", "address of the served library as the sandbox reaches it (`URL`)")
	flags.BoolVar(&request.Renew, "renew", false, "replace a valid token; the old one ends at once")
	return command
}

// checkSandbox checks the flags, and completes the address.
func checkSandbox(sandbox bool, user string, address *string) (err error) {
	const example = "Example: quarry admin token ensure --sandbox --user jo@acme.com --url https://search.acme.com"
	switch {
	case !sandbox:
		return usage(example, "missing flag --sandbox")
	case user == "":
		return usage(example, "missing flag --user")
	case *address != "":
		if *address, err = wire.ServerURL(*address); err != nil {
			return usage("Give an address like https://search.acme.com.", "--url: %v", err)
		}
	}
	return checkEmails(user)
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
func (a *app) printSandbox(added *wire.Added[wire.NewAccessToken], user, address string) error {
	token := added.Item
	environment := sandboxEnvironment{address, token.Token, "1"}
	if address == "" {
		a.note("set QUARRY_SERVER_URL to the address of quarry serve as well, or give --url")
	}
	if a.flags.json {
		return a.printJSON(sandboxOutput{environment, user, token.ID, token.ExpiresAt, token.Scopes, added.IsNew, schemaVersion})
	}
	var b strings.Builder
	for _, variable := range objectOf(environment) {
		if !variable.isLeftOut() {
			fmt.Fprintf(&b, "export %s=%s\n", variable.name(), config.ShellQuote(fmt.Sprint(variable.value)))
		}
	}
	if err := a.print([]byte(b.String())); err != nil {
		return err
	}
	state := "Reused"
	if added.IsNew {
		state = "Created"
	}
	a.say("%s the sandbox token of %s. It expires on %s.", state, user, dayOr(token.ExpiresAt, "no day"))
	return nil
}
