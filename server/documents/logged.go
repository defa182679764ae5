package documents

import (
	"context"
	"slices"

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
func (w *write) Begin(now State) (replaced func(int, index.Document)) {
	w.replaced, w.words = nil, make(map[int][]byte)
	if w.counting = now.(state).counting; w.counting {
		return func(_ int, old index.Document) { w.replaced = append(w.replaced, old) }
	}
	worded := func(c Change) bool { return c.Patches == nil }
	if len(w.changes) > replacedAtOnce || !slices.ContainsFunc(w.changes, worded) {
		return nil
	}
	return func(n int, old index.Document) { w.words[n] = w.store.wordsOf(&old) }
}

// Prepare implements Written.
func (w *write) Prepare(ctx context.Context, _ sqldb.Querier, plan *Plan) (err error) {
	var added []index.Document
	for n := range plan.Items {
		i := &plan.Items[n]
		if i.Old != nil && i.Old.Number == 0 {
			return i.Old.Cause // its chunks are not known
		}
		if !i.Keep && i.Put != nil {
			added = append(added, *i.Put)
		}
	}
	if w.counting {
		w.counts = countsOf(added, w.replaced)
		w.analysed, err = w.store.analyse(ctx, added)
	}
	return err
}

// isAccessAlone reports whether nothing changes but what an access patch changes.
func isAccessAlone(i *Item) bool {
	if i.Old == nil || !i.SameText || i.Old.Damaged {
		return false
	}
	d := *i.Put
	d.Access, d.Sets, d.Hidden = i.Old.Access, i.Old.Sets, i.Old.Hidden
	return slices.Equal(Hash(&d)[:HashBytes], i.Old.Hash[:HashBytes])
}

// Store implements Written.
func (w *write) Store(ctx context.Context, tx *sqldb.Tx, plan *Plan, before State) error {
	m := before.(state)
	if plan.Nothing() {
		return nil
	}
	if m.counting != w.counting {
		return ErrOvertaken
	}
	rows := Rows{Packer: w.store.Packer, Logged: true}
	now := w.store.now().UnixMicro()
	var gone []int64
	var added []string // ids of documents that may have been removed before
	var removals, analysed, replaced [][]any
	for n := range plan.Items {
		i := &plan.Items[n]
		if i.Keep {
			continue
		}
		m.sequence++
		i.Row = m.sequence
		texted, addedAt := m.sequence, now
		if i.Old == nil {
			added = append(added, i.ID)
		} else {
			i.Row, addedAt = i.Old.Number, i.Old.Added
		}
		if i.Put == nil {
			gone, removals = append(gone, i.Row), append(removals, []any{i.ID, m.sequence})
		} else if isAccessAlone(i) {
			texted = i.Old.Texted
		}
		if words := w.words[n]; words != nil && texted == m.sequence && !i.Unread {
			replaced = append(replaced, []any{m.sequence, i.ID, i.Old.Texted, analysis.Version, words})
		}
		if i.Put != nil && w.counting {
			analysed = append(analysed, []any{i.Row, m.sequence, w.analysed[len(analysed)]})
		}
		rows.Add(tx, i, m.sequence, texted, addedAt)
	}
	if w.counting {
		w.counts.add(tx)
		putAnalysed(tx, analysed)
	}
	rows.Flush(tx)
	if len(replaced) > 0 {
		tx.Insert("replaced (changed, id, since, analyser, words)", replaced, "")
		tx.Exec("DELETE FROM replaced WHERE changed <= ?", m.sequence-replacedKept)
	}
	sqldb.ExecList(tx, "DELETE FROM analysed WHERE document IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", gone)
	sqldb.ExecList(tx, "DELETE FROM removals WHERE id IN (SELECT value FROM json_each(?))", added)
	tx.Insert("removals (id, changed)", removals, "")
	tx.Exec("UPDATE library SET sequence = ?, documents = documents + ?, chunks = chunks + ?", m.sequence, rows.Documents,
		rows.Chunks)
	return nil
}
