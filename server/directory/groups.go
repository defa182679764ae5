package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
)

const maxGroupName = 100 // characters

// Group is a group of people of this server.
type Group struct {
	ID      int
	Name    string
	Members []User
	CCPairs []int // ids of the private ones whose documents its members see, and of others that it was named for
}

// Membership says that somebody belongs to a group of a system that documents come from.
type Membership struct {
	Group ExternalGroup
	Email string
}

// AddGroup makes a group of users and of connector-credential pairs, both by their ids. An ExistsError if the name looks
// like that of another.
func (d *Directory) AddGroup(ctx context.Context, tenant, name string, users []string, pairs []int) (Group, error) {
	if err := checkText("a group's name", name, maxGroupName); err != nil {
		return Group{}, err
	}
	group := Group{Name: name}
	err := d.write(ctx, "add group "+name, func(tx *sql.Tx) error {
		err := refuseAlike(ctx, tx, KindGroup, name, "SELECT name FROM user_groups WHERE tenant_id = ?", tenant)
		if err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO user_groups (tenant_id, name, created_at)
			SELECT id, ?, ? FROM tenants WHERE id = ? RETURNING id`, name, d.now().UnixMicro(), tenant).Scan(&group.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return missing(KindTenant, quote(tenant))
		}
		if err != nil {
			return err
		}
		if err := link(ctx, tx, userLinks("user_group_members", "group_id", tenant), group.ID, users); err != nil {
			return err
		}
		return givePairs(ctx, tx, tenant, group.ID, pairs)
	})
	if err != nil {
		return Group{}, err
	}
	return d.group(ctx, tenant, group.ID)
}

// GivePairs lets the members of a group see the documents of private connectors. Settle the pairs afterwards.
func (d *Directory) GivePairs(ctx context.Context, tenant string, group int, pairs []int) error {
	return d.write(ctx, "give connectors to a group", func(tx *sql.Tx) error {
		return givePairs(ctx, tx, tenant, group, pairs)
	})
}

func givePairs(ctx context.Context, tx *sql.Tx, tenant string, group int, pairs []int) error {
	if err := link(ctx, tx, pairLinks("cc_pair_groups", "group_id", tenant), group, pairs); err != nil {
		return err
	}
	return touchPairs(ctx, tx, "id IN (SELECT cc_pair_id FROM cc_pair_groups WHERE group_id = ?)", group)
}

// Groups lists the groups of a tenant by name, with their members and pairs.
func (d *Directory) Groups(ctx context.Context, tenant string) ([]Group, error) {
	groups, err := d.groups(ctx, "tenant_id = ?", tenant)
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	return groups, nil
}

// GroupNamed finds a group by its name.
func (d *Directory) GroupNamed(ctx context.Context, tenant, name string) (Group, error) {
	groups, err := d.groups(ctx, "tenant_id = ? AND name = ?", tenant, name)
	if err == nil && len(groups) == 0 {
		err = missing(KindGroup, quote(name))
	}
	if err != nil {
		return Group{}, fmt.Errorf("find a group: %w", err)
	}
	return groups[0], nil
}

func (d *Directory) group(ctx context.Context, tenant string, id int) (Group, error) {
	groups, err := d.groups(ctx, "tenant_id = ? AND id = ?", tenant, id)
	if err == nil && len(groups) == 0 {
		err = missing(KindGroup, id)
	}
	if err != nil {
		return Group{}, fmt.Errorf("read a group: %w", err)
	}
	return groups[0], nil
}

func (d *Directory) groups(ctx context.Context, where string, args ...any) ([]Group, error) {
	groups := []Group{}
	err := d.each(ctx, func(rows *sql.Rows) error {
		var g Group
		if err := rows.Scan(&g.ID, &g.Name); err != nil {
			return err
		}
		groups = append(groups, g)
		return nil
	}, "SELECT id, name FROM user_groups WHERE "+where+" ORDER BY name", args...)
	for i := range groups {
		if err != nil {
			return nil, err
		}
		g := &groups[i]
		g.Members, err = d.users(ctx, "u.id IN (SELECT user_id FROM user_group_members WHERE group_id = ?)", g.ID)
		if err == nil {
			g.CCPairs, err = d.ids(ctx, "SELECT cc_pair_id FROM cc_pair_groups WHERE group_id = ? ORDER BY cc_pair_id", g.ID)
		}
	}
	return groups, err
}

// ids reads a column of numbers.
func (d *Directory) ids(ctx context.Context, query string, args ...any) (ids []int, err error) {
	err = d.each(ctx, func(rows *sql.Rows) error {
		id := 0
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
		return nil
	}, query, args...)
	return ids, err
}

// RemoveGroup ends a group: what was given to it, nobody has through it any more. Settle the pairs afterwards.
func (d *Directory) RemoveGroup(ctx context.Context, tenant, name string) error {
	return d.write(ctx, "remove group "+name, func(tx *sql.Tx) error {
		if err := touchPairs(ctx, tx, `id IN (SELECT p.cc_pair_id FROM cc_pair_groups p JOIN user_groups g ON g.id = p.group_id
			WHERE g.tenant_id = ? AND g.name = ?)`, tenant, name); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, "DELETE FROM user_groups WHERE tenant_id = ? AND name = ?", tenant, name)
		if err != nil {
			return err
		}
		return mustChange(result, missing(KindGroup, quote(name)))
	})
}

// LeaveGroup takes a user out of a group.
func (d *Directory) LeaveGroup(ctx context.Context, tenant, group, email string) error {
	return d.write(ctx, "take "+email+" out of group "+group, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM user_group_members
			WHERE group_id = (SELECT id FROM user_groups WHERE tenant_id = ?1 AND name = ?2)
				AND user_id = (SELECT id FROM users WHERE tenant_id = ?1 AND email = ?3)`, tenant, group, address(email))
		if err != nil {
			return err
		}
		return mustChange(result, refuse("%s is no member of group %s", email, quote(group)))
	})
}

