package directory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"quarry/client/wire"
	"quarry/server/sqldb"
)

const maxGroupName = 100 // characters

// Group is a group of users of this server.
type Group struct {
	ID      int
	Name    string
	Members []User
	CCPairs []int // ids of the pairs that it was given; its members see the documents of the private ones
}

// Membership is the membership of a user in a group of another system.
type Membership struct {
	Group ExternalGroup
	Email string
}

// AddGroup creates a group of users and connector-credential pairs, given by ids. The error is an ExistsError if the
// name looks like that of another group.
func (v View) AddGroup(name string, users []string, pairs []int) (Group, error) {
	id := 0
	err := v.update("add group "+name, checkText("a group's name", name, maxGroupName), func(tx tenantTx) {
		tx.refuseLookalike(KindGroup, name, "SELECT name FROM user_groups WHERE tenant_id = ?", v.Tenant)
		tx.Row(missing(KindTenant, quote(v.Tenant)), []any{&id}, `INSERT INTO user_groups (tenant_id, name, created_at)
			SELECT id, ?, ? FROM tenants WHERE id = ? RETURNING id`, name, v.now().UnixMicro(), v.Tenant)
		link(tx, userLinks("user_group_members", "group_id"), id, users)
		tx.givePairs(id, pairs)
	})
	return v.groupAfter(err, id)
}

// groupAfter returns a group as it is after a change, or the error of the change.
func (v View) groupAfter(err error, id int) (Group, error) {
	if err != nil {
		return Group{}, err
	}
	groups, err := v.groups("tenant_id = ? AND id = ?", v.Tenant, id)
	return sqldb.First(groups, err, missing(KindGroup, id))
}

// GroupChange is a change of a group; nil fields stay as they are.
type GroupChange struct {
	Name    string   // empty: as it is
	Users   []string // ids of the members from now on
	CCPairs []int    // ids of its connectors from now on
	Joining []string // ids of users who join
}

// ChangeGroup changes a group. The documents of its connectors must then be updated.
func (v View) ChangeGroup(id int, change GroupChange) (Group, error) {
	wrong := checkText("a group's name", cmp.Or(change.Name, "as it is"), maxGroupName)
	err := v.update(fmt.Sprintf("change group %d", id), wrong, func(tx tenantTx) {
		tx.refuseLookalike(KindGroup, change.Name, "SELECT name FROM user_groups WHERE tenant_id = ? AND id <> ?",
			v.Tenant, id)
		tx.Change(missing(KindGroup, id), `UPDATE user_groups SET name = coalesce(nullif(?, ''), name)
			WHERE id = ? AND tenant_id = ?`, change.Name, id, v.Tenant)
		tx.markPairsOfGroup(id)
		if change.Users != nil {
			tx.Exec("DELETE FROM user_group_members WHERE group_id = ?", id)
		}
		link(tx, userLinks("user_group_members", "group_id"), id, slices.Concat(change.Users, change.Joining))
		if change.CCPairs != nil {
			tx.Exec("DELETE FROM cc_pair_groups WHERE group_id = ?", id)
			tx.givePairs(id, change.CCPairs)
		}
	})
	return v.groupAfter(err, id)
}

func (tx tenantTx) markPairsOfGroup(id int) {
	tx.markPairsChanged("id IN (SELECT cc_pair_id FROM cc_pair_groups WHERE group_id = ?)", id)
}

func (tx tenantTx) givePairs(group int, pairs []int) {
	link(tx, pairLinks("cc_pair_groups", "group_id"), group, pairs)
	tx.markPairsOfGroup(group)
}

// Groups lists the groups of a tenant by name.
func (v View) Groups() ([]Group, error) {
	return v.groups("tenant_id = ?", v.Tenant)
}

func (v View) groups(where string, args ...any) ([]Group, error) {
	groups, err := sqldb.List(v.ctx, v.open, "read groups", func(g *Group) []any { return []any{&g.ID, &g.Name} },
		"SELECT id, name FROM user_groups WHERE "+where+" ORDER BY name", args...)
	members, membersErr := sqldb.ListByID(v.ctx, v.open, "read the members of groups", userColumns, `
		SELECT m.group_id, `+userSelection+`
		FROM user_group_members m JOIN users u ON u.id = m.user_id
		WHERE m.group_id IN (SELECT id FROM user_groups WHERE `+where+") ORDER BY u.email", args...)
	pairs, pairsErr := sqldb.ListByID(v.ctx, v.open, "read the connectors of groups", sqldb.Column[int], `
		SELECT group_id, cc_pair_id FROM cc_pair_groups
		WHERE group_id IN (SELECT id FROM user_groups WHERE `+where+") ORDER BY cc_pair_id", args...)
	for i := range groups {
		g := &groups[i]
		g.Members, g.CCPairs = members[g.ID], pairs[g.ID]
	}
	return groups, cmp.Or(err, membersErr, pairsErr)
}

