package shared

import (
	"context"
	"fmt"
	"slices"

	"quarry/server/index"
	"quarry/server/index/codec"
	"quarry/server/sqldb"
)

// checkedAtOnce bounds the documents that a check reads into memory.
const checkedAtOnce = 256

// Check reads documents and compares them with their hashes. Damaged ones are marked, so that Write stores them again
// even if they did not change.
func (s *Store) Check(ctx context.Context, options index.CheckOptions, report func(done, total int)) (found []index.Damage, err error) {
	shown, err := s.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("check the documents: %w", err)
	}
	defer shown.Close()
	total, ids := shown.state.documents, options.Documents
	if ids == nil {
		if ids, err = sqldb.ColumnWhole[string](ctx, shown.tx, "SELECT id FROM documents"); err != nil {
			return nil, fmt.Errorf("check the documents: %w", err)
		}
	}
	done := 0
	for some := range slices.Chunk(ids, checkedAtOnce) {
		damaged, err := shown.examine(ctx, some)
		if err != nil {
			return found, fmt.Errorf("check the documents: %w", err)
		}
		found = append(found, damaged...)
		if done += len(some); report != nil {
			report(done, total)
		}
	}
	if len(found) == 0 || s.ReadOnly() {
		return found, nil
	}
	return found, s.update(ctx, func(tx *sqldb.Tx) {
		for _, damage := range found {
			tx.Exec("UPDATE documents SET hash = ? WHERE id = ?", []byte{}, damage.ID)
		}
	})
}

// examine returns the damage of documents.
func (s *Snapshot) examine(ctx context.Context, ids []string) (damaged []index.Damage, err error) {
	err = s.locked(func() error {
		found, err := s.read.find(ctx, ids)
		if err != nil {
			return err
		}
		rows := make([]*stored, 0, len(found))
		for _, id := range ids {
			if found[id] != nil {
				rows = append(rows, found[id])
			}
		}
		documents, err := s.read.whole(ctx, rows)
		for i, d := range documents {
			unread := codec.Damaged(d.Chunks, 0)
			if !rows[i].Damaged && unread == nil && slices.Equal(codec.Hash(&d), rows[i].Hash) {
				continue
			}
			damaged = append(damaged, damageOf(rows[i], 0, d.Chunks))
		}
		return err
	})
	return damaged, err
}
