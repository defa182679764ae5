package directory

import (
	"context"
	"database/sql"

	"quarry/server/sqlite"
)

// The most that one person may have of a kind. Administrators may have adminFactor times as many.
const (
	MostAgents  = 100
	MostTokens  = 100
	adminFactor = 10
)

// refuseMore refuses one more thing of a kind to a user who has as many as a user may have. The query counts them by
// the user's id. What belongs to nobody, as what is arranged on the files, is not bounded.
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
