package embedded

import (
	"context"
	"database/sql"
	"maps"

	"quarry/server/index/vector"
	"quarry/server/sqlite"
)

// refusedTexts are the texts that a model has refused.
func refusedTexts(ctx context.Context, db sqlite.Querier, model string) (map[vector.Key]bool, error) {
	refused := make(map[vector.Key]bool)
	err := each(ctx, db, func(row *sql.Rows) error {
		var hash []byte
		err := row.Scan(&hash)
		var key vector.Key
		copy(key[:], hash)
		refused[key] = true
		return err
	}, "SELECT hash FROM refused_texts WHERE model = ?", model)
	return refused, err
}

func noteRefused(ctx context.Context, tx *sql.Tx, model string, keys []vector.Key) error {
	for _, key := range keys {
		if _, err := execute(ctx, tx, "INSERT OR IGNORE INTO refused_texts (model, hash) VALUES (?, ?)", model,
			key[:]); err != nil {
			return err
		}
	}
	return nil
}

// forgetRefused removes, at the end of a pass, what other models refused, and texts that no chunk has any more.
func (e *embedding) forgetRefused(ctx context.Context) error {
	known, err := refusedTexts(ctx, e.x.db.Reader, e.model)
	if err != nil {
		return err
	}
	others := 0
	if err := get(ctx, e.x.db.Reader, []any{&others}, "SELECT COUNT(*) FROM refused_texts WHERE model <> ?",
		e.model); err != nil {
		return err
	}
	maps.DeleteFunc(known, func(key vector.Key, _ bool) bool { return e.seen[key] })
	if others == 0 && len(known) == 0 {
		return nil
	}
	return e.x.db.Update(ctx, func(tx *sql.Tx) error {
		if _, err := execute(ctx, tx, "DELETE FROM refused_texts WHERE model <> ?", e.model); err != nil {
			return err
		}
		for key := range known {
			if _, err := execute(ctx, tx, "DELETE FROM refused_texts WHERE model = ? AND hash = ?", e.model,
				key[:]); err != nil {
				return err
			}
		}
		return nil
	})
}
