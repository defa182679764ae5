package shared

import (
	"context"
	"fmt"

	"quarry/server/index"
	"quarry/server/index/documents"
	"quarry/server/sqldb"
)

// embedAtOnce documents are embedded together.
const embedAtOnce = 64

// Embed gives the passages of all documents vectors by a model, and puts the documents into the log again, so that its
// followers get the vectors.
func (s *Store) Embed(ctx context.Context, model string, vectors index.Vectorise, report func(index.Embedded)) error {
	if report == nil {
		report = func(index.Embedded) {}
	}
	vectorise := s.Vectorise(model, vectors)
	for last := int64(-1); ; {
		rows, texts, err := s.unembedded(ctx, model, last)
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		if len(texts) > 0 {
			if _, err := vectorise(ctx, texts); err != nil {
				return fmt.Errorf("embed: %w", err)
			}
		}
		if err := s.noteEmbedded(ctx, model, rows); err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		if progress, err := s.embedded(ctx, model); err == nil {
			report(progress)
		}
		if len(rows) == 0 {
			return nil
		}
		last = rows[len(rows)-1].Number
	}
}

// unembedded returns some documents without vectors by a model, and their texts.
func (s *Store) unembedded(ctx context.Context, model string, after int64) (
	rows []*documents.Row, texts []string, err error) {
	err = s.shown(ctx, func(shown *Snapshot) error {
		rows, err = shown.read.Rows(ctx, "WHERE vectors <> ? AND row > ? ORDER BY row LIMIT ?", model, after,
			embedAtOnce)
		if err != nil {
			return err
		}
		list, err := shown.read.Whole(ctx, rows...)
		seen := map[string]bool{}
		for i := range list {
			for at := range list[i].Chunks {
				if text := documents.EmbeddedText(&list[i], at); !list[i].Chunks[at].Damaged && !seen[text] {
					seen[text], texts = true, append(texts, text)
				}
			}
		}
		return err
	})
	return rows, texts, err
}

// noteEmbedded puts documents into the log again that were not changed meanwhile.
func (s *Store) noteEmbedded(ctx context.Context, model string, rows []*documents.Row) error {
	return s.update(ctx, func(tx *sqldb.Tx) {
		m, err := s.state(ctx, tx)
		tx.Fail(err)
		for _, row := range rows {
			m.sequence++
			tx.Exec("UPDATE documents SET vectors = ?, changed = ?, texted = ? WHERE row = ? AND changed = ?", model,
				m.sequence, m.sequence, row.Number, row.Changed)
		}
		tx.Exec("UPDATE library SET sequence = ?, model = ?", m.sequence, model)
	})
}

// embedded is how far Embed is.
func (s *Store) embedded(ctx context.Context, model string) (e index.Embedded, err error) {
	err = sqldb.GetWhole(ctx, s.db.Pool(), []any{&e.Done, &e.Total, &e.Refused}, `SELECT
		coalesce((SELECT CAST(sum(chunks) AS BIGINT) FROM documents WHERE vectors = ?), 0), chunks,
		(SELECT count(*) FROM embeddings WHERE model = ? AND length(vector) = 0) FROM library`, model, model)
	return e, err
}
