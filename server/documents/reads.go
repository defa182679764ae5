package documents

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"quarry/internal/guard"
	"quarry/server/fault"
	"quarry/server/index"
	"quarry/server/sqldb"
)

// Reads are the methods of a snapshot that read documents without an index of their words.
type Reads struct {
	Read func(ctx context.Context, f func(*Reader)) error // calls f with the reader of the snapshot

	mutex sync.Mutex
	found []index.Damage
}

// Note records damage, once each.
func (r *Reads) Note(damage index.Damage) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i := range r.found {
		if known := &r.found[i]; known.Kind == damage.Kind && known.ID == damage.ID {
			known.Chunks = append(known.Chunks, damage.Chunks...)
			slices.Sort(known.Chunks)
			known.Chunks = slices.Compact(known.Chunks)
			return
		}
	}
	r.found = append(r.found, damage)
}

// Damage implements index.Snapshot.
func (r *Reads) Damage() []index.Damage {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.found)
}

// noteChunks records the chunks of a document, from from on, that are damaged.
func (r *Reads) noteChunks(of *Row, from int, chunks []index.Chunk) {
	if damage, ok := of.Damage(from, chunks); ok {
		r.Note(damage)
	}
}

// admitted returns the rows of documents, nil for one that access does not admit. A damaged one has only its id, and
// its damage is noted.
func (r *Reads) admitted(from *Reader, access index.Access, ids ...string) []*Row {
	rows := from.Recall(ids...)
	for i, row := range rows {
		if row != nil && !row.Damaged {
			if !access.Admits(&row.Document) {
				rows[i] = nil
			}
			continue
		}
		rows[i] = nil
		switch {
		case from.Sees == nil:
		case from.Sees(ids[i], access):
			rows[i] = Lost(ids[i], fmt.Errorf("%w: it is indexed but not stored", ErrPacked))
			row = rows[i]
		default:
			continue
		}
		if row != nil {
			r.noteChunks(row, 0, nil)
		}
	}
	return rows
}

// Documents implements index.Snapshot.
func (r *Reads) Documents(ctx context.Context, ids []string, access index.Access) (found []index.Stored, err error) {
	err = r.Read(ctx, func(from *Reader) {
		found = make([]index.Stored, 0, len(ids))
		for _, row := range r.admitted(from, access, ids...) {
			if row != nil {
				found = append(found, row.Stored)
			}
		}
	})
	return found, err
}

// Texts implements index.Snapshot.
func (r *Reads) Texts(ctx context.Context, ranges []index.Range,
	access index.Access) (texts [][]index.Chunk, err error) {
	err = r.Read(ctx, func(from *Reader) { _, texts = r.texts(from, access, ranges...) })
	return texts, err
}

// texts returns the chunks of ranges, and the rows of their documents as admitted does.
func (r *Reads) texts(from *Reader, access index.Access, ranges ...index.Range) (rows []*Row, texts [][]index.Chunk) {
	ids := make([]string, len(ranges))
	for i, wanted := range ranges {
		ids[i] = wanted.DocumentID
	}
	texts = make([][]index.Chunk, len(ranges))
	rows = r.admitted(from, access, ids...)
	var all []chunkRange
	for i, row := range rows {
		if row == nil || row.Damaged {
			continue
		}
		if c := rangeOf(row, ranges[i].From, ranges[i].To); len(c.chunks) > 0 {
			texts[i], all = c.chunks, append(all, c)
		}
	}
	from.fill(all...)
	for _, c := range all {
		r.noteChunks(c.of, c.first, c.chunks)
	}
	return rows, texts
}

// Likeness returns what index.Snapshot's Like does, of a passage that can be read. rare returns the words of a text
// that few documents contain.
func (r *Reads) Likeness(ctx context.Context, id string, chunk int, access index.Access,
	rare func(text string) ([]string, error)) (
	found index.Likeness, err error) {
	var passage index.Document
	err = r.Read(ctx, func(from *Reader) {
		rows, texts := r.texts(from, access, index.Range{DocumentID: id, From: chunk, To: chunk})
		if len(texts[0]) == 0 || texts[0][0].Damaged {
			guard.Abort(fmt.Errorf("passage %d of %q: %w", chunk, id, fault.ErrNotFound))
		}
		passage = rows[0].Document
		passage.Chunks = texts[0]
		if model := CurrentModel(from.Source); model.Name != "" {
			vectors := model.Vectors(from.Source, []string{EmbeddedText(&passage, 0)})
			found.Vector = index.Vector{Model: model.Name, Values: vectors[0]}
		}
	})
	if err == nil {
		found.Words, err = rare(passage.Title + "\n\n" + passage.Chunks[0].Text)
	}
	return found, err
}

// DocumentIDs implements index.Snapshot. The ids ascend.
func (r *Reads) DocumentIDs(ctx context.Context, by index.Selector) (ids []string, err error) {
	err = r.Read(ctx, func(from *Reader) {
		names := &from.Packer.names
		if names.load != nil {
			guard.Check(names.load())
		}
		if where, args := names.selection(by); where != "" {
			ids = sqldb.ColumnOf[string](from.Source, "SELECT id FROM documents WHERE "+where+" ORDER BY id", args...)
		}
	})
	return ids, err
}

// Origins implements index.Snapshot.
func (r *Reads) Origins(ctx context.Context) (origins map[string]int, err error) {
	err = r.Read(ctx, func(from *Reader) {
		stored := sqldb.MapOf[string, int](from.Source,
			`SELECT CASE WHEN origin = ? AND substr(id, 1, 5) = 'file:' THEN substr(id, 6) ELSE origin END AS file,
			count(*) FROM documents
			WHERE origin <> '' GROUP BY file`, inID)
		origins = make(map[string]int, len(stored))
		for origin, count := range stored {
			if Damage(func() { from.Packer.names.expand(&origin) }) == nil {
				origins[origin] += count
			}
		}
	})
	return origins, err
}

// Resolve replaces AddedSince of a filter, which indexes of words do not know, by the documents that were added then.
func (r *Reads) Resolve(ctx context.Context, f index.Filter) (_ index.Filter, err error) {
	if f.AddedSince.IsZero() {
		return f, nil
	}
	err = r.Read(ctx, func(from *Reader) {
		f.Among = sqldb.ColumnOf[string](from.Source, `SELECT id FROM documents
			WHERE row >= (SELECT min(document) FROM additions WHERE at > ?)`, f.AddedSince.UnixMicro())
	})
	f.AddedSince = time.Time{}
	return f, err
}
