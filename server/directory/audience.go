package directory

import (
	"context"
	"database/sql"
	"fmt"
)

// Audience names who may use something that is not for everybody, beside its owner and the administrators.
type Audience struct {
	Users  []string // ids
	Groups []int    // ids
}

// maxAudience bounds the users, and the groups, that are named.
const maxAudience = 10_000

func checkAudience(a Audience) error {
	if len(a.Users) > maxAudience || len(a.Groups) > maxAudience {
		return refuse("at most %d users and as many groups can be named", maxAudience)
	}
	return nil
}

// admit stores an audience, in the tables <thing>_users and <thing>_groups.
func admit(ctx context.Context, tx *sql.Tx, thing, tenant string, id int, a Audience) error {
	if err := link(ctx, tx, userLinks(thing+"_users", thing+"_id", tenant), id, a.Users); err != nil {
		return err
	}
	return link(ctx, tx, groupLinks(thing+"_groups", thing+"_id", tenant), id, a.Groups)
}

// admits is the SQL condition that the user ?3 is in the audience of a row of alias.
func admits(thing, alias string) string {
	return fmt.Sprintf(`(EXISTS (SELECT 1 FROM %[1]s_users x WHERE x.%[1]s_id = %[2]s.id AND x.user_id = ?3)
		OR EXISTS (SELECT 1 FROM %[1]s_groups x JOIN user_group_members m ON m.group_id = x.group_id
			WHERE x.%[1]s_id = %[2]s.id AND m.user_id = ?3))`, thing, alias)
}

// audience reads an audience back.
func (d *Directory) audience(ctx context.Context, thing string, id int) (a Audience, err error) {
	a.Users, err = d.names(ctx, fmt.Sprintf("SELECT user_id FROM %[1]s_users WHERE %[1]s_id = ? ORDER BY user_id", thing), id)
	if err == nil {
		a.Groups, err = d.ids(ctx, fmt.Sprintf("SELECT group_id FROM %[1]s_groups WHERE %[1]s_id = ? ORDER BY group_id", thing), id)
	}
	return a, err
}