// ExternalMembers lists who belongs to the groups of other systems, by source, group and address.
func (d *Directory) ExternalMembers(ctx context.Context, tenant string) ([]Membership, error) {
	members := []Membership{}
	err := d.each(ctx, func(rows *sql.Rows) error {
		var m Membership
		if err := rows.Scan(&m.Group.Source, &m.Group.ID, &m.Email); err != nil {
			return err
		}
		members = append(members, m)
		return nil
	}, `SELECT m.source, m.external_id, u.email FROM external_group_members m JOIN users u ON u.id = m.user_id
		WHERE u.tenant_id = ? ORDER BY m.source, m.external_id, u.email`, tenant)
	if err != nil {
		return nil, fmt.Errorf("list external groups: %w", err)
	}
	return members, nil
}

// LeaveExternalGroup takes a user, or with no address everybody, out of a group of another system.
func (d *Directory) LeaveExternalGroup(ctx context.Context, tenant string, group ExternalGroup, email string) error {
	return d.write(ctx, "leave group "+group.Source+":"+group.ID, func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `DELETE FROM external_group_members WHERE source = ?2 AND external_id = ?3
			AND user_id IN (SELECT id FROM users WHERE tenant_id = ?1 AND (?4 = '' OR email = ?4))`,
			tenant, group.Source, externalID(group.ID), address(email))
		if err != nil {
			return err
		}
		return mustChange(result, refuse("nobody of that name is a member of %s:%s", group.Source, group.ID))
	})
}

func checkExternalGroup(group ExternalGroup) error {
	if _, ok := wire.LookupSource(group.Source); !ok {
		return refuse("unknown source %s", quote(group.Source))
	}
	return checkText("a group's id", group.ID, maxExternalID)
}

// maxExternalID bounds the id of a group of another system, in characters.
const maxExternalID = 400

func externalID(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

func address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// relation is a table of pairs, the second of which names things of one tenant.
type relation struct {
	table, left, right string
	target             string // the table of the second
	live               string // a condition on it
	kind               Kind
	tenant             string
}

func userLinks(table, left, tenant string) relation {
	return relation{table: table, left: left, right: "user_id", target: "users", live: "TRUE", kind: KindUser, tenant: tenant}
}

func groupLinks(table, left, tenant string) relation {
	return relation{table: table, left: left, right: "group_id", target: "user_groups", live: "TRUE", kind: KindGroup,
		tenant: tenant}
}

func pairLinks(table, left, tenant string) relation {
	return relation{table: table, left: left, right: "cc_pair_id", target: "cc_pairs", live: "NOT is_deleting",
		kind: KindCCPair, tenant: tenant}
}

// link stores pairs of one thing with others, which must be of the tenant; those of another are as good as absent.
func link[T string | int](ctx context.Context, tx *sql.Tx, r relation, left int, right []T) error {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(right))) {
		found := false
		err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+r.target+" WHERE id = ? AND tenant_id = ? AND "+r.live+")",
			id, r.tenant).Scan(&found)
		if err != nil {
			return err
		}
		if !found {
			return missing(r.kind, id)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO "+r.table+" ("+r.left+", "+r.right+
			") VALUES (?, ?) ON CONFLICT DO NOTHING", left, id); err != nil {
			return err
		}
	}
	return nil
}
