package api

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/directory"
	"quarry/server/index"
)

// adminTenants lists the tenants by name. An empty library has only the default tenant.
func (s *Server) adminTenants(c *call, d *directory.Directory) (any, error) {
	known, err := d.DescribeTenants(c.Context())
	if err != nil {
		return nil, err
	}
	described := make([]wire.DirectoryTenant, len(known))
	for i, tenant := range known {
		if described[i], err = s.describeTenant(c.Context(), tenant); err != nil {
			return nil, err
		}
	}
	return described, nil
}

// describeTenant counts what is stored for a tenant.
func (s *Server) describeTenant(ctx context.Context, t directory.Tenant) (wire.DirectoryTenant, error) {
	described := wire.DirectoryTenant{Name: t.ID, CreatedAt: directory.Timestamp(t.CreatedAt), Users: t.Users, Tokens: t.Tokens,
		Groups: t.Groups, Connectors: t.Connectors, DocumentSets: t.DocumentSets, Agents: t.Agents}
	err := s.reading(ctx, t.ID, func(snapshot index.Snapshot) error {
		stats, err := snapshot.Stats(ctx)
		described.Documents = stats.Documents
		return err
	})
	if err != nil || s.Chats == nil {
		return described, err
	}
	sessions, err := s.Chats(ctx, t.ID, false)
	if err == nil {
		described.Conversations, err = sessions.Count(ctx)
	}
	return described, err
}

func (s *Server) addTenant(ctx context.Context, d *directory.Directory, _ string, added *wire.Added[wire.DirectoryTenant]) error {
	known, err := d.Tenants(ctx)
	if err != nil {
		return err
	}
	added.IsNew = !slices.Contains(known, added.Item.Name)
	if err := d.AddTenant(ctx, added.Item.Name); err != nil {
		return err
	}
	tenant, err := d.DescribeTenant(ctx, added.Item.Name)
	if err == nil {
		added.Item, err = s.describeTenant(ctx, tenant)
	}
	return err
}

// dropTenant removes a tenant with everything in it, and answers what that was. Without force it removes only an empty
// tenant.
func (s *Server) dropTenant(c *call, d *directory.Directory) (any, error) {
	ctx := c.Context()
	name, force := c.requireText("name", 1, longestPrompt), c.flag("force")
	if err := c.failure(); err != nil {
		return nil, err
	}
	known, err := d.DescribeTenant(ctx, name)
	if errors.Is(err, directory.ErrNotFound) {
		return nil, s.RemoveTenant(ctx, name) // also deletes the files of an interrupted removal
	}
	if err != nil {
		return nil, err
	}
	tenant, err := s.describeTenant(ctx, known)
	if err != nil {
		return nil, err
	}
	if held := tenant.Holds(); len(held) > 0 && !force {
		return nil, coded(http.StatusConflict, wire.CodeTenantNotEmpty, "tenant %s is not empty: it has %s", name, strings.Join(held, ", "))
	}
	return tenant, s.RemoveTenant(ctx, name)
}
