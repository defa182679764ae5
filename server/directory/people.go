package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/mail"
	"strings"

	"github.com/google/uuid"

	"quarry/server/sqlite"
)

// Role is what kind of user somebody is.
type Role string

// The roles.
const (
	RoleBasic Role = "basic"
	RoleAdmin Role = "admin"
)

// permissions are those that a user has by their role.
func (r Role) permissions() []string {
	if r == RoleAdmin {
		return []string{PermissionAdmin}
	}
	return []string{PermissionBasic}
}

// User is a person who may hold tokens.
type User struct {
	ID, Tenant, Email, Name string
	Role                    Role
	Active                  bool
}

// AddUser makes a user; one that exists already is returned as it is, whatever their role.
func (d *Directory) AddUser(ctx context.Context, tenant, email string, role Role) (User, error) {
	email, err := checkEmail(email)
	if err != nil {
		return User{}, err
	}
	if role != RoleBasic && role != RoleAdmin {
		return User{}, refuse("a role is %s or %s", RoleBasic, RoleAdmin)
	}
	var user User
	err = d.write(ctx, "add user "+email, func(tx *sql.Tx) error {
		user, err = d.ensureUser(ctx, tx, tenant, email, role)
		return err
	})
	return user, err
}

// HasUser reports whether a tenant has a user of that address.
func (d *Directory) HasUser(ctx context.Context, tenant, email string) (found bool, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error { return rows.Scan(&found) },
		"SELECT EXISTS (SELECT 1 FROM users WHERE tenant_id = ? AND email = ?)", tenant,
		strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return false, fmt.Errorf("look for user %s: %w", quote(email), err)
	}
	return found, nil
}

// SetActive lets a user in or keeps them out, with all their tokens.
func (d *Directory) SetActive(ctx context.Context, tenant, email string, active bool) error {
	return d.write(ctx, "change user "+email, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "UPDATE users SET is_active = ? WHERE tenant_id = ? AND email = ?",
			active, tenant, strings.ToLower(email))
		if err != nil {
			return err
		}
		return mustChange(result)
	})
}

// JoinGroup puts a user into a group of this server. The group and a basic user are made where they do not exist.
func (d *Directory) JoinGroup(ctx context.Context, tenant, group, email string) error {
	if err := checkText("a group's name", group, 100); err != nil {
		return err
	}
	email, err := checkEmail(email)
	if err != nil {
		return err
	}
	return d.write(ctx, "add "+email+" to group "+group, func(tx *sql.Tx) error {
		user, err := d.ensureUser(ctx, tx, tenant, email, RoleBasic)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO user_groups (tenant_id, name, created_at) VALUES (?, ?, ?)
			ON CONFLICT DO NOTHING`, tenant, group, d.now().UnixMicro()); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO user_group_members (group_id, user_id)
			SELECT id, ? FROM user_groups WHERE tenant_id = ? AND name = ? ON CONFLICT DO NOTHING`, user.ID, tenant, group)
		return err
	})
}

// JoinExternalGroup records that a user belongs to a group of the system that documents come from. A basic user is
// made where there is none.
func (d *Directory) JoinExternalGroup(ctx context.Context, tenant string, group ExternalGroup, email string) error {
	if err := errors.Join(checkText("a source", group.Source, 100), checkText("a group's id", group.ID, 500)); err != nil {
		return err
	}
	email, err := checkEmail(email)
	if err != nil {
		return err
	}
	return d.write(ctx, "add "+email+" to group "+group.Source+":"+group.ID, func(tx *sql.Tx) error {
		user, err := d.ensureUser(ctx, tx, tenant, email, RoleBasic)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO external_group_members (user_id, source, external_id) VALUES (?, ?, ?)
			ON CONFLICT DO NOTHING`, user.ID, group.Source, strings.ToLower(group.ID))
		return err
	})
}

// ensureUser finds a user by address, or makes one. The address has been checked.
func (d *Directory) ensureUser(ctx context.Context, tx *sql.Tx, tenant, email string, role Role) (User, error) {
	if _, err := tx.ExecContext(ctx, `INSERT INTO users (id, tenant_id, email, role, created_at)
		SELECT ?, id, ?, ?, ? FROM tenants WHERE id = ? ON CONFLICT DO NOTHING`,
		uuid.NewString(), email, string(role), d.now().UnixMicro(), tenant); err != nil {
		return User{}, err
	}
	user := User{Tenant: tenant}
	err := tx.QueryRowContext(ctx,
		"SELECT id, email, name, role, is_active FROM users WHERE tenant_id = ? AND email = ?", tenant, email).
		Scan(&user.ID, &user.Email, &user.Name, &user.Role, &user.Active)
	if errors.Is(err, sql.ErrNoRows) {
		return User{}, fmt.Errorf("tenant %s: %w", quote(tenant), ErrNotFound)
	}
	return user, err
}

func checkEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	address, err := mail.ParseAddress(email)
	if err != nil || address.Address != email || len(email) > 254 {
		return "", refuse("not an e-mail address: %s", quote(email))
	}
	return email, nil
}

func mustChange(result sql.Result) error {
	n, err := result.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrNotFound
	}
	return nil
}

// groupsOf lists the names of a user's groups.
func (d *Directory) groupsOf(ctx context.Context, userID string) (groups []string, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		groups = append(groups, name)
		return nil
	}, `SELECT g.name FROM user_groups g JOIN user_group_members m ON m.group_id = g.id
		WHERE m.user_id = ? ORDER BY g.name`, userID)
	return groups, err
}

// externalGroupsOf lists a user's groups in the systems that documents come from.
func (d *Directory) externalGroupsOf(ctx context.Context, userID string) (groups []ExternalGroup, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error {
		var g ExternalGroup
		if err := rows.Scan(&g.Source, &g.ID); err != nil {
			return err
		}
		groups = append(groups, g)
		return nil
	}, "SELECT source, external_id FROM external_group_members WHERE user_id = ? ORDER BY source, external_id", userID)
	return groups, err
}

// each calls read for every row of a query.
func (d *Directory) each(ctx context.Context, read func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := d.db.Reader.QueryContext(ctx, query, args...)
	if err != nil {
		return sqlite.Explain(err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return sqlite.Explain(rows.Err())
}
