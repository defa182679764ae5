package directory

import (
	"context"
	"database/sql"
	"errors"
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
	err := tx.QueryRowContext(ctx, "SELECT role FROM users WHERE id = ?", userID).Scan(&role)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if role == RoleAdmin {
		most *= adminFactor
	}
	has := 0
	if err := tx.QueryRowContext(ctx, query, userID).Scan(&has); err != nil {
		return err
	}
	if has >= most {
		return refuse("a user may have at most %d %ss; remove one first", most, kind)
	}
	return nil
}
