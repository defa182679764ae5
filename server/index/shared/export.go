package shared

import (
	"context"
	"fmt"

	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/index/codec"
)

// exportChunks bounds what is read at once, beside one document.
const exportChunks = 8000

// fitting returns how many documents are read at once.
func fitting(rows []*stored) int {
	chunks := 0
	for i, row := range rows {
		if chunks += row.ChunkCount; chunks > exportChunks && i > 0 {
			return i
		}
	}
	return len(rows)
}

// Export implements index.Exporter.
func (s *Store) Export(ctx context.Context, after string, limit int) (documents []index.Document, err error) {
	shown, err := s.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer shown.Close()
	rows, err := shown.read.rows(ctx, "WHERE id > ? ORDER BY id LIMIT ?", after, limit)
	if err != nil {
		return nil, err
	}
	rows = rows[:fitting(rows)]
	for _, row := range rows {
		if row.Damaged {
			return nil, fmt.Errorf("document %q: %w: %w", row.ID, fault.ErrDamaged, row.Cause)
		}
	}
	documents, err = shown.read.whole(ctx, rows)
	for _, d := range documents {
		if err == nil && codec.Damaged(d.Chunks, 0) != nil {
			err = fmt.Errorf("document %q: %w", d.ID, fault.ErrDamaged)
		}
	}
	return documents, err
}

// Embeddings implements index.Exporter.
func (s *Store) Embeddings(ctx context.Context, model string, texts []string) ([][]float32, error) {
	found, _, err := s.known(ctx, model, texts)
	return found, err
}
