package embedded

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quarry/server/index/segment"
	"quarry/server/sqlite"

	"github.com/RoaringBitmap/roaring/v2"
)

// merged is a segment that replaces others.
type merged struct {
	parts   []*part
	name    string // empty: nothing was left
	bytes   int64
	vectors *vectorFile // nil: none
	lost    bool        // vectors of the inputs could not be read
	ordinal func(input, old int) (ordinal int, ok bool)
	live    int
}

// mergeOnce does the most useful job that the policy finds. more says that there was one. errOvertaken means that
// somebody else did it meanwhile.
func (x *Index) mergeOnce(ctx context.Context, policy mergePolicy) (more bool, err error) {
	current, err := x.currentState(ctx)
	if err != nil {
		return false, err
	}
	defer x.states.drop(current)
	work, ok := policy.pick(current.parts)
	if !ok {
		return false, nil
	}
	result, err := x.merge(ctx, work)
	if err != nil {
		return false, err
	}
	err = x.db.Update(ctx, func(tx *sql.Tx) error { return result.swap(ctx, tx) })
	if err != nil {
		x.discard(result.name, result.vectors)
		return false, err
	}
	for _, p := range work.parts {
		x.discard(p.name, p.vectors)
	}
	if result.lost {
		x.restoreVectors(ctx, result.name)
	}
	return true, nil
}

// merge makes the segment that replaces those of the job. The lock is not held.
func (x *Index) merge(ctx context.Context, work job) (*merged, error) {
	result := &merged{parts: work.parts}
	for _, p := range work.parts {
		result.live += p.live()
	}
	if result.live == 0 {
		result.ordinal = func(int, int) (int, bool) { return 0, false }
		return result, nil
	}
	var data []byte
	var err error
	if work.analyse {
		data, result.ordinal, err = x.analyseAgain(ctx, work.parts[0])
	} else {
		data, result.ordinal, err = mergeSegments(ctx, work.parts)
	}
	if err != nil {
		return nil, x.blame(work.parts, err)
	}
	result.bytes = int64(len(data))
	if result.name, err = x.files.Create(data); err != nil {
		return nil, err
	}
	if err := x.mergeVectors(ctx, result, data); err != nil {
		x.discard(result.name, result.vectors)
		return nil, err
	}
	return result, nil
}

func mergeSegments(ctx context.Context, parts []*part) ([]byte, func(input, old int) (int, bool), error) {
	inputs := make([]segment.Input, len(parts))
	for i, p := range parts {
		inputs[i] = segment.Input{Reader: p.segment.reader, Deleted: p.deleted}
	}
	data, remap, err := segment.Merge(ctx, inputs)
	if err != nil {
		return nil, nil, err
	}
	return data, func(input, old int) (int, bool) {
		ordinal := remap[input][old]
		return int(ordinal), ordinal >= 0
	}, nil
}

// analyseAgain builds a segment of the same documents from their texts. Ordinals ascend with ids in both, so the order
// of the live documents stays.
func (x *Index) analyseAgain(ctx context.Context, p *part) ([]byte, func(input, old int) (int, bool), error) {
	seen, err := x.openView(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer seen.close()
	if now := seen.state.named(p.name); now == nil || now.deletes != p.deletes {
		return nil, nil, errOvertaken // the texts may no longer be those of the documents that are live in p
	}
	library := newLibrary(seen.tx, x.packer)
	defer library.close()
	builder := segment.NewBuilder()
	ordinals := make(map[int]int, p.live())
	for old := range p.documents {
		if p.isDeleted(old) {
			continue
		}
		id, err := p.segment.reader.DocumentID(old)
		if err != nil {
			return nil, nil, err
		}
		if err := addStored(ctx, library, builder, id); err != nil {
			return nil, nil, err
		}
		ordinals[old] = len(ordinals)
	}
	data, err := builder.Build()
	return data, func(_, old int) (int, bool) {
		ordinal, ok := ordinals[old]
		return ordinal, ok
	}, err
}

// addStored adds a stored document to a segment.
func addStored(ctx context.Context, library *library, builder *segment.Builder, id string) error {
	found, err := library.find(ctx, id)
	if err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("%w: document %q is in the index but not stored", segment.ErrDamaged, id)
	}
	whole, _, err := library.whole(ctx, found) // what is damaged is indexed without its words
	if err != nil {
		return err
	}
	if err := builder.Add(whole); err != nil {
		return fmt.Errorf("index document %q: %w", id, err)
	}
	return nil
}

