package documents

import (
	"context"
	"math"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// embedAtOnce documents are embedded together.
const embedAtOnce = 64

// Embed gives the passages of all documents vectors by a model, and puts the documents into the log again, so that its
// followers get the vectors.
func (s *Store) Embed(ctx context.Context, pass index.Embedding) (err error) {
	defer guard.EndWhile("embed", &err)
	model, opened := pass.Model, make(map[string]bool)
	embedder := Embedder{Pass: pass, In: &s.Tables, Renewed: func(*sqldb.Tx) {}}
	for before := int64(math.MaxInt64); ; {
		waiting := pass.Fresh(opened)
		rows, logged, texts := s.unembedded(ctx, model, waiting, before)
		if len(texts) > 0 {
			_, err := embedder.Vectorise(ctx, texts)
			guard.Check(err)
		}
		s.noteEmbedded(ctx, model, logged)
		if pass.Report != nil {
			pass.Report(embedded(s.Newest(ctx), model))
		}
		switch {
		case len(waiting) > 0:
		case len(rows) == 0:
			s.Stored(ctx)
			return nil
		default:
			before = rows[len(rows)-1].Number
		}
	}
}

// unembedded returns the waiting documents without vectors by a model, or else some of the newest before a row, their
// changes and their texts.
func (s *Store) unembedded(ctx context.Context, model string, waiting []string, before int64) (
	rows []*Row, logged map[int64]change, texts []string) {
	guard.Check(s.Read(ctx, func(tx sqldb.Source) {
		from := s.Reader(tx)
		const lacking = "WHERE EXISTS (SELECT 1 FROM changes WHERE document = row AND vectors <> ?) AND "
		if len(waiting) > 0 {
			rows = from.Rows(lacking+"id IN (SELECT value FROM json_each(?))", model, sqldb.JSON{V: waiting})
		} else {
			rows = from.Rows(lacking+"row < ? ORDER BY row DESC LIMIT ?", model, before, embedAtOnce)
		}
		logged = from.logged(rows)
		list, seen := from.Whole(rows...), map[string]bool{}
		for i := range list {
			for at := range list[i].Chunks {
				if text := EmbeddedText(&list[i], at); !list[i].Chunks[at].Damaged && !seen[text] {
					seen[text], texts = true, append(texts, text)
				}
			}
		}
	}))
	return rows, logged, texts
}

// noteEmbedded puts documents into the log again that were not changed meanwhile.
func (s *Store) noteEmbedded(ctx context.Context, model string, logged map[int64]change) {
	guard.Check(s.Change(ctx, func(tx *sqldb.Tx) {
		m := s.state(tx.Source)
		for _, c := range logged {
			m.Generation++
			tx.Exec("UPDATE changes SET vectors = ?, number = ?, texted = ? WHERE document = ? AND number = ?", model,
				m.Generation, m.Generation, c.row, c.number)
		}
		tx.Exec("UPDATE meta SET generation = ?", m.Generation)
		UseModel(tx, model)
	}))
}

// embedded is how far Embed is.
func embedded(db sqldb.Source, model string) (e index.Embedded) {
	db.Get([]any{&e.Done, &e.Total, &e.Refused}, `SELECT
		coalesce((SELECT CAST(sum(chunks) AS BIGINT)
			FROM documents JOIN changes ON document = row WHERE vectors = ?), 0),
		chunks,
		(SELECT count(*) FROM refused_texts WHERE model = ?) FROM meta`, model, model)
	return e
}
