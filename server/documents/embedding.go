package documents

import (
	"context"
	"fmt"
	"math"

	"quarry/server/index"
	"quarry/server/sqldb"
)

// embedAtOnce documents are embedded together.
const embedAtOnce = 64

// Embed gives the passages of all documents vectors by a model, and puts the documents into the log again, so that its
// followers get the vectors.
func (s *Store) Embed(ctx context.Context, pass index.Embedding) error {
	model, vectorise, opened := pass.Model, s.Vectorise(pass.Model, pass.Vectors), make(map[string]bool)
	for before := int64(math.MaxInt64); ; {
		waiting := pass.Fresh(opened)
		rows, texts, err := s.unembedded(ctx, model, waiting, before)
		if err == nil && len(texts) > 0 {
			_, err = vectorise(ctx, texts)
		}
		if err == nil {
			err = s.noteEmbedded(ctx, model, rows)
		}
		if err != nil {
			return fmt.Errorf("embed: %w", err)
		}
		if progress, err := embedded(ctx, s.DB.Pool(), model); err == nil && pass.Report != nil {
			pass.Report(progress)
		}
		switch {
		case len(waiting) > 0:
		case len(rows) == 0:
			return nil
		default:
			before = rows[len(rows)-1].Number
		}
	}
}

// unembedded returns the waiting documents without vectors by a model, or else some of the newest before a row, and their
// texts.
func (s *Store) unembedded(ctx context.Context, model string, waiting []string, before int64) (
	rows []*Row, texts []string, err error) {
	err = s.Read(ctx, func(tx sqldb.Querier) error {
		from := s.Reader(tx)
		if len(waiting) > 0 {
			rows, err = from.Rows(ctx, "WHERE vectors <> ? AND id IN (SELECT value FROM json_each(?))", model,
				sqldb.JSON{V: waiting})
		} else {
			rows, err = from.Rows(ctx, "WHERE vectors <> ? AND row < ? ORDER BY row DESC LIMIT ?", model, before,
				embedAtOnce)
		}
		if err != nil {
			return err
		}
		list, err := from.Whole(ctx, rows...)
		seen := map[string]bool{}
		for i := range list {
			for at := range list[i].Chunks {
				if text := EmbeddedText(&list[i], at); !list[i].Chunks[at].Damaged && !seen[text] {
					seen[text], texts = true, append(texts, text)
				}
			}
		}
		return err
	})
	return rows, texts, err
}

// noteEmbedded puts documents into the log again that were not changed meanwhile.
func (s *Store) noteEmbedded(ctx context.Context, model string, rows []*Row) error {
	return s.Change(ctx, func(tx *sqldb.Tx) {
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
func embedded(ctx context.Context, db sqldb.Querier, model string) (e index.Embedded, err error) {
	err = sqldb.GetWhole(ctx, db, []any{&e.Done, &e.Total, &e.Refused}, `SELECT
		coalesce((SELECT CAST(sum(chunks) AS BIGINT) FROM documents WHERE vectors = ?), 0), chunks,
		(SELECT count(*) FROM embeddings WHERE model = ? AND length(vector) = 0) FROM library`, model, model)
	return e, err
}