// RemoveGroup removes a group. The documents of its connectors must then be updated.
func (v View) RemoveGroup(id int) error {
	return v.update(fmt.Sprintf("remove group %d", id), nil, func(tx tenantTx) {
		tx.markPairsOfGroup(id)
		tx.Change(missing(KindGroup, id), "DELETE FROM user_groups WHERE id = ? AND tenant_id = ?", id, v.Tenant)
	})
}

// ExternalMembers lists the memberships in groups of other systems, by source, group and address.
func (v View) ExternalMembers() ([]Membership, error) {
	return sqldb.List(v.ctx, v.open, "list external groups", func(m *Membership) []any {
		return []any{&m.Group.Source, &m.Group.ID, &m.Email}
	}, `SELECT m.source, m.external_id, u.email FROM external_group_members m JOIN users u ON u.id = m.user_id
		WHERE u.tenant_id = ? ORDER BY m.source, m.external_id, u.email`, v.Tenant)
}

// LeaveExternalGroup removes a user, or with no address all users, from a group of another system.
func (v View) LeaveExternalGroup(group ExternalGroup, email string) error {
	return v.exec("leave group "+group.Source+":"+group.ID,
		refuse("no such member of group %s:%s", group.Source, group.ID),
		`DELETE FROM external_group_members WHERE source = ?2 AND external_id = ?3
			AND user_id IN (SELECT id FROM users WHERE tenant_id = ?1 AND (?4 = '' OR email = ?4))`,
		v.Tenant, group.Source, externalID(group.ID), address(email))
}

func checkSource(source string) error {
	if _, ok := wire.LookupSource(source); !ok {
		return refuse("unknown source %s", quote(source))
	}
	return nil
}

// maxExternalID bounds the id of a group of another system, in characters.
const maxExternalID = 400

func externalID(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

func address(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// relation is a table of pairs of ids, the second of which are of things of one tenant.
type relation struct {
	table, left   string
	right, target string // column and table of the second
	live          string // a condition on it
	kind          Kind
}

func userLinks(table, left string) relation {
	return relation{table, left, "user_id", "users", "TRUE", KindUser}
}

func groupLinks(table, left string) relation {
	return relation{table, left, "group_id", "user_groups", "TRUE", KindGroup}
}

func pairLinks(table, left string) relation {
	return relation{table, left, "cc_pair_id", "cc_pairs", "NOT is_deleting", KindCCPair}
}

// link stores relations of one thing to others. It fails with a MissingError if one of them is not of the tenant.
func link[T string | int](tx tenantTx, r relation, left int, right []T) {
	for _, id := range slices.Compact(slices.Sorted(slices.Values(right))) {
		found := 0
		tx.Row(missing(r.kind, id), []any{&found},
			"SELECT 1 FROM "+r.target+" WHERE id = ? AND tenant_id = ? AND "+r.live, id, tx.tenant)
		tx.Exec("INSERT INTO "+r.table+" ("+r.left+", "+r.right+") VALUES (?, ?) ON CONFLICT DO NOTHING", left, id)
	}
}

// Audience has the users and groups who may use something, in addition to its owner and administrators.
type Audience struct {
	Users  []string // ids
	Groups []int    // ids
}

// maxAudience bounds the users, and the groups, of an audience.
const maxAudience = 10_000

func checkAudience(a Audience) error {
	if len(a.Users) > maxAudience || len(a.Groups) > maxAudience {
		return refuse("at most %d users and as many groups can be named", maxAudience)
	}
	return nil
}

// addAudience stores an audience, in the tables <thing>_users and <thing>_groups.
func (tx tenantTx) addAudience(thing string, id int, a Audience) {
	link(tx, userLinks(thing+"_users", thing+"_id"), id, a.Users)
	link(tx, groupLinks(thing+"_groups", thing+"_id"), id, a.Groups)
}

// audienceCondition returns the SQL condition that the user ?3 is in the audience of a row of alias.
func audienceCondition(thing, alias string) string {
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM %[1]s_users x WHERE x.%[1]s_id = %[2]s.id AND x.user_id = ?3)
		OR EXISTS (SELECT 1 FROM %[1]s_groups x JOIN user_group_members m ON m.group_id = x.group_id
			WHERE x.%[1]s_id = %[2]s.id AND m.user_id = ?3))`, thing, alias)
}

// audiences reads the audiences of things, and returns a function that looks them up by id.
func (v View) audiences(thing string, ids sqldb.JSON) (of func(id int) Audience, err error) {
	users, usersErr := related[string](v, thing, thing+"_users", "user_id", ids)
	groups, groupsErr := related[int](v, thing, thing+"_groups", "group_id", ids)
	return func(id int) Audience { return Audience{Users: users[id], Groups: groups[id]} }, cmp.Or(usersErr, groupsErr)
}

// related reads a column of a relation by the ids of the things.
func related[T string | int](v View, thing, table, column string, ids sqldb.JSON) (map[int][]T, error) {
	return sqldb.ListByID(v.ctx, v.open, "read "+table, sqldb.Column[T], fmt.Sprintf(`SELECT %[1]s_id, %[2]s FROM %[3]s
		WHERE %[1]s_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) ORDER BY %[2]s`, thing, column, table), ids)
}
