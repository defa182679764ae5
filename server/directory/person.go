package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/sqlite"
)

// Person is a user whom somebody else than this directory has recognised, by a key for instance. They may do what
// everybody may, and nothing that takes an administrator. It returns ErrUnauthenticated for who is not known or no
// longer active.
func (d *Directory) Person(ctx context.Context, tenant, email string) (Principal, error) {
	email = address(email)
	p, err := recall(ctx, d, personKey{tenant, email}, func() (Principal, error) { return d.lookUpPerson(ctx, tenant, email) })
	return p.own(), err
}

func (d *Directory) lookUpPerson(ctx context.Context, tenant, email string) (Principal, error) {
	var (
		p      Principal
		role   Role
		active bool
	)
	err := d.db.Reader.QueryRowContext(ctx, `SELECT id, tenant_id, email, name, role, is_active FROM users
		WHERE tenant_id = ? AND email = ?`, tenant, email).
		Scan(&p.UserID, &p.Tenant, &p.Email, &p.Name, &role, &active)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !active {
		return Principal{}, ErrUnauthenticated
	}
	if err != nil {
		return Principal{}, fmt.Errorf("look up %s: %w", quote(email), sqlite.Explain(err))
	}
	p.Permissions = effective(role.permissions(), []string{PermissionBasic})
	return p, d.addGroups(ctx, &p)
}

// addGroups adds the groups that a principal is in.
func (d *Directory) addGroups(ctx context.Context, p *Principal) (err error) {
	if p.Groups, err = d.groupsOf(ctx, p.UserID); err != nil {
		return fmt.Errorf("read the groups of a user: %w", err)
	}
	if p.ExternalGroups, err = d.externalGroupsOf(ctx, p.UserID); err != nil {
		return fmt.Errorf("read the external groups of a user: %w", err)
	}
	return nil
}