// swap names the merged segment in the place of its inputs, with the deletes that arrived since they were read.
func (m *merged) swap(ctx context.Context, tx *sql.Tx) error {
	bitmap, delta := roaring.New(), segment.Delta{}
	for input, p := range m.parts {
		if err := m.replay(ctx, tx, input, p, bitmap, &delta); err != nil {
			return err
		}
	}
	statement := context.WithoutCancel(ctx)
	for _, p := range m.parts {
		if _, err := tx.ExecContext(statement, "DELETE FROM segments WHERE id = ?", p.id); err != nil {
			return sqlite.Explain(fmt.Errorf("replace segments: %w", err))
		}
	}
	if m.name != "" {
		result, err := tx.ExecContext(statement,
			"INSERT INTO segments (name, documents, bytes, deletes) VALUES (?, ?, ?, 0)", m.name, m.live, m.bytes)
		if err != nil {
			return sqlite.Explain(fmt.Errorf("replace segments: %w", err))
		}
		if err := nameVectors(ctx, tx, result, m.vectors); err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return fmt.Errorf("replace segments: %w", err)
		}
		if !bitmap.IsEmpty() {
			if err := addDeletes(ctx, tx, id, bitmap, delta); err != nil {
				return err
			}
		}
	}
	return bumpManifest(ctx, tx)
}

// replay collects what was deleted from an input since it was read, by its ordinals in the merged segment.
func (m *merged) replay(ctx context.Context, tx *sql.Tx, input int, p *part, bitmap *roaring.Bitmap,
	delta *segment.Delta) error {
	now := &part{id: p.id, name: p.name, documents: p.documents}
	row := tx.QueryRowContext(context.WithoutCancel(ctx), `SELECT deletes, coalesce(v.name, '') FROM segments
		LEFT JOIN vector_files v ON v.segment = id WHERE id = ? AND segments.name = ?`, p.id, p.name)
	vectors := ""
	err := row.Scan(&now.deletes, &vectors)
	if errors.Is(err, sql.ErrNoRows) || err == nil && vectors != p.vectors.fileName() {
		return errOvertaken
	}
	if err != nil {
		return sqlite.Explain(fmt.Errorf("replace segments: %w", err))
	}
	if now.deletes == p.deletes {
		return nil
	}
	if err := readDeletes(ctx, tx, now); err != nil {
		return (*damagedError)(nil).add(p.id, err)
	}
	later := &part{id: p.id, name: p.name}
	for _, record := range now.records {
		if record.number <= p.deletes {
			continue
		}
		if record.since < p.deletes {
			return errOvertaken // folded with what was known before: the two cannot be told apart
		}
		later.records = append(later.records, record)
		for ordinals := record.bitmap.Iterator(); ordinals.HasNext(); {
			if ordinal, ok := m.ordinal(input, int(ordinals.Next())); ok {
				bitmap.AddInt(ordinal)
			}
		}
	}
	statistics, err := later.statistics()
	if err != nil {
		return err
	}
	if statistics != nil {
		delta.Add(*statistics)
	}
	return nil
}

func bumpManifest(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(context.WithoutCancel(ctx), "UPDATE meta SET manifest = manifest + 1")
	if err != nil {
		return sqlite.Explain(fmt.Errorf("note the change of the manifest: %w", err))
	}
	return nil
}
