package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"quarry/client"
	"quarry/client/wire"
	"quarry/ui/passage"
)

func (a *app) adminTenantCommand() *cobra.Command {
	return a.adminGroup("tenant", "Create, list and remove tenants", a.tenantAddCommand(), a.tenantListCommand(), a.tenantRemoveCommand())
}

// tenantCommandOf is a command on tenants, which are named as its argument.
func (a *app) tenantCommandOf(use, short string, changes bool, run administration) *cobra.Command {
	return a.adminCommandOf(use, short, changes, func(ctx context.Context, c *client.Client, arguments []string) error {
		if a.flags.tenant != "" {
			return usage("Name the tenant without the flag, like this: quarry "+a.commandName()+" acme",
				"--tenant says where the other commands work")
		}
		return run(ctx, c, arguments)
	})
}

func (a *app) tenantAddCommand() *cobra.Command {
	return a.tenantCommandOf("add NAME", "Create a tenant", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			name, err := a.oneName(arguments, "name", "acme")
			if err != nil {
				return err
			}
			added, err := c.AdminAddTenant(ctx, name)
			if err != nil {
				return err
			}
			tenant := added.Item
			if !added.IsNew {
				return a.tell(tenant, "Tenant %s was there already.", tenant.Name)
			}
			return a.tell(tenant, "Tenant %s is made. Its first token: quarry admin token add --name NAME --tenant %s%s",
				tenant.Name, tenant.Name, a.libraryFlag())
		})
}

func (a *app) tenantListCommand() *cobra.Command {
	return a.tenantCommandOf("list", "List tenants", false, listing(a, "tenants",
		"No tenants.",
		(*client.Client).AdminTenants, []string{"TENANT", "SINCE", "DOCUMENTS", "USERS", "TOKENS", "CONVERSATIONS"},
		func(t wire.DirectoryTenant) []string {
			return []string{t.Name, passage.Day(t.CreatedAt), strconv.Itoa(t.Documents), strconv.Itoa(t.Users),
				strconv.Itoa(t.Tokens), strconv.Itoa(t.Conversations)}
		}))
}

func (a *app) tenantRemoveCommand() *cobra.Command {
	force := false
	command := a.tenantCommandOf("remove NAME", "Remove a tenant with all its content", true,
		func(ctx context.Context, c *client.Client, arguments []string) error {
			name, err := a.oneName(arguments, "name", "acme")
			if err != nil {
				return err
			}
			tenant, err := c.AdminRemoveTenant(ctx, name, force)
			var refused *client.Error
			if errors.As(err, &refused) && refused.Code == wire.CodeTenantNotEmpty {
				return usage("To delete all of that: quarry admin tenant remove "+name+" --force", "%s", refused.Error())
			}
			if err != nil {
				return err
			}
			held := tenant.Holds()
			if len(held) == 0 {
				return a.tell(tenant, "Tenant %s is removed; it was empty.", name)
			}
			return a.tell(tenant, "Tenant %s is removed, and with it: %s.", name, strings.Join(held, ", "))
		})
	command.Flags().BoolVar(&force, "force", false, "also if it is not empty: delete all that it has")
	return command
}
