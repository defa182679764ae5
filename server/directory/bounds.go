package directory

import (
	"context"
	"database/sql"

	"quarry/server/sqlite"
)

// The maximum number of things of a user. Administrators may have adminFactor times as many.
const (
	MostAgents  = 100
	MostTokens  = 100
	adminFactor = 10
)

// refuseMore returns an error if a user already has the maximum number of things of a kind. The query counts them by user
// id. Things without an owner are not bounded.
func refuseMore(ctx context.Context, tx *sql.Tx, kind Kind, userID string, most int, query string) error {
	role := Role("")
	err := sqlite.Scan(tx.QueryRowContext(ctx, "SELECT role FROM users WHERE id = ?", userID), nil, &role)
	if err != nil || role == "" {
		return err
	}
	if role == RoleAdmin {
		most *= adminFactor
	}
	has := 0
	if err := tx.QueryRowContext(ctx, query, userID).Scan(&has); err != nil || has < most {
		return err
	}
	return refuse("a user may have at most %d %ss; remove one first", most, kind)
}
