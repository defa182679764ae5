package directory

import (
	"context"
	"database/sql"
	"fmt"

	"quarry/server/sqlite"
)

// AddModelTokens adds to the model tokens of a tenant on a day, such as "2026-08-01", and returns the day's sum. Adding 0
// only reads.
func (d *Directory) AddModelTokens(ctx context.Context, tenant, day string, tokens int) (sum int, err error) {
	if tokens == 0 {
		err := sqlite.Scan(d.db.Reader.QueryRowContext(ctx,
			"SELECT tokens FROM model_tokens WHERE tenant_id = ? AND day = ?", tenant, day), nil, &sum)
		if err != nil {
			return 0, fmt.Errorf("read the tokens of %s: %w", day, err)
		}
		return sum, nil
	}
	err = d.write(ctx, "count the tokens of "+day, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `INSERT INTO model_tokens (tenant_id, day, tokens) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET tokens = tokens + excluded.tokens RETURNING tokens`, tenant, day, tokens).Scan(&sum)
	})
	return sum, err
}
