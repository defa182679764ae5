package directory

import (
	"context"
	"errors"
	"fmt"

	"quarry/server/sqlite"
)

// Person returns a user who was authenticated elsewhere, for example by a key, with the permissions of a basic user. The
// error is ErrUnauthenticated for unknown and inactive users.
func (d *Directory) Person(ctx context.Context, tenant, email string) (Principal, error) {
	email = address(email)
	p, err := cached(ctx, d, personKey{tenant, email}, func() (Principal, error) { return d.lookUpPerson(ctx, tenant, email) })
	return p.clone(), err
}

func (d *Directory) lookUpPerson(ctx context.Context, tenant, email string) (Principal, error) {
	user, err := d.UserNamed(ctx, tenant, email)
	if errors.Is(err, ErrNotFound) || err == nil && !user.Active {
		return Principal{}, ErrUnauthenticated
	}
	if err != nil {
		return Principal{}, fmt.Errorf("look up %s: %w", quote(email), err)
	}
	p := Principal{UserID: user.ID, Tenant: user.Tenant, Email: user.Email, Name: user.Name,
		Permissions: effective(user.Role.permissions(), []string{PermissionBasic})}
	err = d.addGroups(ctx, &p)
	return p, err
}

// addGroups reads the groups of a principal.
func (d *Directory) addGroups(ctx context.Context, p *Principal) (err error) {
	p.Groups, err = sqlite.Select(ctx, d.db.Reader, sqlite.Column[string], `SELECT g.name
		FROM user_groups g JOIN user_group_members m ON m.group_id = g.id WHERE m.user_id = ? ORDER BY g.name`, p.UserID)
	if err != nil {
		return fmt.Errorf("read the groups of a user: %w", err)
	}
	p.ExternalGroups, err = sqlite.Select(ctx, d.db.Reader, func(g *ExternalGroup) []any { return []any{&g.Source, &g.ID} },
		"SELECT source, external_id FROM external_group_members WHERE user_id = ? ORDER BY source, external_id", p.UserID)
	if err != nil {
		return fmt.Errorf("read the external groups of a user: %w", err)
	}
	return nil
}
