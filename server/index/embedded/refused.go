package embedded

import (
	"context"
	"database/sql"
	"fmt"

	"quarry/server/index/vector"
	"quarry/server/sqlite"
)

// refusedTexts are the texts that a model does not take, as far as it was asked.
func refusedTexts(ctx context.Context, q querier, model string) (map[vector.Key]bool, error) {
	rows, err := q.QueryContext(context.WithoutCancel(ctx), "SELECT hash FROM refused_texts WHERE model = ?", model)
	if err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read what has no vectors: %w", err))
	}
	defer func() { _ = rows.Close() }()
	refused := make(map[vector.Key]bool)
	for rows.Next() {
		var hash []byte
		if err := rows.Scan(&hash); err != nil {
			return nil, sqlite.Explain(fmt.Errorf("read what has no vectors: %w", err))
		}
		var key vector.Key
		copy(key[:], hash)
		refused[key] = true
	}
	if err := rows.Err(); err != nil {
		return nil, sqlite.Explain(fmt.Errorf("read what has no vectors: %w", err))
	}
	return refused, nil
}

func countRefused(ctx context.Context, q querier, model string) (n int, err error) {
	row := q.QueryRowContext(context.WithoutCancel(ctx), "SELECT COUNT(*) FROM refused_texts WHERE model = ?", model)
	if err := row.Scan(&n); err != nil {
		return 0, sqlite.Explain(fmt.Errorf("count what has no vectors: %w", err))
	}
	return n, nil
}

func noteRefused(ctx context.Context, tx *sql.Tx, model string, keys []vector.Key) error {
	for _, key := range keys {
		_, err := tx.ExecContext(context.WithoutCancel(ctx), "INSERT OR IGNORE INTO refused_texts (model, hash) VALUES (?, ?)",
			model, key[:])
		if err != nil {
			return sqlite.Explain(fmt.Errorf("note what has no vectors: %w", err))
		}
	}
	return nil
}

// forgetRefused forgets, at the end of a pass, what other models did not take, and texts that no chunk has any more.
func (e *embedding) forgetRefused(ctx context.Context) error {
	known, err := refusedTexts(ctx, e.x.db.Reader, e.model)
	if err != nil {
		return err
	}
	others := 0
	row := e.x.db.Reader.QueryRowContext(ctx, "SELECT COUNT(*) FROM refused_texts WHERE model <> ?", e.model)
	if err := row.Scan(&others); err != nil {
		return sqlite.Explain(fmt.Errorf("count what has no vectors: %w", err))
	}
	var gone []vector.Key
	for key := range known {
		if !e.seen[key] {
			gone = append(gone, key)
		}
	}
	if others == 0 && len(gone) == 0 {
		return nil
	}
	return e.x.db.Update(ctx, func(tx *sql.Tx) error {
		statement := context.WithoutCancel(ctx)
		if _, err := tx.ExecContext(statement, "DELETE FROM refused_texts WHERE model <> ?", e.model); err != nil {
			return sqlite.Explain(fmt.Errorf("forget what has no vectors: %w", err))
		}
		for _, key := range gone {
			_, err := tx.ExecContext(statement, "DELETE FROM refused_texts WHERE model = ? AND hash = ?", e.model, key[:])
			if err != nil {
				return sqlite.Explain(fmt.Errorf("forget what has no vectors: %w", err))
			}
		}
		return nil
	})
}
