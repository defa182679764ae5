package directory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/mail"
	"time"

	"github.com/google/uuid"

	"quarry/server/sqldb"
)

// Role is the role of a user.
type Role string

// The roles.
const (
	RoleBasic Role = "basic"
	RoleAdmin Role = "admin"
)

// permissions returns the permissions of the role.
func (r Role) permissions() []string {
	if r == RoleAdmin {
		return []string{PermissionAdmin}
	}
	return []string{PermissionBasic, PermissionAddAgents}
}

// User is a person with an account.
type User struct {
	ID, Tenant, Email, Name string
	Role                    Role
	Active                  bool
	CreatedAt               time.Time
}

// AddUser creates a user. An existing user is returned unchanged, whatever their role.
func (v View) AddUser(email string, role Role) (user User, err error) {
	email, err = checkEmail(email)
	err = v.update("add user "+email, cmp.Or(err, checkRole(role)),
		func(tx tenantTx) { user = v.ensureUser(tx, email, role) })
	return user, err
}

func checkRole(role Role) error {
	if role != RoleBasic && role != RoleAdmin {
		return refuse("a role is %s or %s", RoleBasic, RoleAdmin)
	}
	return nil
}

// SetActive activates or deactivates a user with all their tokens.
func (v View) SetActive(email string, active bool) error {
	return v.exec("change user "+email, missing(KindUser, quote(email)),
		"UPDATE users SET is_active = ? WHERE tenant_id = ? AND email = ?", active, v.Tenant, address(email))
}

// SetRole changes the role of a user, for all their tokens at once.
func (v View) SetRole(email string, role Role) error {
	if err := checkRole(role); err != nil {
		return err
	}
	if address(email) == OwnerEmail && role != RoleAdmin {
		return refuse("the owner is always an administrator")
	}
	return v.exec("change user "+email, missing(KindUser, quote(email)),
		"UPDATE users SET role = ? WHERE tenant_id = ? AND email = ?", string(role), v.Tenant, address(email))
}

// RemoveUser removes a user with their tokens and memberships. Their agents remain, without an owner.
func (v View) RemoveUser(email string) error {
	if address(email) == OwnerEmail {
		return refuse("the owner cannot be removed")
	}
	return v.exec("remove user "+email, missing(KindUser, quote(email)),
		"DELETE FROM users WHERE tenant_id = ? AND email = ?", v.Tenant, address(email))
}

// Users lists the users of a tenant by address.
func (v View) Users() ([]User, error) {
	return v.users("u.tenant_id = ?", v.Tenant)
}

// UserNamed returns the user with that address, or a MissingError.
func (v View) UserNamed(email string) (User, error) {
	users, err := v.users("u.tenant_id = ? AND u.email = ?", v.Tenant, address(email))
	return sqldb.First(users, err, missing(KindUser, quote(email)))
}

func (v View) users(where string, args ...any) ([]User, error) {
	return sqldb.List(v.ctx, v.open, "read users", userColumns,
		"SELECT "+userSelection+" FROM users u WHERE "+where+" ORDER BY u.email", args...)
}

const userSelection = "u.id, u.tenant_id, u.email, u.name, u.role, u.is_active, u.created_at"

func userColumns(u *User) []any {
	return []any{&u.ID, &u.Tenant, &u.Email, &u.Name, &u.Role, &u.Active, (*sqldb.Micros)(&u.CreatedAt)}
}

// JoinExternalGroup adds a user to a group of another system. It creates a basic user if there is none.
func (v View) JoinExternalGroup(group ExternalGroup, email string) error {
	email, err := checkEmail(email)
	wrong := cmp.Or(checkSource(group.Source), checkText("a group's id", group.ID, maxExternalID), err)
	return v.update("add "+email+" to group "+group.Source+":"+group.ID, wrong, func(tx tenantTx) {
		user := v.ensureUser(tx, email, RoleBasic)
		tx.Exec(`INSERT INTO external_group_members (user_id, source, external_id) VALUES (?, ?, ?)
			ON CONFLICT DO NOTHING`, user.ID, group.Source, externalID(group.ID))
	})
}

// ensureUser returns the user with a valid address, or creates one.
func (d *Directory) ensureUser(tx tenantTx, email string, role Role) (user User) {
	tx.Exec(`INSERT INTO users (id, tenant_id, email, role, created_at)
		SELECT ?, id, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING`,
		uuid.NewString(), email, string(role), d.now().UnixMicro(), tx.tenant)
	tx.Row(noTenant(tx.tenant), userColumns(&user), "SELECT "+userSelection+
		" FROM users u WHERE u.tenant_id = ? AND u.email = ?", tx.tenant, email)
	return user
}

func checkEmail(email string) (string, error) {
	email = address(email)
	parsed, err := mail.ParseAddress(email)
	if err != nil || parsed.Address != email || len(email) > 254 {
		return "", refuse("not an e-mail address: %s", quote(email))
	}
	return email, nil
}

// Person returns a user who was authenticated elsewhere, for example by a key, with the permissions of a basic user.
// The error is ErrUnauthenticated for unknown and inactive users.
func (d *Directory) Person(ctx context.Context, tenant, email string) (Principal, error) {
	email = address(email)
	p, err := cached(ctx, d, cacheKey{what: "person", tenant: tenant, who: email},
		func() (Principal, error) { return d.lookUpPerson(ctx, tenant, email) })
	return p.clone(), err
}

func (d *Directory) lookUpPerson(ctx context.Context, tenant, email string) (Principal, error) {
	user, err := d.In(ctx, tenant).UserNamed(email)
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
	p.Groups, err = sqldb.List(ctx, d.open, "read the groups of a user", sqldb.Column[string], `SELECT g.name
		FROM user_groups g JOIN user_group_members m ON m.group_id = g.id WHERE m.user_id = ?
		ORDER BY g.name`, p.UserID)
	if err != nil {
		return err
	}
	p.ExternalGroups, err = sqldb.List(ctx, d.open, "read the external groups of a user",
		func(g *ExternalGroup) []any { return []any{&g.Source, &g.ID} },
		"SELECT source, external_id FROM external_group_members WHERE user_id = ? ORDER BY source, external_id",
		p.UserID)
	return err
}
