package documents

import (
	"context"
	"slices"

	"quarry/internal/guard"
	"quarry/server/index"
	"quarry/server/index/analysis"
	"quarry/server/sqldb"
)

// apply stores changes, their numbers in the log, and words if they are counted.
func (s *Store) apply(ctx context.Context, changes []Change, cursors map[string]string) (index.Written, error) {
	return s.Apply(ctx, changes, cursors, &write{store: s, changes: changes})
}

// write is what a write adds to the documents: it is a Written.
type write struct {
	store    *Store
	changes  []Change
	words    map[int][]byte   // of what is replaced or removed, by the number of its change
	counting bool             // of words
	replaced []index.Document // what is replaced or removed, if words are counted
	counts   counts           // likewise
	analysed [][]byte         // likewise, of those that are put
}

// Begin implements Written.
func (w *write) Begin(tx sqldb.Source) func(int, index.Document) {
	w.replaced, w.words = nil, make(map[int][]byte)
	if w.counting = countsWords(tx); w.counting {
		return func(_ int, old index.Document) { w.replaced = append(w.replaced, old) }
	}
	worded := func(c Change) bool { return c.Patches == nil }
	if len(w.changes) > replacedAtOnce || !slices.ContainsFunc(w.changes, worded) {
		return nil
	}
	return func(n int, old index.Document) { w.words[n] = w.store.wordsOf(&old) }
}

// Prepare implements Written.
func (w *write) Prepare(tx sqldb.Source, plan *Plan) {
	var added []index.Document
	for _, i := range plan.Items {
		if i.Old != nil && i.Old.Number == 0 {
			guard.Abort(i.Old.Cause) // its chunks are not known
		}
		if !i.Keep && i.Put != nil {
			added = append(added, *i.Put)
		}
	}
	if w.counting {
		w.counts = countsOf(added, w.replaced)
		w.analysed = w.store.analyse(tx, added)
	}
}

// isAccessAlone reports whether nothing changes but what an access patch changes.
func isAccessAlone(i *Item) bool {
	if i.Old == nil || !i.SameText || i.Old.Damaged {
		return false
	}
	d := *i.Put
	d.Access, d.Sets, d.Hidden = i.Old.Access, i.Old.Sets, i.Old.Hidden
	return sameHead(Hash(&d), i.Old.Hash)
}

// Store implements Written.
func (w *write) Store(tx *sqldb.Tx, plan *Plan, _ State) {
	if countsWords(tx.Source) != w.counting {
		guard.Abort(ErrOvertaken)
	}
	before := w.store.Reader(tx.Source).logged(plan.stored())
	var gone []int64
	var added []string // ids of documents that may have been removed before
	var changes, analysed, replaced [][]any
	for n, i := range plan.Items {
		if i.Keep {
			continue
		}
		texted, since := i.Number, before[i.Row].texted
		if i.Old == nil {
			added = append(added, i.ID)
		}
		change := []any{i.Number, i.Row, nil}
		if i.Put == nil {
			gone, change = append(gone, i.Row), []any{i.Number, nil, i.ID}
		} else if isAccessAlone(i) {
			texted = since
		}
		changes = append(changes, append(change, texted, ""))
		if words := w.words[n]; words != nil && texted == i.Number && !i.Unread {
			replaced = append(replaced, []any{i.Number, i.ID, since, analysis.Version, words})
		}
		if i.Put != nil && w.counting {
			analysed = append(analysed, []any{i.Row, i.Number, w.analysed[len(analysed)]})
		}
	}
	if w.counting {
		w.counts.add(tx)
		putAnalysed(tx, analysed)
	}
	if len(replaced) > 0 {
		tx.Insert("replaced (changed, id, since, analyser, words)", replaced, "")
		tx.Exec("DELETE FROM replaced WHERE changed <= (SELECT generation FROM meta) - ?", replacedKept)
	}
	for _, table := range []string{"changes", "analysed"} {
		sqldb.ExecList(tx, "DELETE FROM "+table+" WHERE document IN "+listed, gone)
	}
	sqldb.ExecList(tx, "DELETE FROM changes WHERE id IN (SELECT value FROM json_each(?))", added)
	tx.Insert("changes (number, document, id, texted, vectors)", changes, ` ON CONFLICT (document) DO UPDATE SET
		number = excluded.number, texted = excluded.texted,
		vectors = CASE WHEN excluded.texted = excluded.number THEN '' ELSE changes.vectors END`)
}

// countsWords reports whether the store counts words.
func countsWords(db sqldb.Source) (counting bool) {
	db.Get([]any{&counting}, "SELECT EXISTS (SELECT 1 FROM statistics)")
	return counting
}
