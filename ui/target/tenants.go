package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server"
	"quarry/server/directory"
)

// Tenants lists the tenants of the library by name.
func (d *Directory) Tenants(ctx context.Context) ([]wire.DirectoryTenant, error) {
	if d.tokens.named {
		if err := d.tokens.host.needLibrary(d.tokens.dir); err != nil {
			return nil, err
		}
	}
	tenants, err := d.tokens.server.Tenants(ctx)
	if err != nil {
		return nil, libraryError(err)
	}
	listed := []wire.DirectoryTenant{}
	for _, tenant := range tenants {
		listed = append(listed, wireTenant(tenant))
	}
	return listed, nil
}

func wireTenant(t server.Tenant) wire.DirectoryTenant {
	return wire.DirectoryTenant{Name: t.ID, CreatedAt: directory.Timestamp(t.CreatedAt), Users: t.Users, Tokens: t.Tokens,
		Groups: t.Groups, Connectors: t.Connectors, DocumentSets: t.DocumentSets, Agents: t.Agents, Documents: t.Documents,
		Conversations: t.Conversations}
}

// AddTenant makes a tenant; made tells that there was none of that name.
func (d *Directory) AddTenant(ctx context.Context, name string) (added wire.DirectoryTenant, made bool, err error) {
	err = d.changing(ctx, func(people *directory.Directory) error {
		known, err := people.Tenants(ctx)
		if err != nil {
			return err
		}
		made = !slices.Contains(known, name)
		return people.AddTenant(ctx, name)
	})
	if err != nil {
		return added, false, err
	}
	tenants, err := d.Tenants(ctx)
	if at := slices.IndexFunc(tenants, func(t wire.DirectoryTenant) bool { return t.Name == name }); at >= 0 {
		added = tenants[at]
	}
	return added, made, err
}

// RemoveTenant removes a tenant with all that it has, and returns what that was. One that is not empty is refused, unless
// force.
func (d *Directory) RemoveTenant(ctx context.Context, name string, force bool) (removed wire.DirectoryTenant, err error) {
	var full server.NotEmptyError
	err = d.changing(ctx, func(*directory.Directory) error {
		tenant, err := d.tokens.server.RemoveTenant(ctx, name, force)
		removed = wireTenant(tenant)
		return err
	})
	if errors.As(err, &full) {
		err = &Error{Kind: ErrUsage, Problem: fmt.Sprintf("tenant %s is not empty: it has %s", name,
			strings.Join(removed.Holds(), ", ")), Fix: "to delete all of that: quarry admin tenant remove " + name + " --force"}
	}
	return removed, err
}
