package directory

import (
	"context"
	"database/sql"
	"fmt"

	"quarry/server/sqlite"
)

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
func addAudience(ctx context.Context, tx *sql.Tx, thing, tenant string, id int, a Audience) error {
	if err := link(ctx, tx, userLinks(thing+"_users", thing+"_id", tenant), id, a.Users); err != nil {
		return err
	}
	return link(ctx, tx, groupLinks(thing+"_groups", thing+"_id", tenant), id, a.Groups)
}

// audienceCondition returns the SQL condition that the user ?3 is in the audience of a row of alias.
func audienceCondition(thing, alias string) string {
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM %[1]s_users x WHERE x.%[1]s_id = %[2]s.id AND x.user_id = ?3)
		OR EXISTS (SELECT 1 FROM %[1]s_groups x JOIN user_group_members m ON m.group_id = x.group_id
			WHERE x.%[1]s_id = %[2]s.id AND m.user_id = ?3))`, thing, alias)
}

// audiences reads the audiences of things, and returns a function that looks them up by id.
func (d *Directory) audiences(ctx context.Context, thing string, ids sqlite.JSON) (of func(id int) Audience, err error) {
	users, err := related[string](ctx, d, thing, thing+"_users", "user_id", ids)
	if err != nil {
		return nil, err
	}
	groups, err := related[int](ctx, d, thing, thing+"_groups", "group_id", ids)
	return func(id int) Audience { return Audience{Users: users[id], Groups: groups[id]} }, err
}

// related reads a column of a relation by the ids of the things.
func related[T string | int](ctx context.Context, d *Directory, thing, table, column string, ids sqlite.JSON) (
	map[int][]T, error) {
	return sqlite.Group(ctx, d.db.Reader, sqlite.Column[T], fmt.Sprintf(`SELECT %[1]s_id, %[2]s FROM %[3]s
		WHERE %[1]s_id IN (SELECT value FROM json_each(?)) ORDER BY %[2]s`, thing, column, table), ids)
}
